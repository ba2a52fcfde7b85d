import { isEdgeAfter, isEdgeBefore } from "../pii-kinds.ts";

/** A sequence of digits in a text. */
export interface DigitGroup {
  readonly start: number;
  readonly end: number;
  readonly digits: string;
}

/** Groups of digits, separated only by signs that can occur within one number. */
export interface NumberRun {
  /** The first digit, or the `+` or `(` before it. */
  readonly start: number;
  readonly groups: readonly DigitGroup[];
}

/** Matches the signs between the digits of one number: one character, or brackets. */
const SEPARATOR = /^(?:[ \u00a0.\-\u2010\u2011\u2013/]|\)[ \-/]?|[ -]?\(| - | ?\/ ?)$/;
const MAX_SEPARATOR_CHARS = 3;

/** A longer run is a table of numbers, and is read as several runs. */
const MAX_GROUPS = 24;

/**
 * The runs of digits in a text from a position on. Each digit is in one run.
 *
 * @param separator what may stand between two groups of a run.
 */
export function numberRuns(text: string, from: number, separator = SEPARATOR): NumberRun[] {
  const runs: NumberRun[] = [];
  let groups: DigitGroup[] = [];
  const flush = () => {
    const [first] = groups;
    if (first !== undefined) runs.push({ start: signFrom(text, first.start, from), groups });
    groups = [];
  };
  for (const { 0: digits, index } of text.matchAll(/[0-9]+/g)) {
    const end = index + digits.length;
    if (index < from) continue;
    const last = groups.at(-1);
    const isNext =
      last !== undefined && groups.length < MAX_GROUPS && joins(text.slice(last.end, index), separator);
    if (!isNext) flush();
    groups.push({ start: index, end, digits });
  }
  flush();
  return runs;
}

function joins(between: string, separator: RegExp): boolean {
  return between.length <= MAX_SEPARATOR_CHARS && separator.test(between);
}

function signFrom(text: string, start: number, from: number): number {
  const before = /(?:\+ ?\(|\(\+?|\+ ?)$/.exec(text.slice(Math.max(from, start - 3), start));
  return start - (before?.[0].length ?? 0);
}

/** A number as written: some groups of a run. */
export interface WrittenNumber {
  readonly start: number;
  readonly end: number;
  readonly digits: string;
  readonly text: string;
  readonly groups: readonly DigitGroup[];
}

/** The number that some groups of a run form, unless it is only a part of a word, a fraction or a longer number. */
export function writtenNumber(
  text: string,
  run: NumberRun,
  first: number,
  count: number,
): WrittenNumber | undefined {
  const groups = run.groups.slice(first, first + count);
  const [begin] = groups;
  const last = groups.at(-1);
  if (begin === undefined || last === undefined || groups.length < count) return undefined;
  const start = first === 0 ? run.start : begin.start;
  const { end } = last;
  if (!standsAlone(text, start, end)) return undefined;
  const digits = groups.map((group) => group.digits).join("");
  return { start, end, digits, text: text.slice(start, end), groups };
}

/** Whether a number is separate. A hyphen or point between it and a letter or digit joins parts of one identifier. */
function standsAlone(text: string, start: number, end: number): boolean {
  if (!isEdgeBefore(text, start) || !isEdgeAfter(text, end)) return false;
  if (/[\p{L}\p{N}_][-.\u2010\u2011]$/u.test(text.slice(Math.max(0, start - 2), start))) return false;
  return !/^[-.\u2010\u2011][\p{L}\p{N}_]/u.test(text.slice(end, end + 2));
}

/** The single character between all groups, or `undefined` if there are several or different ones. */
export function separatorOf(text: string, groups: readonly DigitGroup[]): string | undefined {
  const between = groups.slice(1).map(({ start }, index) => text.slice(groups[index]?.end, start));
  const [first] = between;
  return first !== undefined && first.length === 1 && between.every((each) => each === first)
    ? first
    : undefined;
}
