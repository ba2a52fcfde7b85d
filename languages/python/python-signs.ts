import { blankTexts } from "./blank-text.ts";

/** Syntax that is hardly anything but Python. Programs can be long, so none of these patterns may backtrack. */
const SIGNS = [
  /^[ \t]*(?:async )?def \w+\(/m,
  /^[ \t]*(?:if|elif|else|for|while|try|except|with|class)\b[^{}\n]{0,200}:[ \t]{0,9}(?:#.*)?$/m,
  /^(?:import [\w.]+(?: as \w+)?|from [\w.]+ import [\w*,() ]+)$/m,
  /[(=,+][ \t]*f["']/,
  /^[ \t]*(?:\w+[ \t]*=[ \t]*)?(?:await )?\w+\(\w+=(?!=)/m,
  /^[ \t]*#(?!!)/m,
  /^[ \t]*print\(/m,
];

/** Syntax that no Python has. */
const FOREIGN =
  /=>|[=!]==|&&|\|\||`|^[ \t]*(?:export[ \t]+)?(?:const|let|var|function|interface)[ \t]+[\w$[{]|\bnew [A-Z]|;[ \t]*$|\?\.|\?\?/m;

/** Whether a text has signs of Python. */
export function looksLikePython(code: string): boolean {
  return SIGNS.some((sign) => sign.test(code));
}

/** Whether a text can be Python: its strings and brackets are closed, and nothing in it is another language's alone. */
export function mayBePython(code: string): boolean {
  const { code: rest, isClosed } = blankTexts(code);
  return isClosed && !FOREIGN.test(rest);
}
