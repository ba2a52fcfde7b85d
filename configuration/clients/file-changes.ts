import { diffLines } from "../../base/diff-lines.ts";

const MAX_LINE_CHARS = 160;

/**
 * The lines of a file that change: removed ones begin with `- `, added ones with `+ `. Lines around them are left out, because
 * other entries may hold secrets, and so are lines that only get or lose their comma.
 */
export function fileChanges(before: string | undefined, after: string | undefined): string[] {
  const edits = diffLines(linesOf(before), linesOf(after)).filter((line) => !line.startsWith("  "));
  const changes: string[] = [];
  for (let index = 0; index < edits.length; index++) {
    const [line = "", next = ""] = edits.slice(index, index + 2);
    const isComma =
      line.startsWith("- ") && next.startsWith("+ ") && withoutComma(line) === withoutComma(next);
    if (isComma) index++;
    else changes.push(line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}...` : line);
  }
  return changes;
}

function linesOf(text: string | undefined): string[] {
  if (text === undefined || text === "") return [];
  return text.replace(/\r?\n$/, "").split(/\r?\n/);
}

function withoutComma(line: string): string {
  return line.slice(2).replace(/,\s*$/, "");
}
