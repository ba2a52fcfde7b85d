/**
 * Characters that JSON.stringify does not escape and that break or disguise a line: line ends other than LF, control
 * characters, characters that turn the direction of writing, and invisible ones. Joiners stay: emoji are made with them.
 */
const UNSEEN = /(?![\u200c\u200d])[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A value as JSON on one line, however lines are told apart, without a character that steers a terminal. */
export function jsonLine(value: unknown): string {
  return (JSON.stringify(value) ?? "null").replace(UNSEEN, escapeUnits);
}

function escapeUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`,
  ).join("");
}
