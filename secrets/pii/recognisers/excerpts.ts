import type { Excerpt } from "../pii-kinds.ts";

/** Characters before a range that can decide whether it is one. */
export const CONTEXT_CHARS = 48;

const WORD = /[\p{L}\p{N}_]/u;
const ESCAPE = /(?:\\[bfnrt]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2})$/;
const ESCAPE_CHARS = 6;

/** Whether a word can begin here. The letter of an escape (`\n`, `%3D`) is no part of a word. */
export function isEdgeBefore(text: string, at: number): boolean {
  if (at === 0 || !WORD.test(text.charAt(at - 1))) return true;
  return ESCAPE.test(text.slice(Math.max(0, at - ESCAPE_CHARS), at));
}

/** Whether a word can end here. */
export function isEdgeAfter(text: string, at: number): boolean {
  return at >= text.length || !WORD.test(text.charAt(at));
}

/** What begins another statement: words before it say nothing of what comes after it. */
const STATEMENT = /[{}\n;|]|,\s*"/g;

/**
 * The words that say what stands at a place: the end of the text before it, and the name of the member, in lower case and with
 * spaces between the words of an identifier.
 */
export function wordsBefore({ text, name }: Excerpt, at: number): string {
  const before = text.slice(Math.max(0, at - CONTEXT_CHARS), at);
  let from = 0;
  for (const match of before.matchAll(STATEMENT)) from = match.index + match[0].length;
  return `${name.slice(-CONTEXT_CHARS)} ${before.slice(from)}`
    .replace(/([\p{Ll}])([\p{Lu}])/gu, "$1 $2")
    .replace(/[_-]/g, " ")
    .toLowerCase();
}
