/**
 * Texts in files that people write. Windows' editors and PowerShell put a byte order mark before the text, and some of them write
 * UTF-16. Both are read as the text that a person sees in the editor. JSON in messages between programs is not read here: there a mark is a
 * fault (RFC 8259, section 8.1).
 */

/** What stands before the text in a file that has a byte order mark. */
export const BYTE_ORDER_MARK = "\ufeff";

/** How a text is written in its file. */
export type FileEncoding = "utf-8" | "utf-16le" | "utf-16be";

/** The encoding that the byte order mark of a file names; without a mark UTF-8. */
export function encodingOf(bytes: Uint8Array): FileEncoding {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

/** The text of a file, with its byte order mark. @throws TypeError for bytes that are no text in the file's encoding. */
export function decodeWithMark(bytes: Uint8Array): string {
  return new TextDecoder(encodingOf(bytes), { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** The text of a file, without a byte order mark. @throws TypeError for bytes that are no text in the file's encoding. */
export function decodeFile(bytes: Uint8Array): string {
  return withoutMark(decodeWithMark(bytes));
}

/** The text without a byte order mark at its start. */
export function withoutMark(text: string): string {
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

/** The bytes of a text in an encoding. A byte order mark is written where the text has one. */
export function encodeFile(text: string, encoding: FileEncoding): Buffer {
  if (encoding === "utf-8") return Buffer.from(text, "utf8");
  const bytes = Buffer.from(text, "utf16le");
  return encoding === "utf-16be" ? bytes.swap16() : bytes;
}
