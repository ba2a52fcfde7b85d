import { writeSync } from "node:fs";
import { Socket } from "node:net";
import { writeAll } from "./write-all.ts";

/** Holds what is read at once. */
const READ_BYTES = 64 * 1024;

/** The bytes to and from the host. */
export interface Connection {
  /** Gets what comes, in pieces that are overwritten when it returns. */
  onBytes: (piece: Buffer) => void;
  write(bytes: Buffer): void;
  /** Writes at once, where nothing waits to be, and then calls `sent`. */
  writeLast(bytes: Buffer, sent: () => void): void;
  /** Keeps the process alive, or no longer. */
  ref(): void;
  unref(): void;
}

/**
 * A connected socket. Small messages are most of what a program waits for, so each takes one system call and no more of Node.js
 * than that: a stream is for what the host does not take at once.
 */
export class SocketConnection implements Connection {
  onBytes: (piece: Buffer) => void = () => {};
  readonly #fd: number;
  readonly #socket: Socket;

  constructor(fd: number) {
    const options = {
      fd,
      readable: true,
      writable: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback: (bytes: number, buffer: Buffer) => {
          this.onBytes(buffer.subarray(0, bytes));
          return true;
        },
      },
    };
    this.#fd = fd;
    this.#socket = new Socket(options);
    // Without a host there is nobody to answer to.
    this.#socket.on("close", () => process.exit(1));
    this.#socket.on("error", () => process.exit(1));
  }

  write(bytes: Buffer): void {
    const written = this.#socket.writableLength > 0 ? 0 : writeSome(this.#fd, bytes);
    if (written < bytes.length) this.#socket.write(bytes.subarray(written));
  }

  writeLast(bytes: Buffer, sent: () => void): void {
    if (this.#socket.writableLength > 0) {
      this.#socket.write(bytes, sent);
    } else {
      writeAll(this.#fd, bytes);
      sent();
    }
  }

  ref(): void {
    this.#socket.ref();
  }

  unref(): void {
    this.#socket.unref();
  }
}

/** Returns how many bytes the other end has taken. What goes wrong, goes wrong again for the stream, which says so. */
function writeSome(fd: number, bytes: Buffer): number {
  try {
    return writeSync(fd, bytes);
  } catch {
    return 0;
  }
}
