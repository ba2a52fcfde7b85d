import type { CodeSyntax } from "../prepare/code-syntax.ts";

/** Only for display: quotes in regular expressions and templates within templates may be misread. */
export const TYPESCRIPT_SYNTAX: CodeSyntax = {
  comment: String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`,
  string: String.raw`"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|\`(?:[^\`\\]|\\[^])*\`?`,
  keywords:
    "as async await break case catch class const continue default delete do else export extends false finally for from function if import in instanceof interface let new null of return static super switch this throw true try type typeof undefined var void while yield",
};
