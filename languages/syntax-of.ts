import type { CodeSyntax } from "./code-syntax.ts";
import { findLanguage } from "./language.ts";
import { LANGUAGES, type LanguageName } from "./program-files.ts";

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

/** Only for display: quotes in regular expressions and templates within templates may be misread. */
export const TYPESCRIPT_SYNTAX: CodeSyntax = {
  comment: String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`,
  string: String.raw`"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|\`(?:[^\`\\]|\\[^])*\`?`,
  keywords:
    "as async await break case catch class const continue default delete do else export extends false finally for from function if import in instanceof interface let new null of return static super switch this throw true try type typeof undefined var void while yield",
};

const SYNTAXES: Readonly<Record<LanguageName, CodeSyntax>> = {
  typescript: TYPESCRIPT_SYNTAX,
  python: PYTHON_SYNTAX,
};

/** What has a colour in a recorded program. @param language as the record names it, whether it is on or off. */
export function syntaxOf(language: string): CodeSyntax {
  const [name] = findLanguage(LANGUAGES, language)?.names ?? [];
  return SYNTAXES[name as LanguageName] ?? TYPESCRIPT_SYNTAX;
}
