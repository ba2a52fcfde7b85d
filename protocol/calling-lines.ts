import { parseNamespacedName } from "./tool-names.ts";

/** How much of a line is looked at. */
const MAX_LOOKED_AT_CHARS = 10_000;
/** A name that is called. It begins where a word does, so that a long line takes no longer than its length. */
const CALLED = /(?<![\p{L}\p{N}_$])([\p{L}\p{N}_$]+)\s*\(/gu;

/**
 * The lines of a program, from 1, that call a tool by its name. Modules name a function in the words of its tool, so the words decide,
 * and not how a language writes them: `files.readFile(` and `files.read_file(` both call `read_file`. A program that calls it through
 * another name, as in a loop over names, has none.
 */
export function callingLines(lines: readonly string[], tool: string): number[] {
  const names = new Set([tool, parseNamespacedName(tool)?.tool ?? tool].map(wordsOf));
  return lines.flatMap((line, index) => {
    const called = [...line.slice(0, MAX_LOOKED_AT_CHARS).matchAll(CALLED)];
    return called.some(([, name = ""]) => names.has(wordsOf(name))) ? [index + 1] : [];
  });
}

/** Letters and digits of a name, however its words are joined. */
function wordsOf(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase();
}
