import { createReadStream, existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** The files of one audit log. */
export interface LogFiles {
  /** The file that new lines go to. */
  current: string;
  head: string;
  lock: string;
}

const ENDING = ".jsonl";

/** @param current a path such as `.ptc/audit.jsonl`. The other files are beside it. */
export function logFiles(current: string): LogFiles {
  const stem = stemOf(current);
  return { current, head: `${stem}.head`, lock: `${stem}.lock` };
}

/** The log's earlier files, oldest first. */
export function rotatedFiles(current: string): string[] {
  const folder = dirname(current);
  const names = namesIn(folder);
  const numbered = names.flatMap((name) => {
    const number = numberOf(basename(stemOf(current)), name);
    return number === undefined ? [] : [{ number, path: join(folder, name) }];
  });
  return numbered.sort((a, b) => a.number - b.number).map(({ path }) => path);
}

/** All lines of a log, from its earlier files and the current one, oldest first. @throws Error when a file cannot be read. */
export async function* linesOfLog(current: string): AsyncGenerator<LogLine> {
  for (const path of [...rotatedFiles(current), current]) if (existsSync(path)) yield* readLogLines(path);
}

/** The name that the current file gets when a new one begins. */
export function nextRotatedFile(current: string): string {
  const last = rotatedFiles(current).at(-1);
  const number = last === undefined ? 0 : (numberOf(basename(stemOf(current)), basename(last)) ?? 0);
  return `${stemOf(current)}-${String(number + 1).padStart(6, "0")}${ENDING}`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function stemOf(current: string): string {
  return current.endsWith(ENDING) ? current.slice(0, -ENDING.length) : current;
}

function numberOf(stem: string, name: string): number | undefined {
  if (!name.startsWith(`${stem}-`) || !name.endsWith(ENDING)) return undefined;
  const digits = name.slice(stem.length + 1, -ENDING.length);
  return /^\d{6,9}$/.test(digits) ? Number(digits) : undefined;
}

/** A line of a file, or a part of a line that is too long to be ptc's. */
export interface LogLine {
  /** Without its line feed. */
  bytes: Buffer;
  hasLineFeed: boolean;
  /** From 1. */
  number: number;
}

/** Longer than any line that ptc writes (audit-line.ts). */
const MAX_LINE_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;

/** The lines of a file from a byte offset on. @throws Error when it cannot be read. */
export async function* readLogLines(path: string, from = 0): AsyncGenerator<LogLine> {
  let held: Buffer = Buffer.alloc(0);
  let number = 1;
  for await (const chunk of createReadStream(path, { start: from })) {
    const piece = held.length === 0 ? (chunk as Buffer) : Buffer.concat([held, chunk as Buffer]);
    let start = 0;
    for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, start)) {
      yield { bytes: piece.subarray(start, at), hasLineFeed: true, number: number++ };
      start = at + 1;
    }
    held = piece.subarray(start);
    if (held.length <= MAX_LINE_BYTES) continue;
    yield { bytes: held, hasLineFeed: false, number };
    held = Buffer.alloc(0);
  }
  if (held.length > 0) yield { bytes: held, hasLineFeed: false, number };
}
