import { connect, Socket } from "node:net";
import { encodeFrame, FrameDecoder } from "../../protocol/frames.ts";
import { MAX_CALL_FRAME_BYTES, MAX_REPLY_FRAME_BYTES, MAX_VALUES } from "../../protocol/limits.ts";
import type { HostMessage, ProgramMessage, ReplyMessage, SandboxMessage } from "../../protocol/messages.ts";
import { type Answers, callEvent, type EventOrder } from "./environment/event-order.ts";

const { queueMicrotask, setImmediate } = globalThis;

/** With more calls than this under way, further ones wait their turn on the host, so that they are sent together. */
const FEW_CALLS = 8;

/**
 * The runner's end of the socket. It keeps the process alive while the host owes an answer, and only then: a program
 * with nothing left to wait for ends, even one whose last promise can never settle.
 */
export class Channel implements Answers {
  readonly #socket: Socket;
  readonly #order: EventOrder;
  readonly #decoder = new FrameDecoder(MAX_REPLY_FRAME_BYTES);
  readonly #waiting = new Map<number, (reply: ReplyMessage) => void>();
  readonly #unanswered = new Set<number>();
  #nextId = 0;
  #gathers = false;

  private constructor(socket: Socket, order: EventOrder, onProgram: (program: ProgramMessage) => void) {
    this.#socket = socket;
    this.#order = order;
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

  /**
   * Connects to the broker: by the path of its socket, or by the number of a socket that is connected already. `onProgram`
   * is called once, when the host sends the program. Answers to its calls are delivered in the given order.
   */
  static async connect(
    broker: string | number,
    order: EventOrder,
    onProgram: (program: ProgramMessage) => void,
  ): Promise<Channel> {
    if (typeof broker === "number") {
      return new Channel(new Socket({ fd: broker, readable: true, writable: true }), order, onProgram);
    }
    const socket = connect(broker);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    return new Channel(socket, order, onProgram);
  }

  send(message: SandboxMessage, sent?: () => void): void {
    this.#socket.write(encodeFrame(message, MAX_CALL_FRAME_BYTES, MAX_VALUES), sent);
  }

  /** Sends what `messages` sends in one piece. */
  together(messages: () => void): void {
    this.#socket.cork();
    messages();
    this.#socket.uncork();
  }

  /** Sends what still waits for others. */
  flush(): void {
    if (!this.#gathers) return;
    this.#gathers = false;
    this.#socket.uncork();
  }

  /** What is sent until the end of this microtask is sent together. */
  #gather(): void {
    if (this.#gathers) return;
    this.#gathers = true;
    this.#socket.cork();
    queueMicrotask(() => this.flush());
  }

  /**
   * Makes one call and resolves with the host's reply.
   *
   * @throws FrameError for arguments that are too large, TypeError for those that JSON cannot carry.
   */
  call(tool: string, args: unknown, raw: boolean): Promise<ReplyMessage> {
    const id = this.#nextId++;
    if (this.#unanswered.size >= FEW_CALLS) this.#gather();
    this.send({ type: "call", id, tool, arguments: args, ...(raw ? { raw } : {}) });
    this.#unanswered.add(id);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      if (this.#order.replaying) this.#order.look();
      else this.#socket.ref();
    });
  }

  /** From now on only calls in flight keep the process alive; in a replay, only the one whose answer is next. */
  release(): void {
    if (this.#waiting.size > 0 && !this.#order.replaying) this.#socket.ref();
    else this.#socket.unref();
  }

  expect(callId: number): boolean {
    if (!this.#unanswered.has(callId)) return false;
    this.#socket.ref();
    return true;
  }

  /** Takes the host's answer to a call, and lets the program have it in a turn of the event loop of its own. */
  #settle(reply: ReplyMessage): void {
    const { id } = reply;
    if (!this.#unanswered.delete(id)) return;
    const event = callEvent(id);
    const deliver = () => {
      const resolve = this.#waiting.get(id);
      this.#waiting.delete(id);
      this.release();
      resolve?.(reply);
    };
    const release = () => {
      setImmediate(() => this.#order.happen(event, deliver));
    };
    if (this.#order.replaying) {
      this.release();
      this.#order.hold(event, { deliver, release });
    } else {
      release();
    }
  }
}
