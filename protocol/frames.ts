/**
 * Framing on the socket between host and sandbox: 4 bytes of length, big-endian, then that many bytes of UTF-8 JSON.
 * Everything is bounded before it is buffered or parsed.
 */

const HEADER_BYTES = 4;

export class FrameError extends Error {
  override readonly name = "FrameError";
}

/**
 * Encodes one message.
 *
 * @throws FrameError when the message is larger than `maxBytes`.
 */
export function encodeFrame(message: unknown, maxBytes: number): Buffer {
  const json = JSON.stringify(message);
  const length = Buffer.byteLength(json);
  if (length > maxBytes)
    throw new FrameError(`a message of ${length} bytes exceeds the limit of ${maxBytes}`);
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
 * @throws FrameError when it nests deeper than `maxDepth` or is not JSON in UTF-8.
 */
export function parsePayload(payload: Buffer, maxDepth: number): unknown {
  if (nestingDepth(payload) > maxDepth)
    throw new FrameError(`a message nests deeper than ${maxDepth} levels`);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch (cause) {
    throw new FrameError("a message is not JSON in UTF-8", { cause });
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The deepest nesting of arrays and objects in JSON text, found without parsing it. */
export function nestingDepth(json: Uint8Array): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i];
    if (inString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) {
      inString = true;
    } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      depth++;
      if (depth > deepest) deepest = depth;
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
      depth--;
    }
  }
  return deepest;
}
