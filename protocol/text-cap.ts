export const TRUNCATION_MARK = "... (truncated)";

/**
 * The truncation mark that ends a text, with the line feed before it if there is one; "" for a text that no mark ends.
 *
 * @param after what follows the mark.
 */
export function markAtEnd(text: string, after: "" | "\n" = ""): string {
  const mark = `${TRUNCATION_MARK}${after}`;
  if (!text.endsWith(mark)) return "";
  return text.endsWith(`\n${mark}`) ? `\n${mark}` : mark;
}

/** Passes text up to a number of UTF-8 bytes, then one truncation mark, then nothing. */
export class TextCap {
  readonly #maxBytes: number;
  #used = 0;
  #truncated = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** Returns the part of `text` that still fits. The piece that exceeds the cap ends with the mark. */
  take(text: string): string {
    if (this.#truncated || text === "") return "";
    const bytes = Buffer.byteLength(text);
    if (this.#used + bytes <= this.#maxBytes) {
      this.#used += bytes;
      return text;
    }
    this.#truncated = true;
    const head = cutToBytes(text, this.#maxBytes - this.#used);
    return `${head}${head === "" || head.endsWith("\n") ? "" : "\n"}${TRUNCATION_MARK}\n`;
  }
}

/** Returns the longest beginning of `text` that takes at most `maxBytes` in UTF-8 and splits no character. */
export function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(0, maxBytes));
  if (bytes.length <= maxBytes) return bytes.toString("utf8");
  let end = maxBytes;
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString("utf8");
}

/** Returns `text` if its JSON takes at most `maxJsonBytes`, otherwise as much of its beginning as fits together with the mark. */
export function cutToJsonBytes(text: string, maxJsonBytes: number): string {
  if (jsonBytes(text) <= maxJsonBytes) return text;
  const marked = (bytes: number) => `${cutToBytes(text, bytes)}\n${TRUNCATION_MARK}`;
  let fits = 0;
  let tooMany = maxJsonBytes;
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (jsonBytes(marked(middle)) <= maxJsonBytes) fits = middle;
    else tooMany = middle;
  }
  return marked(fits);
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
