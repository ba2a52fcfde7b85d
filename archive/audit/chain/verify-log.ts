import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { parseForeignJson } from "../../../base/json.ts";
import { countNoun } from "../../../base/quantities.ts";
import type { LogPart } from "./audit-chain.ts";
import { type ChainEnd, parseLink, readHead } from "./chain-head.ts";
import { type LogLine, logFiles, readLogLines, rotatedFiles } from "./log-files.ts";

/** The findings of a check of an audit log. */
export interface LogVerification {
  /** How many lines are in the chain. */
  lines: number;
  files: readonly string[];
  /** The last line, as `SEQ:DIGEST`, to be kept elsewhere. `undefined` if no line is in a chain. */
  head: string | undefined;
  /** Differences from what ptc wrote, one line each. */
  problems: readonly string[];
  /** Remarks for a reader that are no fault of the log. */
  notes: readonly string[];
}

export interface VerifyLogOptions {
  /** Files of the log that were moved elsewhere. */
  also?: readonly string[];
  /**
   * The last lines at earlier times, kept elsewhere. They prove that everything from the beginning of the chain to the newest
   * of them is unchanged.
   */
  expected?: readonly ChainEnd[];
}

/** Further problems are only counted. */
const MAX_PROBLEMS = 100;
const LINE_LIMITS = { maxBytes: 256 * 1024, maxDepth: 4 };

/**
 * Reads a whole log. Finds lines that were removed, edited or moved, and bytes that ptc did not write. Finds lines that are
 * missing at the end by comparing with the head.
 *
 * Lines at the beginning may be missing if a line of the chain says that ptc removed them. ptc writes that line before it
 * removes old files. Where a head was kept elsewhere, that line must be older than the head, because anybody can add such a line.
 *
 * A person who can write to the log, its head and all earlier files can make a new chain, or cut off the end. Only a head that
 * was kept elsewhere, or lines that were sent to another place, reveal that.
 *
 * Others may write meanwhile: this function also checks what they add after it has read the head.
 *
 * @throws Error when a file cannot be read.
 */
export async function verifyLog(
  current: string,
  { also = [], expected = [] }: VerifyLogOptions = {},
): Promise<LogVerification> {
  // The head is read first, because a file always contains at least the lines up to an earlier head.
  const head = readHead(logFiles(current).head);
  const own = existsSync(current) ? [current] : [];
  const files = await distinct([...(await byFirstLine(also)), ...rotatedFiles(current), ...own]);
  return verifyParts(
    files.map((path) => ({ name: path, lines: () => readLogLines(path) })),
    { head, expected, unproven: UNPROVEN_FILES },
  );
}

const UNPROVEN_FILES =
  "nothing in this folder can show whether lines were cut off and the head written anew, or all of it: compare with a head that was kept elsewhere (`ptc audit head`, --head)";

/**
 * Checks the parts of a log in their order, from files or a database.
 *
 * @param head the newest line according to the head beside the lines, or `undefined` if that is missing.
 * @param unproven a remark for readers who give no head that was kept elsewhere.
 */
export async function verifyParts(
  parts: readonly LogPart[],
  {
    head,
    expected = [],
    unproven,
  }: { head: ChainEnd | undefined; expected?: readonly ChainEnd[] | undefined; unproven: string },
): Promise<LogVerification> {
  const walk = new ChainWalk([...(head === undefined ? [] : [head]), ...expected], unproven);
  for (const [index, { name, lines }] of parts.entries()) {
    walk.begin(name);
    for await (const line of lines()) walk.take(line);
    walk.end(index === parts.length - 1);
  }
  return walk.finish(
    parts.map(({ name }) => name),
    head,
    expected,
  );
}

/** Each file once, even if it was renamed while the files were being listed. */
async function distinct(paths: readonly string[]): Promise<string[]> {
  const seen = new Map<string, string>();
  for (const path of paths) {
    const { dev, ino } = await stat(path, { bigint: true });
    const key = `${dev} ${ino}`;
    if (!seen.has(key)) seen.set(key, path);
  }
  return [...seen.values()];
}

