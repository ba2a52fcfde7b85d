import { countJsonValues, ForeignJsonError, isWellFormed, parseForeignJson } from "../base/json.ts";
import { MAX_VALUES } from "./limits.ts";

/**
 * Framing on the socket between host and sandbox: 4 bytes of length, big-endian, then that many bytes of UTF-8 JSON, or of a
 * large text that a message has announced.
 * Everything is bounded before it is buffered or parsed.
 */

const HEADER_BYTES = 4;
const NO_MARK = new Uint8Array();

export class FrameError extends Error {
  override readonly name = "FrameError";
}

/**
 * Encodes one message.
 *
 * @param maxValues how many values the reader takes, those in arrays and objects included.
 * @param mark what the payload begins with, before the message.
 * @throws FrameError when the message is larger.
 */
export function encodeFrame(
  message: unknown,
  maxBytes: number,
  maxValues = Number.POSITIVE_INFINITY,
  mark: Uint8Array = NO_MARK,
): Buffer {
  return encodeJson(JSON.stringify(message), maxBytes, maxValues, mark);
}

/** Encodes one message that is JSON already, as `encodeFrame` does. */
export function encodeJson(
  json: string,
  maxBytes: number,
  maxValues = Number.POSITIVE_INFINITY,
  mark: Uint8Array = NO_MARK,
): Buffer {
  const length = Buffer.byteLength(json);
  if (length > maxBytes)
    throw new FrameError(`a message of ${length} bytes exceeds the limit of ${maxBytes}`);
  // A value takes two characters, so that nearly every message is known to hold few.
  if (json.length > 2 * maxValues && countJsonValues(json) > maxValues)
    throw new FrameError(`a message holds more than ${maxValues} values`);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + mark.length + length);
  frame.writeUInt32BE(mark.length + length, 0);
  frame.set(mark, HEADER_BYTES);
  frame.write(json, HEADER_BYTES + mark.length, "utf8");
  return frame;
}

/** Frames one text as it is, and not as JSON. */
export function encodeText(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  frame.writeUInt32BE(length, 0);
  frame.write(text, HEADER_BYTES, "utf8");
  return frame;
}

/** Payloads of at least so many bytes get memory of their own when they begin, and not when they are complete. */
const LARGE_BYTES = 64 * 1024;

/** Reassembles frames from chunks of any size. Holds at most one frame of `maxBytes` and the chunk that ended it. */
export class FrameDecoder {
  readonly #maxBytes: number;
  readonly #keptBytes: number;
  #chunks: Buffer[] = [];
  #buffered = 0;
  #awaited: number | undefined;
  /** A large payload that is not complete, and how much of it is there. */
  #large: Buffer | undefined;
  #filled = 0;
  /** Memory for large payloads, and whether none that the present chunk completes is in it. */
  #kept: Buffer | undefined;
  #isKeptFree = true;

  /**
   * @param keptBytes up to how many bytes of memory are kept for large payloads, which later chunks overwrite. By default each
   * payload has separate memory.
   */
  constructor(maxBytes: number, keptBytes = 0) {
    this.#maxBytes = maxBytes;
    this.#keptBytes = keptBytes;
  }

  /**
   * Takes the next chunk and returns the payloads that it completed.
   *
   * @throws FrameError when a header announces an empty frame or one larger than the limit. The stream is then lost.
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

  /** Copies what is left of the last chunk, whose bytes are about to be overwritten. */
  keep(): void {
    const last = this.#chunks.pop();
    if (last !== undefined) this.#chunks.push(Buffer.from(last));
  }

  /** Begins a large payload with the bytes of it that are there. */
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

  /** Returns what of a chunk comes after the payload. */
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
 * @throws FrameError for what `parseForeignJson` refuses, which is the `cause`.
 */
export function parsePayload(payload: Uint8Array, maxDepth: number, maxValues = MAX_VALUES): unknown {
  try {
    return parseForeignJson(payload, { maxBytes: payload.length, maxDepth, maxValues });
  } catch (cause) {
    if (!(cause instanceof ForeignJsonError)) throw cause;
    throw new FrameError(`a message ${cause.message}`, { cause });
  }
}

/**
 * A large text is most of the result that it stands in. To write it as JSON and to parse it again takes longer than its way into
 * the sandbox, so it goes as a separate frame after the message, which has `null` in its place.
 */

/** Where in a value a text stands: the names and indices that lead to it, none where the value is the text. */
export type TextPlace = readonly (string | number)[];

/** A value without its large texts. */
export interface LiftedTexts {
  value: unknown;
  places: TextPlace[];
  /** The texts, in the order of their places. */
  texts: string[];
}

/** Results below this have no large text. */
export const LARGE_TEXT_CHARS = 64 * 1024;

/** Texts are looked for where tools have them: in a few members, not deep down. */
const MAX_DEPTH = 4;
const MAX_MEMBERS = 100;

/** Takes the large texts out of a copy of a JSON value. `undefined` where none is found. */
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

/** Puts a text into its place in a value, and returns that value: the text itself where nothing is around it. */
export function putText(value: unknown, place: TextPlace, text: string): unknown {
  const last = place.at(-1);
  if (last === undefined) return text;
  let holder = value;
  for (const name of place.slice(0, -1)) holder = Reflect.get(holder as object, name);
  Reflect.set(holder as object, last, text);
  return value;
}
