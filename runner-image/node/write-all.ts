import { writeSync } from "node:fs";

// Programs get another function for descriptor 1.
const write = writeSync;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** Writes all bytes to a file descriptor before it returns, waiting while a pipe is full. A closed pipe swallows the rest. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) {
    try {
      written += write(fd, bytes, written);
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error) || error.code !== "EAGAIN") return;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}
