import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { parseForeignJson } from "../../../base/json.ts";
import { countNoun } from "../../../base/quantities.ts";
import type { LogPart } from "./audit-chain.ts";
import { type ChainEnd, parseLink, readHead } from "./chain-head.ts";
import { type LogLine, logFiles, readLogLines, rotatedFiles } from "./log-files.ts";

/** What was found of an audit log. */
export interface LogVerification {
  /** How many lines are in the chain. */
  lines: number;
  files: readonly string[];
  /** The last line, as `SEQ:DIGEST`, to be kept elsewhere; `undefined` where no line is in a chain. */
  head: string | undefined;
  /** What is not as it was written, one line each. */
  problems: readonly string[];
  /** What a reader should know, and is no fault of the log. */
  notes: readonly string[];
}

export interface VerifyLogOptions {
  /** Files of the log that were put elsewhere. */
  also?: readonly string[];
  /**
   * The last lines at earlier times, as they were kept elsewhere. All between the beginning of the chain and the newest of
   * them is proven to be as it was then.
   */
  expected?: readonly ChainEnd[];
}

/** More problems than this are counted only. */
const MAX_PROBLEMS = 100;
const LINE_LIMITS = { maxBytes: 256 * 1024, maxDepth: 4 };

/**
 * Reads a whole log and finds lines that were removed, edited or put elsewhere, bytes that ptc did not write, and, by the head,
 * lines that are missing at the end. Lines at the beginning may be gone where a line of the chain says that ptc removed them,
 * as it does before it removes old files; that line has to be older than a head that was kept elsewhere, because everybody can
 * add one. Whoever may write the log, its head and all files before it can make a chain of their own, or cut off its end: only a
 * head that was kept elsewhere, or the lines that went to another place, tell of that.
 *
 * Others may write meanwhile: what they add after the head was read is checked as well.
 *
 * @throws Error when a file cannot be read.
 */
export async function verifyLog(
  current: string,
  { also = [], expected = [] }: VerifyLogOptions = {},
): Promise<LogVerification> {
  // The head first: a file always has at least what an earlier head says.
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
 * Checks the parts of a log, in their order, wherever they are kept.
 *
 * @param head the newest line by what is kept beside the lines; `undefined` where that is missing.
 * @param unproven what a reader should know without any head that was kept elsewhere.
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

/** Each file once, also when it was renamed while the files were looked for. */
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
  /** The numbers of lines whose digests are known from elsewhere. */
  readonly #wanted: Map<number, string | undefined>;
  readonly #problems: string[] = [];
  #problemCount = 0;
  readonly #notes: string[] = [];
  #missing: Range[] = [];
  #lines = 0;
  #oldest: number | undefined;
  /** The line with the highest number so far. */
  #last: ChainEnd | undefined;
  /** Which lines say that ptc has removed all before the line `first`. */
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
        "the head beside the log is missing: whether lines were removed from its end is not known",
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
        this.#notes.push(`line ${seq} is among them, and can be compared no more`);
      return;
    }
    const later = this.#removals.find((each) => each.first >= oldest);
    if (later === undefined) this.#missing.unshift({ from: first, to: oldest - 1 });
    else
      this.#problem(
        `lines ${first} to ${oldest - 1} are gone, and the line that says that ptc removed them, ${later.seq}, is newer than line ${newest}: only a head that was kept elsewhere after it can tell`,
      );
  }

  #noteUnproven(last: number, expected: readonly ChainEnd[]): void {
    const newest = newestOf(expected);
    if (newest === undefined) this.#notes.push(this.#unproven);
    else if (newest < last)
      this.#notes.push(`what came after line ${newest} is proven by no head that was kept elsewhere`);
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

  /** Looks whether a line of the log's own accounts for what is before it in no chain. */
  #accountFor({ bytes, number }: LogLine): void {
    const said = parseOwn(bytes);
    const where = `${this.#path}:${number}`;
    if (said?.what === "head_missing")
      this.#problem(`${where}: the head was missing: whether lines were removed before is not known`);
    // Lines of earlier versions name the oldest line also where nothing was removed, and where a file was begun.
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

/** Ranges without those that are within another. */
function distinctRanges(ranges: readonly Range[]): Range[] {
  return ranges.filter(
    (range, index) =>
      !ranges.some((other, at) => {
        if (at === index || other.from > range.from || other.to < range.to) return false;
        return other.from < range.from || other.to > range.to || at < index;
      }),
  );
}
