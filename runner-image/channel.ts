import { connect, type Socket } from "node:net";
import { encodeFrame, FrameDecoder } from "../protocol/frames.ts";
import { MAX_CALL_FRAME_BYTES, MAX_REPLY_FRAME_BYTES } from "../protocol/limits.ts";
import type { HostMessage, ProgramMessage, ReplyMessage, SandboxMessage } from "../protocol/messages.ts";

/**
 * The runner's end of the socket. It keeps the process alive while the host owes an answer, and only then: a program
 * with nothing left to wait for ends, even one whose last promise can never settle.
 */
export class Channel {
  readonly #socket: Socket;
  readonly #decoder = new FrameDecoder(MAX_REPLY_FRAME_BYTES);
  readonly #waiting = new Map<number, (reply: ReplyMessage) => void>();
  #nextId = 0;

  private constructor(socket: Socket, onProgram: (program: ProgramMessage) => void) {
    this.#socket = socket;
    socket.on("data", (chunk) => {
      for (const payload of this.#decoder.push(chunk)) {
        const message = JSON.parse(payload.toString("utf8")) as HostMessage;
        if (message.type === "program") onProgram(message);
        else this.#settle(message);
      }
    });
    // Without a host there is nobody to answer to.
    socket.on("close", () => process.exit(1));
    socket.on("error", () => process.exit(1));
  }

  /** Connects to the broker's socket. `onProgram` is called once, when the host sends the program. */
  static async connect(path: string, onProgram: (program: ProgramMessage) => void): Promise<Channel> {
    const socket = connect(path);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    return new Channel(socket, onProgram);
  }

  send(message: SandboxMessage, sent?: () => void): void {
    this.#socket.write(encodeFrame(message, MAX_CALL_FRAME_BYTES), sent);
  }

  /**
   * Makes one call and resolves with the host's reply.
   *
   * @throws FrameError for arguments that are too large, TypeError for those that JSON cannot carry.
   */
  call(tool: string, args: unknown, raw: boolean): Promise<ReplyMessage> {
    const id = this.#nextId++;
    this.send({ type: "call", id, tool, arguments: args, ...(raw ? { raw } : {}) });
    this.#socket.ref();
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  /** From now on only calls in flight keep the process alive. */
  release(): void {
    if (this.#waiting.size === 0) this.#socket.unref();
  }

  /** Whether the host still owes an answer. */
  get busy(): boolean {
    return this.#waiting.size > 0;
  }

  #settle(reply: ReplyMessage): void {
    const resolve = this.#waiting.get(reply.id);
    if (resolve === undefined) return;
    this.#waiting.delete(reply.id);
    this.release();
    resolve(reply);
  }
}
