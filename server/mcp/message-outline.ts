import { parseForeignJson } from "../../base/json/parse-json.ts";

const MAX_KEPT_BYTES = 64 * 1024;
/** Levels of a message that are kept. What is deeper becomes `{}`. */
const MAX_KEPT_DEPTH = 2;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Reads the top level of a message that is too large or too deep to be parsed. Everything below becomes `{}`. */
export class MessageOutline {
  readonly #kept = Buffer.alloc(MAX_KEPT_BYTES);
  #length = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  push(chunk: Uint8Array): void {
    // The state is held in local variables for speed, because a message can be large.
    let depth = this.#depth;
    let inString = this.#inString;
    let escaped = this.#escaped;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inString = false;
        if (depth <= 1) this.#keep(byte);
      } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
        depth++;
        if (depth === 1) this.#keep(byte);
        else if (depth === 2) {
          this.#keep(OPEN_BRACE);
          this.#keep(CLOSE_BRACE);
        }
      } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
        if (depth === 1) this.#keep(byte);
        depth--;
      } else {
        if (byte === QUOTE) inString = true;
        if (depth <= 1) this.#keep(byte);
      }
    }
    this.#depth = depth;
    this.#inString = inString;
    this.#escaped = escaped;
  }

  /** The members of the top level. Empty if it is no object, or is itself too large. */
  members(): Record<string, unknown> {
    if (this.#length > MAX_KEPT_BYTES) return {};
    try {
      const json = this.#kept.subarray(0, this.#length);
      const value = parseForeignJson(json, { maxBytes: MAX_KEPT_BYTES, maxDepth: MAX_KEPT_DEPTH });
      return typeof value === "object" && value !== null ? { ...value } : {};
    } catch {
      return {};
    }
  }

  #keep(byte: number): void {
    if (this.#length < MAX_KEPT_BYTES) this.#kept[this.#length] = byte;
    this.#length++;
  }
}
