import { writeSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";

/** The code of the first failed write to a stream. */
const failures = new WeakMap<Writable, string>();

/** What a write fails with once its reader has disconnected, as `head` does. */
const DISCONNECTED: ReadonlySet<string> = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED"]);

const MEANINGS: Readonly<Record<string, string>> = {
  ENOSPC: "no space is left there",
  EDQUOT: "the quota is used up",
  EFBIG: "the file would be too large",
  EROFS: "it is on a file system that is read-only",
  EIO: "the device failed",
};

/** Writes all bytes to a file, a terminal or a pipe. Never rejects: `outputProblem` says whether a write has failed. */
export function writeWhole(stream: Writable, bytes: string | Uint8Array): Promise<void> {
  const fd = fileOf(stream);
  if (fd !== undefined) {
    try {
      writeToFile(fd, typeof bytes === "string" ? Buffer.from(bytes) : bytes);
    } catch (error) {
      noteFailure(stream, error);
    }
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const failed = (error: Error) => {
      noteFailure(stream, error);
      resolve();
    };
    stream.once("error", failed);
    stream.write(bytes, (error) => {
      // The error of a failed write is emitted after this, and would end ptc if nobody listened.
      if (error) noteFailure(stream, error);
      else stream.off("error", failed);
      resolve();
    });
  });
}

/** Why output is lost, as a predicate; `undefined` if nothing is, or its reader wanted no more. */
export function outputProblem(stream: Writable): string | undefined {
  const code = failures.get(stream);
  if (code === undefined || DISCONNECTED.has(code)) return undefined;
  return describeFailure(code);
}

/** Why a file cannot be written that has no more room, as a predicate; `undefined` for any other error. */
export function writeProblem(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return Object.hasOwn(MEANINGS, code) ? describeFailure(code) : undefined;
}

function describeFailure(code: string): string {
  const meaning = MEANINGS[code];
  return `could not be written: ${meaning === undefined ? code : `${meaning} (${code})`}`;
}

function noteFailure(stream: Writable, error: unknown): void {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!failures.has(stream)) failures.set(stream, code ?? message);
}

/**
 * The descriptor of a stream that writes to a file or a device. Node.js writes to those once and drops what did not fit, so that output
 * is cut without an error on a disk that becomes full.
 */
function fileOf(stream: Writable): number | undefined {
  const { fd } = stream as { fd?: unknown };
  return typeof fd === "number" && !(stream instanceof Socket) ? fd : undefined;
}

function writeToFile(fd: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
}
