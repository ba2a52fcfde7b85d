import {
  ForeignJsonError,
  isWellFormed,
  type JsonLimits,
  parseForeignJson,
  whyTooLarge,
  writeJson,
} from "../base/json.ts";
import { parseForeignJsonInTurns } from "../base/json-in-turns.ts";
import { MAX_VALUES } from "./limits.ts";

/**
 * Framing on the socket between host and sandbox. A frame is 4 bytes of length, big-endian, then that many bytes of UTF-8 JSON or of
 * a large text that a message has announced. Limits apply before anything is buffered or parsed.
 */

const HEADER_BYTES = 4;
const NO_MARK = new Uint8Array();

export class FrameError extends Error {
  override readonly name = "FrameError";
}

/**
 * Encodes one message.
 *
 * @param maxValues maximum number of values that the reader accepts, including those in arrays and objects.
 * @param mark bytes that precede the message in the payload.
 * @throws FrameError when the message exceeds a limit.
 */
export function encodeFrame(
  message: unknown,
  maxBytes: number,
  maxValues = Number.POSITIVE_INFINITY,
  mark: Uint8Array = NO_MARK,
): Buffer {
  return encodeJson(writeJson(message), maxBytes, maxValues, mark);
}

/** Like `encodeFrame`, for a message that is already JSON. */
export function encodeJson(
  json: string,
  maxBytes: number,
  maxValues = Number.POSITIVE_INFINITY,
  mark: Uint8Array = NO_MARK,
): Buffer {
  const length = Buffer.byteLength(json);
  if (length > maxBytes)
    throw new FrameError(`a message of ${length} bytes exceeds the limit of ${maxBytes}`);
  const why = maxValues === Number.POSITIVE_INFINITY ? undefined : whyTooLarge(json, { maxValues });
  if (why !== undefined) throw new FrameError(`a message ${why}`);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + mark.length + length);
  frame.writeUInt32BE(mark.length + length, 0);
  frame.set(mark, HEADER_BYTES);
  frame.write(json, HEADER_BYTES + mark.length, "utf8");
  return frame;
}

/** Encodes one text as it is, not as JSON. */
export function encodeText(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  frame.writeUInt32BE(length, 0);
  frame.write(text, HEADER_BYTES, "utf8");
  return frame;
}

/** Payloads of at least this many bytes get separate memory when they begin, not when they are complete. */
const LARGE_BYTES = 64 * 1024;

/** Reassembles frames from chunks of any size. Holds at most one frame of `maxBytes` and the chunk that ended it. */
export class FrameDecoder {
  readonly #maxBytes: number;
  readonly #keptBytes: number;
  #chunks: Buffer[] = [];
  #buffered = 0;
  #awaited: number | undefined;
  /** An incomplete large payload, and how many of its bytes have arrived. */
  #large: Buffer | undefined;
  #filled = 0;
  /** Memory for large payloads, and whether no payload that the current chunk completes uses it. */
  #kept: Buffer | undefined;
  #isKeptFree = true;

  /**
   * @param keptBytes maximum size of the memory that is reused for large payloads, in bytes. Later chunks overwrite it. By default
   * each payload has separate memory.
   */
  constructor(maxBytes: number, keptBytes = 0) {
    this.#maxBytes = maxBytes;
    this.#keptBytes = keptBytes;
  }

