/**
 * Framing on the socket between host and sandbox: 4 bytes of length, big-endian, then that many bytes of UTF-8 JSON.
 * Everything is bounded before it is buffered or parsed.
 */

import { countJsonValues, ForeignJsonError, parseForeignJson } from "../base/json/parse-json.ts";
import { MAX_VALUES } from "./limits.ts";

const HEADER_BYTES = 4;

export class FrameError extends Error {
  override readonly name = "FrameError";
}

/**
 * Encodes one message.
 *
 * @param maxValues how many values the reader takes, those in arrays and objects included.
 * @throws FrameError when the message is larger.
 */
export function encodeFrame(
  message: unknown,
  maxBytes: number,
  maxValues = Number.POSITIVE_INFINITY,
): Buffer {
  return encodeJson(JSON.stringify(message), maxBytes, maxValues);
}

/** Encodes one message that is JSON already, as `encodeFrame` does. */
export function encodeJson(json: string, maxBytes: number, maxValues = Number.POSITIVE_INFINITY): Buffer {
  const length = Buffer.byteLength(json);
  if (length > maxBytes)
    throw new FrameError(`a message of ${length} bytes exceeds the limit of ${maxBytes}`);
  // A value takes two characters, so that nearly every message is known to hold few.
  if (json.length > 2 * maxValues && countJsonValues(json) > maxValues)
    throw new FrameError(`a message holds more than ${maxValues} values`);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  frame.writeUInt32BE(length, 0);
  frame.write(json, HEADER_BYTES, "utf8");
  return frame;
}

/** Reassembles frames from chunks of any size. Holds at most one frame of `maxBytes` and the chunk that ended it. */
export class FrameDecoder {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #buffered = 0;
  #awaited: number | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Takes the next chunk and returns the payloads that it completed.
   *
   * @throws FrameError when a header announces an empty frame or one larger than the limit. The stream is then lost.
   */
  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    const payloads: Buffer[] = [];
    for (;;) {
      if (this.#awaited === undefined) {
        if (this.#buffered < HEADER_BYTES) return payloads;
        const length = this.#take(HEADER_BYTES).readUInt32BE(0);
        if (length === 0) throw new FrameError("a frame is empty");
        if (length > this.#maxBytes) {
          throw new FrameError(`a frame of ${length} bytes exceeds the limit of ${this.#maxBytes}`);
        }
        this.#awaited = length;
      }
      if (this.#buffered < this.#awaited) return payloads;
      payloads.push(this.#take(this.#awaited));
      this.#awaited = undefined;
    }
  }

  /** Copies what is left of the last chunk, whose bytes are about to be overwritten. */
  keep(): void {
    const last = this.#chunks.pop();
    if (last !== undefined) this.#chunks.push(Buffer.from(last));
  }

  #take(length: number): Buffer {
    const joined = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    const rest = joined.subarray(length);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#buffered = rest.length;
    return joined.subarray(0, length);
  }
}

/**
 * Parses a payload that came out of a sandbox.
 *
 * @throws FrameError for what `parseForeignJson` refuses, which is the `cause`.
 */
export function parsePayload(payload: Uint8Array, maxDepth: number): unknown {
  try {
    return parseForeignJson(payload, { maxBytes: payload.length, maxDepth, maxValues: MAX_VALUES });
  } catch (cause) {
    if (!(cause instanceof ForeignJsonError)) throw cause;
    throw new FrameError(`a message ${cause.message}`, { cause });
  }
}