async function byFirstLine(paths: readonly string[]): Promise<string[]> {
  const numbered = await Promise.all(
    paths.map(async (path) => {
      for await (const { bytes } of readLogLines(path)) {
        const link = parseLink(bytes);
        if (link !== undefined) return { path, seq: link.seq };
      }
      return { path, seq: 0 };
    }),
  );
  return numbered.sort((a, b) => a.seq - b.seq).map(({ path }) => path);
}

interface Range {
  from: number;
  to: number;
}

class ChainWalk {
  /** The lines that a head names, by their numbers, with the digests found in the log. */
  readonly #wanted: Map<number, string | undefined>;
  readonly #problems: string[] = [];
  #problemCount = 0;
  readonly #notes: string[] = [];
  #missing: Range[] = [];
  #lines = 0;
  #oldest: number | undefined;
  /** The line with the highest number so far. */
  #last: ChainEnd | undefined;
  /** The lines that say that ptc has removed all lines before `first`. */
  readonly #removals: { seq: number; first: number }[] = [];
  #path = "";
  #loose: { bytes: number; line: number; hash: ReturnType<typeof createHash>; isTorn: boolean } | undefined;
  readonly #unproven: string;

  constructor(ends: readonly ChainEnd[], unproven: string) {
    this.#wanted = new Map(ends.map(({ seq }) => [seq, undefined]));
    this.#unproven = unproven;
  }

  begin(path: string): void {
    this.#path = path;
  }

  take(line: LogLine): void {
    const link = line.hasLineFeed ? parseLink(line.bytes) : undefined;
    if (link === undefined) {
      this.#loosen(line);
      return;
    }
    this.#lines++;
    if (this.#wanted.has(link.seq)) this.#wanted.set(link.seq, link.end.hash);
    this.#accountFor(line);
    this.#follow(link, `${this.#path}:${line.number}`);
  }

  end(isLast: boolean): void {
    if (this.#loose === undefined) return;
    const { bytes, line, isTorn } = this.#loose;
    const where = `${this.#path}:${line}`;
    if (isLast && isTorn)
      this.#notes.push(`${where}: a line that is being written, or that a killed ptc left unfinished`);
    else this.#problem(`${where}: ${countNoun(bytes, "byte")} that are in no chain`);
    this.#loose = undefined;
  }

  finish(
    files: readonly string[],
    head: ChainEnd | undefined,
    expected: readonly ChainEnd[],
  ): LogVerification {
    const last = this.#last;
    this.#checkBeginning(this.#oldest ?? (head?.seq ?? 0) + 1, expected);
    if (head === undefined && last !== undefined)
      this.#problem(
        "the head beside the log is missing: it is unknown whether lines were removed from the end",
      );
    for (const { seq, hash } of [...(head === undefined ? [] : [head]), ...expected]) {
      const found = this.#wanted.get(seq);
      if (seq > (last?.seq ?? 0)) this.#missing.push({ from: (last?.seq ?? 0) + 1, to: seq });
      else if (found !== undefined && found !== hash) this.#problem(`line ${seq} was edited`);
    }
    for (const { from, to } of distinctRanges(this.#missing))
      this.#problem(from === to ? `line ${from} is missing` : `lines ${from} to ${to} are missing`);
    this.#noteUnproven(last?.seq ?? 0, expected);
    const more = this.#problemCount - this.#problems.length;
    return {
      lines: this.#lines,
      files,
      head: last === undefined ? undefined : `${last.seq}:${last.hash}`,
      problems: more > 0 ? [...this.#problems, `and ${more} more`] : this.#problems,
      notes: this.#notes,
    };
  }

  /** Lines at the beginning may be missing where the chain says that ptc removed them. */
  #checkBeginning(oldest: number, expected: readonly ChainEnd[]): void {
    const newest = newestOf(expected);
    const proven = this.#removals.filter(({ seq }) => newest === undefined || seq <= newest);
    const first = Math.max(1, ...proven.map((each) => each.first));
    this.#missing = this.#missing.flatMap(({ from, to }) =>
      to < first ? [] : [{ from: Math.max(from, first), to }],
    );
    if (oldest <= first) {
      if (first > 1) this.#notes.push(`lines before line ${first} were old, and removed by ptc itself`);
      for (const { seq } of expected.filter(({ seq }) => seq < oldest))
        this.#notes.push(`line ${seq} is among them, and can no longer be compared`);
      return;
    }
    const later = this.#removals.find((each) => each.first >= oldest);
    if (later === undefined) this.#missing.unshift({ from: first, to: oldest - 1 });
    else
      this.#problem(
        `lines ${first} to ${oldest - 1} are gone, and the line that says that ptc removed them, ${later.seq}, is newer than line ${newest}: only a newer head that was kept elsewhere can prove that`,
      );
  }

  #noteUnproven(last: number, expected: readonly ChainEnd[]): void {
    const newest = newestOf(expected);
    if (newest === undefined) this.#notes.push(this.#unproven);
    else if (newest < last)
      this.#notes.push(`no head that was kept elsewhere proves what came after line ${newest}`);
  }