  /**
   * Takes the next chunk and returns the payloads that it completed.
   *
   * @throws FrameError when a header announces an empty frame or one larger than the limit. The stream is then unusable.
   */
  push(chunk: Buffer): Buffer[] {
    const payloads: Buffer[] = [];
    let rest = chunk;
    this.#isKeptFree = this.#large === undefined;
    if (this.#large !== undefined) {
      rest = this.#fill(this.#large, chunk);
      if (this.#filled < this.#large.length) return payloads;
      payloads.push(this.#large);
      this.#large = undefined;
    }
    this.#chunks.push(rest);
    this.#buffered += rest.length;
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
      if (this.#buffered < this.#awaited) {
        if (this.#awaited >= LARGE_BYTES) this.#begin(this.#awaited);
        return payloads;
      }
      payloads.push(this.#take(this.#awaited));
      this.#awaited = undefined;
    }
  }

  /** Copies the rest of the last chunk, whose bytes are about to be overwritten. */
  keep(): void {
    const last = this.#chunks.pop();
    if (last !== undefined) this.#chunks.push(Buffer.from(last));
  }

  /** Begins a large payload with the bytes that have arrived. */
  #begin(length: number): void {
    this.#large = this.#memory(length);
    this.#filled = 0;
    for (const chunk of this.#chunks) this.#fill(this.#large, chunk);
    this.#chunks = [];
    this.#buffered = 0;
    this.#awaited = undefined;
  }

  #memory(length: number): Buffer {
    if (length > this.#keptBytes || !this.#isKeptFree) return Buffer.allocUnsafeSlow(length);
    if (this.#kept === undefined || this.#kept.length < length) this.#kept = Buffer.allocUnsafeSlow(length);
    return this.#kept.subarray(0, length);
  }

  /** Returns the part of the chunk after the payload. */
  #fill(large: Buffer, chunk: Buffer): Buffer {
    const taken = Math.min(chunk.length, large.length - this.#filled);
    large.set(chunk.subarray(0, taken), this.#filled);
    this.#filled += taken;
    return chunk.subarray(taken);
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
 * @throws FrameError for JSON that `parseForeignJson` refuses, with its error as the `cause`.
 */
export function parsePayload(payload: Uint8Array, maxDepth: number, maxValues = MAX_VALUES): unknown {
  try {
    return parseForeignJson(payload, payloadLimits(payload, maxDepth, maxValues));
  } catch (error) {
    throw refusedPayload(error);
  }
}

/** As `parsePayload`, with turns of the event loop between the parts of a large payload. */
export async function parsePayloadInTurns(
  payload: Uint8Array,
  maxDepth: number,
  maxValues = MAX_VALUES,
): Promise<unknown> {
  try {
    return await parseForeignJsonInTurns(payload, payloadLimits(payload, maxDepth, maxValues));
  } catch (error) {
    throw refusedPayload(error);
  }
}

function payloadLimits(payload: Uint8Array, maxDepth: number, maxValues: number): JsonLimits {
  // What goes to a file may be as broad as it is large.
  const broad = maxValues > MAX_VALUES ? { maxMembers: maxValues } : {};
  return { maxBytes: payload.length, maxDepth, maxValues, ...broad };
}

function refusedPayload(error: unknown): unknown {
  return error instanceof ForeignJsonError
    ? new FrameError(`a message ${error.message}`, { cause: error })
    : error;
}

/**
 * A large text makes up most of its result. Encoding it as JSON and parsing it takes longer than sending it into the sandbox, so the
 * host sends it as a separate frame after the message, which has `null` in its place.
 */

/** The place of a text in a value: the names and indices that lead to it. Empty when the value is the text. */
export type TextPlace = readonly (string | number)[];

/** A value without its large texts. */
export interface LiftedTexts {
  value: unknown;
  places: TextPlace[];
  /** The texts, in the order of their places. */
  texts: string[];
}

/** Minimum length of a large text, in UTF-16 code units. */
export const LARGE_TEXT_CHARS = 64 * 1024;

/** Tools return large texts near the top of a result, in objects with few members. The search stops beyond these limits. */
const MAX_DEPTH = 4;
const MAX_MEMBERS = 100;

/** Takes the large texts out of a copy of a JSON value. Returns `undefined` if it has none. */
export function liftTexts(value: unknown): LiftedTexts | undefined {
  const places: TextPlace[] = [];
  const texts: string[] = [];
  const lift = (each: unknown, at: TextPlace): unknown => {
    if (typeof each === "string") {
      if (each.length < LARGE_TEXT_CHARS || !isWellFormed(each)) return each;
      places.push(at);
      texts.push(each);
      return null;
    }
    if (typeof each !== "object" || each === null || at.length === MAX_DEPTH) return each;
    const names = Object.keys(each);
    if (names.length > MAX_MEMBERS) return each;
    const before = texts.length;
    const members = names.map((name, index) => {
      const key = Array.isArray(each) ? index : name;
      const member: unknown = Reflect.get(each, name);
      return [name, name === "__proto__" ? member : lift(member, [...at, key])] as const;
    });
    if (texts.length === before) return each;
    return Array.isArray(each) ? members.map(([, member]) => member) : Object.fromEntries(members);
  };
  const rest = lift(value, []);
  return texts.length === 0 ? undefined : { value: rest, places, texts };
}

/** Puts a text into its place in a value and returns the value, or the text itself when the place is empty. */
export function putText(value: unknown, place: TextPlace, text: string): unknown {
  const last = place.at(-1);
  if (last === undefined) return text;
  let holder = value;
  for (const name of place.slice(0, -1)) holder = Reflect.get(holder as object, name);
  Reflect.set(holder as object, last, text);
  return value;
}
