import { type FileHandle, open } from "node:fs/promises";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { decodeWithMark, encodingOf, withoutMark } from "../base/file-text.ts";
import { visibleLine } from "../base/visible-text.ts";
import { Refusal } from "./refusal.ts";

/** Reads at most `maxBytes` from the beginning of a file. Rejects with an error that has a `code`. */
export type ReadFile = (path: string, maxBytes: number) => Promise<Buffer>;

const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/**
 * Reads a file that the user named, which may be a pipe or a device. A byte order mark is not part of the text.
 *
 * @param read reads it where the user is; defaults to this process.
 * @throws Refusal in one line that names the file and, if it is not UTF-8, the line and the position of the first wrong byte.
 */
export async function readTextFile(
  file: string,
  cwd: string,
  maxBytes: number,
  read: ReadFile = readHere,
): Promise<string> {
  return withoutMark(await readMarkedFile(file, cwd, maxBytes, read));
}

/** Reads a file as `readTextFile` does, but with its byte order mark, for a file that is written again. @throws Refusal */
export async function readMarkedFile(
  file: string,
  cwd: string,
  maxBytes: number,
  read: ReadFile = readHere,
): Promise<string> {
  return decode(await readBytes(file, cwd, maxBytes, read), visibleLine(file), maxBytes);
}

/**
 * Reads a file that the user named. Of a larger file, reads one byte more than `maxBytes`.
 *
 * @param read reads it where the user is; defaults to this process.
 * @throws Refusal in one line that names the file.
 */
export async function readBytes(
  file: string,
  cwd: string,
  maxBytes: number,
  read: ReadFile = readHere,
): Promise<Buffer> {
  try {
    return await read(resolve(cwd, file), maxBytes + 1);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") throw new Refusal(`${visibleLine(file)}: there is no such file`);
    if (code === "EISDIR") throw new Refusal(`${visibleLine(file)}: is a folder`);
    throw new Refusal(`${visibleLine(file)}: cannot be read (${String(code)})`);
  }
}

/** Reads a stream to its end. @param name is used in errors. @throws Refusal as `readTextFile` does. */
export async function readTextStream(stream: Readable, name: string, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    length += bytes.length;
    if (length > maxBytes) break;
  }
  return withoutMark(decode(Buffer.concat(chunks), name, maxBytes));
}

async function readHere(path: string, maxBytes: number): Promise<Buffer> {
  const handle = await open(path);
  try {
    return await readAtMost(handle, maxBytes);
  } finally {
    await handle.close();
  }
}

async function readAtMost(handle: FileHandle, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  while (length < maxBytes) {
    const room = Math.min(CHUNK_BYTES, maxBytes - length);
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(room), 0, room);
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
  }
  return Buffer.concat(chunks);
}

function decode(bytes: Buffer, name: string, maxBytes: number): string {
  if (bytes.length > maxBytes) throw new Refusal(`${name}: is larger than ${maxBytes} bytes`);
  try {
    return decodeWithMark(bytes);
  } catch {
    const encoding = encodingOf(bytes);
    if (encoding !== "utf-8")
      throw new Refusal(
        `${name}: begins as ${encoding.slice(0, 6).toUpperCase()}, and is none; save it as UTF-8`,
      );
    const at = firstWrongByte(bytes);
    const line = bytes.subarray(0, at).reduce((lines, byte) => lines + (byte === LINE_FEED ? 1 : 0), 1);
    throw new Refusal(
      `${name}:${line}: is not UTF-8: byte ${at} of the file, 0x${hex(bytes[at])}, begins no character; save it as UTF-8`,
    );
  }
}

function hex(byte: number | undefined): string {
  return (byte ?? 0).toString(16).padStart(2, "0");
}

/** Index of the first byte that is not UTF-8, from 0. */
function firstWrongByte(bytes: Buffer): number {
  let right = 0;
  let wrong = bytes.length + 1;
  while (wrong - right > 1) {
    const middle = Math.floor((right + wrong) / 2);
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      right = middle;
    } catch {
      wrong = middle;
    }
  }
  // The decoder notices a broken character only after its first bytes, so step back to where that character begins.
  let start = right;
  while (start > 0 && right - start < 3 && ((bytes[start - 1] as number) & 0xc0) === 0x80) start--;
  return start > 0 && (bytes[start - 1] as number) >= 0xc0 && !isWhole(bytes.subarray(start - 1, right))
    ? start - 1
    : right;
}

function isWhole(bytes: Buffer): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
