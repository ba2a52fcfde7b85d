/**
 * Console text on a container's stderr, as a JSON text sequence (RFC 7464): each record is RS, a JSON array
 * `[stream, text]`, LF. Bytes outside a record bypassed the console and count as stderr text.
 */

import { ForeignJsonError, parseForeignJson } from "../base/json.ts";

export type ConsoleStream = "out" | "err";

export interface ConsoleEntry {
  stream: ConsoleStream;
  text: string;
}

/** An entry from a container. `isRaw` marks bytes that bypassed the console, such as the runtime's messages. */
export interface DecodedEntry extends ConsoleEntry {
  isRaw?: true;
}

/** One array and two strings. */
const MAX_ENTRY_VALUES = 3;
const RECORD_SEPARATOR = 0x1e;
const LINE_FEED = 0x0a;

export function encodeConsoleEntry(entry: ConsoleEntry): Buffer {
  return Buffer.from(`\u001e${JSON.stringify([entry.stream, entry.text])}\n`);
}

/** Splits a container's stderr into console entries. Holds at most `maxRecordBytes` of an unfinished record. */
export class ConsoleDecoder {
  readonly #maxRecordBytes: number;
  #pending: Buffer = Buffer.alloc(0);

  constructor(maxRecordBytes: number) {
    this.#maxRecordBytes = maxRecordBytes;
  }

  /** Takes the next chunk and returns the entries that it completed. */
  push(chunk: Buffer): DecodedEntry[] {
    let rest = this.#pending.length > 0 ? Buffer.concat([this.#pending, chunk]) : chunk;
    const entries: DecodedEntry[] = [];
    while (rest.length > 0) {
      const start = rest.indexOf(RECORD_SEPARATOR);
      if (start !== 0) {
        const raw = start === -1 ? rest : rest.subarray(0, start);
        entries.push(rawEntry(raw.toString("utf8")));
        rest = rest.subarray(raw.length);
        continue;
      }
      const end = rest.indexOf(LINE_FEED);
      if (end === -1 && rest.length <= this.#maxRecordBytes) break;
      const record = end === -1 ? rest : rest.subarray(0, end + 1);
      entries.push(parseRecord(record.subarray(1)));
      rest = rest.subarray(record.length);
    }
    this.#pending = Buffer.from(rest);
    return entries;
  }

  /** Ends the stream. The remaining bytes count as stderr text. */
  end(): DecodedEntry[] {
    const rest = this.#pending;
    this.#pending = Buffer.alloc(0);
    return rest.length === 0 ? [] : [rawEntry(rest.toString("utf8"))];
  }
}

function parseRecord(record: Buffer): DecodedEntry {
  const text = record.toString("utf8");
  const value = parseEntry(text);
  if (Array.isArray(value) && value.length === 2) {
    const [stream, body] = value as unknown[];
    if ((stream === "out" || stream === "err") && typeof body === "string") return { stream, text: body };
  }
  // The program wrote this, not the runner.
  return rawEntry(text);
}

function rawEntry(text: string): DecodedEntry {
  return { stream: "err", text, isRaw: true };
}

function parseEntry(text: string): unknown {
  try {
    return parseForeignJson(text, { maxBytes: text.length, maxDepth: 1, maxValues: MAX_ENTRY_VALUES });
  } catch (error) {
    if (error instanceof ForeignJsonError) return undefined;
    throw error;
  }
}
