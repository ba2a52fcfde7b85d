import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { MAX_SECRET_BYTES, parseSecret, SecretSourceError } from "./secret-source.ts";

const OTHERS_MAY_READ = 0o044;

/** Reads a secret from a regular file, without the line feed at its end. @throws SecretSourceError */
export async function readSecretFile(path: string): Promise<string> {
  const bytes = await withFile(path, async (handle) => {
    const buffer = Buffer.alloc(MAX_SECRET_BYTES + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return buffer.subarray(0, length);
  });
  return parseSecret(bytes, `the file ${path} holds`);
}

/** Who else may read the file, in words that follow its path; `undefined` when nobody else may, or it cannot be read. */
export async function whyFileIsOpen(path: string): Promise<string | undefined> {
  try {
    const mode = await withFile(path, async (handle) => (await handle.stat()).mode & 0o777);
    if ((mode & OTHERS_MAY_READ) === 0) return undefined;
    return `may be read by others (mode ${mode.toString(8).padStart(4, "0")}); run \`chmod 600\` on it`;
  } catch {
    return undefined;
  }
}

async function withFile<T>(path: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  let handle: FileHandle | undefined;
  try {
    // Without O_NONBLOCK, a pipe that nobody writes to would keep the server waiting for ever.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await handle.stat()).isFile()) throw new SecretSourceError(`${path} is not a regular file`);
    return await use(handle);
  } catch (error) {
    if (error instanceof SecretSourceError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "ENOENT" || code === "ENOTDIR" ? "does not exist" : `cannot be read (${code})`;
    throw new SecretSourceError(`the file ${path} ${why}`);
  } finally {
    await handle?.close();
  }
}