  #follow({ seq, prev, end }: { seq: number; prev: string; end: ChainEnd }, where: string): void {
    const last = this.#last;
    if (last === undefined) {
      this.#oldest = seq;
    } else if (seq <= last.seq) {
      this.#problem(`${where}: line ${seq} is not in its place`);
      this.#missing = this.#missing.flatMap((range) => without(range, seq));
      return;
    } else if (seq > last.seq + 1) {
      this.#missing.push({ from: last.seq + 1, to: seq - 1 });
    } else if (prev !== last.hash) {
      this.#problem(`${where}: line ${last.seq}, or what line ${seq} says of it, was edited`);
    }
    this.#last = end;
  }

  #loosen({ bytes, hasLineFeed, number }: LogLine): void {
    this.#loose ??= { bytes: 0, line: number, hash: createHash("sha256"), isTorn: true };
    this.#loose.bytes += bytes.length + (hasLineFeed ? 1 : 0);
    this.#loose.hash.update(bytes);
    if (hasLineFeed) this.#loose.hash.update("\n");
    this.#loose.isTorn = !hasLineFeed && this.#loose.bytes === bytes.length;
  }

  /** Checks whether a line that the log wrote about itself accounts for the bytes before it that are in no chain. */
  #accountFor({ bytes, number }: LogLine): void {
    const said = parseOwn(bytes);
    const where = `${this.#path}:${number}`;
    if (said?.what === "head_missing")
      this.#problem(`${where}: the head was missing: it is unknown whether lines were removed before`);
    // Lines of earlier versions name the oldest line even if nothing was removed, and also where a file begins.
    const { what, seq = 0, first } = said ?? {};
    if (
      (what === "continued" || what === "begun") &&
      Number.isSafeInteger(first) &&
      Number(first) <= Number(seq)
    )
      this.#removals.push({ seq: Number(seq), first: Number(first) });
    if (said?.event === "lost")
      this.#notes.push(`${where}: ${Number(said.lines)} lines could not be written`);
    if (this.#loose === undefined) return;
    const { bytes: size, line, hash } = this.#loose;
    const digest = `sha256:${hash.digest("hex")}`;
    this.#loose = undefined;
    const place = `${this.#path}:${line}`;
    if (said?.bytes === size && said.digest === digest)
      this.#notes.push(
        `${place}: ${countNoun(size, "byte")} that were in no chain when line ${number} was written`,
      );
    else this.#problem(`${place}: ${countNoun(size, "byte")} that no line accounts for`);
  }

  #problem(text: string): void {
    this.#problemCount++;
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(text);
  }
}

function newestOf(ends: readonly ChainEnd[]): number | undefined {
  return ends.length === 0 ? undefined : Math.max(...ends.map(({ seq }) => seq));
}

/** The members of a line that the log has written about itself. */
function parseOwn(bytes: Buffer): Record<string, unknown> | undefined {
  const start = bytes.subarray(0, 80).toString("latin1");
  if (!start.includes('"event":"log"') && !start.includes('"event":"lost"')) return undefined;
  try {
    return parseForeignJson(bytes, LINE_LIMITS) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function without({ from, to }: Range, seq: number): Range[] {
  if (seq < from || seq > to) return [{ from, to }];
  return [
    { from, to: seq - 1 },
    { from: seq + 1, to },
  ].filter((range) => range.from <= range.to);
}

/** The ranges that are not within another. */
function distinctRanges(ranges: readonly Range[]): Range[] {
  return ranges.filter(
    (range, index) =>
      !ranges.some((other, at) => {
        if (at === index || other.from > range.from || other.to < range.to) return false;
        return other.from < range.from || other.to > range.to || at < index;
      }),
  );
}
