import { createReadStream } from "node:fs";

/** A line of a file, or a part of one that is too long to be ptc's. */
export interface LogLine {
  /** Without its line feed. */
  bytes: Buffer;
  hasLineFeed: boolean;
  /** From 1. */
  number: number;
}

/** More than any line of ptc has (audit-line.ts). */
const MAX_LINE_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;

/** The lines of a file from a place on. @throws Error when it cannot be read. */
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
