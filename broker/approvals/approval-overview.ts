import { writeJson } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { unmistakableLine } from "../../base/unmistakable-line.ts";
import { columnsOf } from "../../base/visible-text.ts";

/** Claude Code shows this many lines of a question on every terminal, and has no way to see the rest. */
const SHOWN_LINES = 4;
/** The width of a line in a dialog with a frame, on a terminal of 80 columns. */
const LINE_COLUMNS = 72;
/** How many arguments are looked at for what is shown. The others are counted. */
const MAX_CONSIDERED = 200;
const GAP = "  ";
const MIN_COLUMNS = 16;
const MAX_NAME_COLUMNS = 24;
const MIN_COLUMNS_FOR_NOUN = 48;

/** The first lines of a question about a call. */
export interface ApprovalOverview {
  lines: string[];
  /** Whether any part of the call was cut. */
  isCut: boolean;
}

/**
 * The tool and all of its arguments in the few lines that every client shows: one line for each argument, or several arguments on a
 * line if there are too many. Long values are cut in the middle, where a mark outside quotes says how many characters are left out.
 *
 * @param isFollowed whether more text follows in any case. If something was cut, the complete call should follow too. A client uses
 *   the last line that it shows to say that there is more, so no argument is put there.
 */
export function renderApprovalOverview(tool: string, args: unknown, isFollowed = false): ApprovalOverview {
  const entries =
    typeof args === "object" && args !== null && !Array.isArray(args)
      ? Object.entries(args)
      : args === undefined
        ? []
        : [["arguments", args] as [string, unknown]];
  const count = entries.length === 0 ? "without arguments" : `with ${countNoun(entries.length, "argument")}`;
  const name = cutMiddle(tool, unmistakableLine, LINE_COLUMNS - `Allow  ${count}?`.length);
  const header = `Allow ${name.text} ${count}?`;
  const most = SHOWN_LINES - 1;
  // No more of them would be shown, however short they are.
  const first = entries.slice(0, MAX_CONSIDERED);
  const further = entries.length - first.length;
  const alone = linesOf(first, most, further);
  const isCut = name.isCut || alone.some((piece) => piece.isCut);
  const shown = isFollowed || isCut ? linesOf(first, most - 1, further) : alone;
  return {
    lines: [header, ...shown.map(({ text }) => text)],
    isCut: isCut || shown.some((piece) => piece.isCut),
  };
}

interface Piece {
  text: string;
  isCut: boolean;
}

/** @param further how many more there are, which are only counted. */
function linesOf(entries: readonly [string, unknown][], most: number, further: number): Piece[] {
  if (entries.length <= most) return entries.map((entry) => renderEntry(entry, LINE_COLUMNS));
  // The remaining line is for the text that follows, or for the client's note that there is more.
  const bySize = [...entries].sort((a, b) => needed(a) - needed(b));
  const together = (count: number) =>
    bySize.slice(0, count).reduce((sum, entry) => sum + needed(entry) + GAP.length, -GAP.length);
  let count = Math.floor(entries.length / 2);
  while (count < entries.length && together(count + 1) <= LINE_COLUMNS) count++;
  const short = new Set(bySize.slice(0, count));
  return [entries.filter((entry) => short.has(entry)), entries.filter((entry) => !short.has(entry))]
    .filter((line) => line.length > 0)
    .map((line, index, lines) => shareLine(line, index === lines.length - 1 ? further : 0));
}

/** Puts several arguments on one line: a short one takes what it needs, the others share the rest evenly. */
function shareLine(entries: readonly [string, unknown][], further: number): Piece {
  const places = Math.floor((LINE_COLUMNS - MIN_COLUMNS) / (MIN_COLUMNS + GAP.length)) + 1;
  const shown = entries.length <= places ? entries : entries.slice(0, places - 1);
  const left = entries.length - shown.length + further;
  const more = left === 0 ? [] : [`... (${left} more)`];
  let room = LINE_COLUMNS - GAP.length * (shown.length + more.length - 1) - (more[0]?.length ?? 0);
  let waiting = shown.length;
  const pieces = new Map<string, Piece>();
  for (const entry of [...shown].sort((a, b) => needed(a) - needed(b))) {
    const piece = renderEntry(entry, Math.floor(room / waiting--));
    room -= columnsOfText(piece.text);
    pieces.set(entry[0], piece);
  }
  const inOrder = shown.flatMap(([name]) => pieces.get(name) ?? []);
  return {
    text: [...inOrder.map(({ text }) => text), ...more].join(GAP),
    isCut: more.length > 0 || inOrder.some(({ isCut }) => isCut),
  };
}

function needed(entry: [string, unknown]): number {
  return columnsOfText(renderEntry(entry, LINE_COLUMNS).text);
}

function renderEntry([name, value]: [string, unknown], columns: number): Piece {
  const quoteName = (text: string) => (/^[\w-]+$/.test(text) ? text : unmistakableLine(JSON.stringify(text)));
  const label = cutMiddle(name, quoteName, Math.min(MAX_NAME_COLUMNS, Math.floor(columns / 2)));
  const room = columns - columnsOfText(`${label.text}: `);
  const shown =
    typeof value === "string"
      ? cutMiddle(value, (text) => unmistakableLine(JSON.stringify(text)), room)
      : cutMiddle(writeJson(value) ?? "nothing", unmistakableLine, room);
  return { text: `${label.text}: ${shown.text}`, isCut: label.isCut || shown.isCut };
}

/** A text as `show` renders it, or its beginning and end around the number of characters left out. */
function cutMiddle(text: string, show: (text: string) => string, columns: number): Piece {
  if (text.length <= columns) {
    const whole = show(text);
    if (columnsOfText(whole) <= columns) return { text: whole, isCut: false };
  }
  const noun = columns < MIN_COLUMNS_FOR_NOUN ? "" : " characters";
  const mark = (leftOut: number) => ` ...${leftOut}${noun}... `;
  // The end is a third of what is kept. With escapes and wide characters, less is kept until it fits.
  for (let kept = Math.min(text.length - 1, columns); kept > 0; kept--) {
    const tail = Math.floor(kept / 3);
    const head = kept - tail;
    const end = tail === 0 ? "" : show(text.slice(-tail));
    const cut = `${show(text.slice(0, head))}${mark(text.length - kept)}${end}`;
    if (columnsOfText(cut) <= columns) return { text: cut.trimEnd(), isCut: true };
  }
  return { text: `...${text.length}...`, isCut: true };
}

function columnsOfText(text: string): number {
  let columns = 0;
  for (const character of text) columns += columnsOf(character);
  return columns;
}
