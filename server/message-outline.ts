const MAX_KEPT_BYTES = 64 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** What a message that is too large or too deep to be read says of itself: its top level, with `{}` for all below. */
export class MessageOutline {
  readonly #kept = Buffer.alloc(MAX_KEPT_BYTES);
  #length = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  push(chunk: Uint8Array): void {
    // A message can be large: the state is in variables while its bytes are looked at.
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

  /** The top level's members; none if it is no object, or too large itself. */
  members(): Record<string, unknown> {
    if (this.#length > MAX_KEPT_BYTES) return {};
    try {
      const value: unknown = JSON.parse(this.#kept.toString("utf8", 0, this.#length));
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
