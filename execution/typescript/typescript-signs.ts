import { reduceToJavaScript } from "./bundling/bundler.ts";

/** Syntax that is hardly anything but JavaScript. Programs can be long, so none of these patterns may backtrack. */
const SIGNS = [
  /^[ \t]*(?:export[ \t]+)?(?:const|let)[ \t]+[\w$[{]/m,
  /=>[ \t]*[{(\w]/,
  /\bconsole\.log\(/,
  /\bglobalThis\b/,
  /^import[ \t]+(?:\*|\{|type\b|["'])/m,
];

/** What prints in other languages. Nothing in Node.js has that name. */
const PRINTS = /^[ \t]*print\(/m;
const DECLARES_PRINT = /\b(?:function|const|let|var)[ \t]+print\b|\bimport\b[^;\n]{0,200}\bprint\b/;

/** Whether a text has signs of TypeScript or JavaScript. */
export function looksLikeTypeScript(code: string): boolean {
  return SIGNS.some((sign) => sign.test(code));
}

/** Whether a text is TypeScript by its syntax, and calls nothing that only another language has. Never rejects. */
export async function acceptsTypeScript(code: string): Promise<boolean> {
  if (PRINTS.test(code) && !DECLARES_PRINT.test(code)) return false;
  try {
    await reduceToJavaScript(code, { loader: "ts", logLevel: "silent", target: "esnext" });
    return true;
  } catch {
    return false;
  }
}
