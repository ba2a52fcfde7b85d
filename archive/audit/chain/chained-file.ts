import {
  closeSync,
  fdatasync,
  fstatSync,
  fsync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../../../base/faults.ts";
import { parseForeignJson } from "../../../base/json.ts";
import { lockFile } from "../../../system/lock-file.ts";
import { openForAppend, prepareFolder } from "../audit-file.ts";
import { type AuditMembers, renderAuditLine } from "../audit-line.ts";
import type { Appended, AuditChain } from "./audit-chain.ts";
import {
  type ChainEnd,
  type ChainHead,
  linkLine,
  NO_LINE,
  parseLink,
  readHead,
  writeHead,
} from "./chain-head.ts";
import { continueChain } from "./continue-chain.ts";
import { type LogFiles, logFiles, nextRotatedFile, rotatedFiles } from "./log-files.ts";

export interface ChainedFileOptions {
  /** The path of the file. Missing folders are created for their owner only. */
  path: string;
  /** When the file is larger than this, another one follows. */
  maxBytes: number;
  /** How long to keep earlier files, counted from their last line. */
  keepMs: number;
  wallMs: () => number;
}

/**
 * A file of lines, each of which names the digest of the one before. Several processes may append to it: each holds a lock
 * while it appends, and first reads what the others have written. The file can be moved or removed at any time.
 */
export class ChainedFile implements AuditChain {
  readonly #options: ChainedFileOptions;
  readonly #files: LogFiles;

  constructor(options: ChainedFileOptions) {
    this.#options = options;
    this.#files = logFiles(options.path);
  }

  get place(): string {
    return this.#options.path;
  }

  async append(lines: readonly string[], flush: boolean): Promise<Appended> {
    prepareFolder(this.#files.current);
    const release = await lockFile(this.#files.lock);
    try {
      return await this.#append(lines, flush);
    } finally {
      release();
    }
  }

  async #append(lines: readonly string[], flush: boolean): Promise<Appended> {
    const head = readHead(this.#files.head);
    let file = openForAppend(this.#files.current);
    try {
      let { size } = fstatSync(file);
      let { end, found, prefix } = continueChain(file, size, head);
      let first = head?.first ?? 1;
      let outdated: readonly string[] = [];
      if (size >= this.#options.maxBytes && found === undefined) {
        closeSync(file);
        renameSync(this.#files.current, nextRotatedFile(this.#files.current));
        writeHead(this.#files.head, { ...end, bytes: 0, first });
        file = openForAppend(this.#files.current);
        size = 0;
        const old = this.#outdated();
        outdated = old.paths;
        first = Math.max(first, old.first ?? 1);
        found = { event: "log", what: "continued", first: old.first };
      } else if (size === 0) {
        // The head comes first: without it, lines could be removed from the end unnoticed.
        if (head === undefined) writeHead(this.#files.head, { ...NO_LINE, bytes: 0, first });
        if (end.seq > 0) found = { event: "log", what: "begun" };
      }
      const own = found === undefined ? [] : [this.#line(found)];
      const linked = link([...own, ...lines], end);
      const written = write(file, prefix, linked);
      const flushed = flush || outdated.length > 0 ? await this.#flush(file, size === 0) : undefined;
      const last = linked[written.lines - 1]?.end ?? end;
      const problem = this.#keepHead({ ...last, bytes: size + written.bytes, first });
      // ptc removes a file only after the chain says so. If any other file is gone, ptc did not remove it.
      const stays = written.lines < own.length ? undefined : remove(outdated);
      return {
        written: Math.max(0, written.lines - own.length),
        lines: linked.slice(0, written.lines).map(({ line }) => line),
        problem: written.lines < linked.length ? "only a part was written" : (flushed ?? problem ?? stays),
      };
    } finally {
      closeSync(file);
    }
  }

  #line(members: AuditMembers): string {
    return renderAuditLine({ time: new Date(this.#options.wallMs()).toISOString(), ...members });
  }

  async #flush(file: number, isNew: boolean): Promise<string | undefined> {
    try {
      await promisify(fdatasync)(file);
      if (isNew) await flushFolder(dirname(this.#files.current));
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  /** Written lines count even when their head could not be written: the next writer finds them beyond the old head. */
  #keepHead(head: ChainHead): string | undefined {
    try {
      writeHead(this.#files.head, head);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  /**
   * The files that are old enough to be removed, and the number of the oldest line after them. The age of a file is the age
   * of its last line, which the next file confirms. Modification times do not count, because anybody can change them.
   */
  #outdated(): { paths: readonly string[]; first: number | undefined } {
    const { wallMs, keepMs } = this.#options;
    const rotated = rotatedFiles(this.#files.current);
    const paths: string[] = [];
    let first: number | undefined;
    for (const [index, path] of rotated.entries()) {
      const next = rotated[index + 1];
      const last = lastLine(path);
      // The newest is the file that was just renamed, which stays.
      if (next === undefined || last === undefined || firstPrev(next) !== last.end.hash) continue;
      if (!(wallMs() - last.timeMs > keepMs)) break;
      paths.push(path);
      first = last.end.seq + 1;
    }
    return { paths, first };
  }
}

interface Linked {
  line: string;
  end: ChainEnd;
}

function link(lines: readonly string[], from: ChainEnd): Linked[] {
  let end = from;
  return lines.map((line) => {
    const linked = linkLine(line, end);
    end = linked.end;
    return linked;
  });
}

/** Writes lines. Returns how many were written whole, and the number of bytes up to their end. */
function write(
  file: number,
  prefix: string,
  lines: readonly { line: string }[],
): { lines: number; bytes: number } {
  const bytes = Buffer.from(`${prefix}${lines.map(({ line }) => line).join("")}`);
  const bytesWritten = writeSync(file, bytes);
  if (bytesWritten === bytes.length) return { lines: lines.length, bytes: bytesWritten };
  let end = prefix.length;
  let whole = 0;
  for (const { line } of lines) {
    const next = end + Buffer.byteLength(line);
    if (next > bytesWritten) break;
    end = next;
    whole++;
  }
  return { lines: whole, bytes: Math.min(end, bytesWritten) };
}

const MAX_END_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;
const LINE_LIMITS = { maxBytes: MAX_END_BYTES, maxDepth: 4 };

/** The last line of a file, or `undefined` if that line is in no chain. */
function lastLine(path: string): { end: ChainEnd; timeMs: number } | undefined {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(MAX_END_BYTES);
    const bytesRead = readSync(file, bytes, 0, MAX_END_BYTES, Math.max(0, size - MAX_END_BYTES));
    const text = bytes.subarray(0, bytesRead);
    if (text.at(-1) !== LINE_FEED) return undefined;
    const line = text.subarray(text.lastIndexOf(LINE_FEED, text.length - 2) + 1, -1);
    const end = parseLink(line)?.end;
    return end && { end, timeMs: timeOf(line) };
  } finally {
    closeSync(file);
  }
}

function timeOf(line: Buffer): number {
  try {
    const { time } = parseForeignJson(line, LINE_LIMITS) as Record<string, unknown>;
    return Date.parse(String(time));
  } catch {
    return Number.NaN;
  }
}

/** The digest of the line before a file's first chained line, as that line states it. */
function firstPrev(path: string): string | undefined {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(MAX_END_BYTES);
    const text = bytes.subarray(0, readSync(file, bytes, 0, MAX_END_BYTES, 0));
    for (let start = 0, at = text.indexOf(LINE_FEED); at >= 0; at = text.indexOf(LINE_FEED, start)) {
      const link = parseLink(text.subarray(start, at));
      if (link !== undefined) return link.prev;
      start = at + 1;
    }
    return undefined;
  } finally {
    closeSync(file);
  }
}

/** Removes files. Returns why one could not be removed. */
function remove(paths: readonly string[]): string | undefined {
  try {
    for (const path of paths) rmSync(path);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

async function flushFolder(folder: string): Promise<void> {
  const handle = openSync(folder, "r");
  try {
    await promisify(fsync)(handle);
  } finally {
    closeSync(handle);
  }
}
