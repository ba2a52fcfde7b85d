import { closeSync, openSync, readSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Settings } from "./settings/settings.ts";

/** A file of rules. */
export interface PolicyFile {
  /** As `ptc.yaml` names it, for messages. */
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  /** Why it could not be read, in one line for a person. Then nothing is decided by the configuration. */
  readonly problem?: string | undefined;
}

const MAX_POLICY_BYTES = 4 * 1024 * 1024;

/**
 * Reads the rules that a configuration names, and its groups.
 *
 * @param directory absolute; what the files are relative to.
 * @param place where the configuration names the files, for messages.
 */
export function readPolicy({ files, groups = {} }: Settings["policy"], directory: string, place: string) {
  return { files: files.map((file) => readPolicyFile(file, directory, place)), groups };
}

/**
 * Reads a file of rules. Never throws: `problem` says what is wrong with the file.
 *
 * @param directory absolute; what `file` is relative to.
 * @param place where the configuration names it.
 */
export function readPolicyFile(file: string, directory: string, place: string): PolicyFile {
  const path = resolve(directory, file);
  const refuse = (why: string): PolicyFile => ({
    file,
    path,
    text: "",
    problem: `${place}: policy: '${file}' ${why}`,
  });
  let bytes: Buffer;
  try {
    // Reading a pipe would block.
    if (!statSync(path).isFile()) return refuse("is no file; name the files with the rules");
    bytes = readAtMost(path, MAX_POLICY_BYTES + 1);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    return refuse(
      isMissing ? "does not exist; check its path" : `cannot be read (${code}); check its permissions`,
    );
  }
  if (bytes.length > MAX_POLICY_BYTES) return refuse(`is larger than ${MAX_POLICY_BYTES} bytes; split it`);
  try {
    return { file, path, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return refuse("is not text in UTF-8; save it as UTF-8");
  }
}

/** Reads at most `maxBytes` of a file whose size is not known in advance. */
function readAtMost(path: string, maxBytes: number): Buffer {
  const file = openSync(path, "r");
  try {
    const pieces: Buffer[] = [];
    let length = 0;
    while (length < maxBytes) {
      const piece = Buffer.alloc(Math.min(65_536, maxBytes - length));
      const bytesRead = readSync(file, piece, 0, piece.length, null);
      if (bytesRead === 0) break;
      pieces.push(piece.subarray(0, bytesRead));
      length += bytesRead;
    }
    return Buffer.concat(pieces);
  } finally {
    closeSync(file);
  }
}
