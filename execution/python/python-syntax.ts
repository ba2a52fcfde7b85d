import type { CodeSyntax } from "../prepare/code-syntax.ts";

const PREFIX = String.raw`(?:\b[bfruBFRU]{1,2}(?=["']))?`;

/** Only for display: `match` and `case`, which are names elsewhere, have no colour. */
export const PYTHON_SYNTAX: CodeSyntax = {
  comment: String.raw`#[^\n]*`,
  string: `${PREFIX}(?:${[
    String.raw`"""(?:[^"\\]|\\[^]|"(?!""))*(?:""")?`,
    String.raw`'''(?:[^'\\]|\\[^]|'(?!''))*(?:''')?`,
    String.raw`"(?:[^"\\\n]|\\[^])*"?`,
    String.raw`'(?:[^'\\\n]|\\[^])*'?`,
  ].join("|")})`,
  keywords:
    "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield",
};
