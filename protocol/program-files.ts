import { createHash } from "node:crypto";
import * as z from "zod/mini";
import { isWellFormed } from "../base/json.ts";

/**
 * Files that a person passes to a program. The sandbox gets copies of them in the program's workspace. Changes to a copy never reach
 * the file on the host, and the sandbox never learns a path of the host.
 */

/** Maximum number of files of one program. */
export const MAX_PROGRAM_FILES = 32;

/** Maximum size of all files of one program, in bytes. They fit the program's frame as base64, and half its workspace as files. */
export const MAX_PROGRAM_FILES_BYTES = 32 * 1024 * 1024;

const MAX_NAME_BYTES = 128;

/** Says why a text is not a valid name for such a file. Returns `undefined` for a valid name. */
export function whyNoFileName(name: string): string | undefined {
  if (name === "" || name === "." || name === "..") return "is not a file name";
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `is longer than ${MAX_NAME_BYTES} bytes`;
  if (/[/\\]/.test(name)) return "has a slash";
  if (!isWellFormed(name) || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)) return "has invisible characters";
  return undefined;
}

export const ProgramFileName = z.string().check(z.refine((name) => whyNoFileName(name) === undefined));

export interface ProgramFile {
  name: string;
  bytes: number;
  /** SHA-256 of its bytes. */
  digest: string;
  base64: string;
}

/** Builds a file from its bytes. */
export function programFile(name: string, content: Uint8Array): ProgramFile {
  const base64 = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64");
  return { name, bytes: content.byteLength, digest: bytesDigest(content), base64 };
}

export function bytesDigest(content: Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
