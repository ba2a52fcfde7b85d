import { createHash } from "node:crypto";
import { readSync } from "node:fs";
import { endsWithLineFeed } from "../audit-file.ts";
import type { AuditMembers } from "../audit-line.ts";
import { type ChainEnd, type ChainHead, NO_LINE, parseLink } from "./chain-head.ts";

/** Where the next line continues the chain. */
export interface Continuation {
  end: ChainEnd;
  /** Members of a line that comes first and says what was found. */
  found: AuditMembers | undefined;
  /** A line feed where the file ends within a line. */
  prefix: "" | "\n";
}

const LINE_FEED = 0x0a;
const PIECE_BYTES = 256 * 1024;
/** Longer than any line (audit-line.ts). */
const MAX_LINE_BYTES = 64 * 1024;

/**
 * Finds where a log continues: after the head, not at the end of the file. Lines that were removed from the end therefore stay
 * missing from the chain. Lines beyond the head come from a process that died before it could write the head. A new line
 * records the digest of whatever follows them in no chain, such as half a line.
 *
 * @param size the size of the file, to which nobody else may write meanwhile.
 */
export function continueChain(file: number, size: number, head: ChainHead | undefined): Continuation {
  if (head !== undefined && head.bytes === size) return { end: head, found: undefined, prefix: "" };
  if (size === 0) return { end: head ?? NO_LINE, found: undefined, prefix: "" };
  const prefix = endsWithLineFeed(file, size) ? "" : "\n";
  if (head !== undefined && size < head.bytes)
    return { end: head, found: { event: "log", what: "shortened" }, prefix };
  const from = head?.bytes ?? lastLineStart(file, size);
  const reader = new Unheaded(head ?? NO_LINE, head === undefined);
  for (const piece of pieces(file, from, size)) reader.take(piece);
  reader.finish(prefix);
  const { end, rest } = reader;
  if (end === NO_LINE) return wholeUnlinked(file, size, prefix);
  const uncovered = rest.bytes === 0 ? {} : { bytes: rest.bytes, digest: rest.digest };
  const what = head === undefined ? "head_missing" : "unlinked";
  const found = head === undefined || rest.bytes > 0 ? { event: "log", what, ...uncovered } : undefined;
  return { end, found, prefix };
}

/** Continues a file none of whose lines is in a chain, because an early version of ptc wrote it. */
function wholeUnlinked(file: number, size: number, prefix: "" | "\n"): Continuation {
  const hash = createHash("sha256");
  for (const piece of pieces(file, 0, size)) hash.update(piece);
  const digest = `sha256:${hash.update(prefix).digest("hex")}`;
  const bytes = size + prefix.length;
  return { end: NO_LINE, found: { event: "log", what: "unlinked", bytes, digest }, prefix };
}

/** Follows the chain through the bytes after the head, and counts those that are in no chain. */
class Unheaded {
  end: ChainEnd;
  readonly #takesAny: boolean;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #rest: { bytes: number; hash: ReturnType<typeof createHash> } | undefined;

  /** @param takesAny whether the first line counts whatever predecessor it names. */
  constructor(end: ChainEnd, takesAny: boolean) {
    this.end = end;
    this.#takesAny = takesAny;
  }

  get rest(): { bytes: number; digest: string } {
    if (this.#rest === undefined) return { bytes: 0, digest: "" };
    return { bytes: this.#rest.bytes, digest: `sha256:${this.#rest.hash.copy().digest("hex")}` };
  }

  take(piece: Buffer): void {
    for (let start = 0; start < piece.length; ) {
      if (this.#rest !== undefined) {
        this.#drop(piece.subarray(start));
        return;
      }
      const at = piece.indexOf(LINE_FEED, start);
      const part = piece.subarray(start, at < 0 ? piece.length : at);
      this.#line.push(part);
      this.#lineBytes += part.length;
      start = at < 0 ? piece.length : at + 1;
      if (at >= 0) this.#endLine();
      else if (this.#lineBytes > MAX_LINE_BYTES) this.#giveUp("");
    }
  }

  finish(prefix: string): void {
    if (this.#rest !== undefined) this.#drop(Buffer.from(prefix));
    else if (this.#lineBytes > 0) this.#giveUp(prefix);
  }

  #endLine(): void {
    const line = Buffer.concat(this.#line);
    const link = parseLink(line);
    const follows = link?.seq === this.end.seq + 1 && link.prev === this.end.hash;
    if (link === undefined || !(follows || (this.#takesAny && this.end === NO_LINE))) {
      this.#giveUp("\n");
      return;
    }
    this.end = link.end;
    this.#line = [];
    this.#lineBytes = 0;
  }

  #giveUp(ending: string): void {
    this.#rest = { bytes: 0, hash: createHash("sha256") };
    this.#drop(Buffer.concat([...this.#line, Buffer.from(ending)]));
  }

  #drop(bytes: Buffer): void {
    if (this.#rest === undefined) return;
    this.#rest.bytes += bytes.length;
    this.#rest.hash.update(bytes);
  }
}

/** The offset at which the last whole line begins, or 0 if it is not found. */
function lastLineStart(file: number, size: number): number {
  const from = Math.max(0, size - 2 * MAX_LINE_BYTES);
  const bytes = Buffer.alloc(size - from);
  const bytesRead = readSync(file, bytes, 0, bytes.length, from);
  const last = bytes.subarray(0, bytesRead).lastIndexOf(LINE_FEED);
  const before = last <= 0 ? -1 : bytes.lastIndexOf(LINE_FEED, last - 1);
  return before < 0 ? 0 : from + before + 1;
}

function* pieces(file: number, from: number, to: number): Generator<Buffer> {
  for (let at = from; at < to; ) {
    const piece = Buffer.alloc(PIECE_BYTES);
    const bytesRead = readSync(file, piece, 0, PIECE_BYTES, at);
    if (bytesRead === 0) return;
    yield piece.subarray(0, Math.min(bytesRead, to - at));
    at += bytesRead;
  }
}
