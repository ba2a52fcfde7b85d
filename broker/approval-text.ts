const MAX_TEXT_CHARS = 300;
const MAX_ENTRIES = 20;
const MAX_DEPTH = 6;
const MAX_CHARS = 6_000;

/**
 * The arguments of a call for the person who decides about it. Whatever is left out leaves a mark where it was, with how much
 * there is of it: no long value hides another. No control character of theirs can repaint the question.
 */
export function renderApprovalArguments(args: unknown): string {
  const text = printable(JSON.stringify(shorten(args, 0), null, 2) ?? "nothing");
  if (text.length <= MAX_CHARS) return text;
  return `${text.slice(0, MAX_CHARS)}\n... (${text.length - MAX_CHARS} more characters are not shown)`;
}

/** Text of a program or a server as it can be shown in a question. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => (character === "\n" ? character : "\u{fffd}"));
}

function shorten(value: unknown, depth: number): unknown {
  if (typeof value === "string") {
    const rest = value.length - MAX_TEXT_CHARS;
    return rest <= 0 ? value : `${value.slice(0, MAX_TEXT_CHARS)}... (${rest} more characters)`;
  }
  if (typeof value !== "object" || value === null) return value;
  const size = Object.keys(value).length;
  if (depth >= MAX_DEPTH) return `... (${size} entries)`;
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_ENTRIES).map((each) => shorten(each, depth + 1));
    return size <= MAX_ENTRIES ? shown : [...shown, `... (${size - MAX_ENTRIES} more entries)`];
  }
  const members = Object.entries(value).slice(0, MAX_ENTRIES);
  const shown = members.map(([name, each]) => [shorten(name, depth), shorten(each, depth + 1)]);
  return Object.fromEntries(
    size <= MAX_ENTRIES ? shown : [...shown, ["...", `${size - MAX_ENTRIES} more members`]],
  );
}
