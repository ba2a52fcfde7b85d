import { createHash } from "node:crypto";
import * as z from "zod/mini";
import { isWellFormed } from "../base/json.ts";

/**
 * Files that a person hands to a program. They are copied into the sandbox with the program, where they are what any other file of
 * its workspace is: nothing that a program does to its copy reaches the file on the host, and no path of the host goes in.
 */

/** Most files of one program. */
export const MAX_PROGRAM_FILES = 32;

/** The most bytes of all files of one program. As base64 they fit into the program's frame, and as files into half of its workspace. */
export const MAX_PROGRAM_FILES_BYTES = 32 * 1024 * 1024;

const MAX_NAME_BYTES = 128;

/** Why a text cannot be the name of such a file; `undefined` for one that can. */
export function whyNoFileName(name: string): string | undefined {
  if (name === "" || name === "." || name === "..") return "is no name of a file";
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `is longer than ${MAX_NAME_BYTES} bytes`;
  if (/[/\\]/.test(name)) return "has a slash";
  if (!isWellFormed(name) || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name))
    return "has characters that cannot be seen";
  return undefined;
}

export const ProgramFileName = z.string().check(z.refine((name) => whyNoFileName(name) === undefined));

export interface ProgramFile {
  name: string;
  /** How many bytes it has. */
  bytes: number;
  /** SHA-256 of its bytes. */
  digest: string;
  base64: string;
}

/** A file with these bytes. */
export function programFile(name: string, content: Uint8Array): ProgramFile {
  const base64 = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64");
  return { name, bytes: content.byteLength, digest: bytesDigest(content), base64 };
}

export function bytesDigest(content: Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
