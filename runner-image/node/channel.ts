import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { writeSync } from "node:fs";
import { Socket } from "node:net";
import { readJson, withTextNumbers, writeJson } from "../../base/json.ts";
import { encodeFrame, encodeJson, FrameDecoder, putText, type TextPlace } from "../../protocol/frames.ts";
import { MAX_CALL_FRAME_BYTES, MAX_REPLY_FRAME_BYTES, MAX_VALUES } from "../../protocol/limits.ts";
import type {
  HostMessage,
  NextRequest,
  ProgramMessage,
  ReplyMessage,
  SandboxMessage,
} from "../../protocol/messages.ts";
import { MAX_ROUNDED_PLACES } from "../../protocol/rounded-places.ts";
import { type Answers, callEvent, type EventOrder } from "./environment/event-order.ts";
import type { ProgramScope } from "./environment/program-scope.ts";
import { LateCallError } from "./late-call-error.ts";
import { writeAll } from "./write-all.ts";

const { queueMicrotask, setImmediate } = globalThis;
// A program cannot replace functions that are captured here.
const hmac = createHmac;
const { parse } = JSON;
const write = writeSync;

/** With more pending calls than this, further calls wait on the host anyway, so they are sent together. */
const FEW_CALLS = 8;

/** The memory to keep for large results. In gVisor, fresh memory costs as much time as reading into it. */
const KEPT_BYTES = 16 * 1024 * 1024;

/**
 * The runner's end of the socket. It keeps the process alive only while an answer of the host is pending. A program with nothing
 * left to wait for ends, even if its last promise can never settle.
 */
export class Channel implements Answers {
  /** Called when the host asks for a trace. */
  onTraceRequest: () => void = () => {};
  readonly #connection: Connection;
  readonly #order: EventOrder;
  readonly #decoder = new FrameDecoder(MAX_REPLY_FRAME_BYTES, KEPT_BYTES);
  readonly #waiting = new Map<number, (reply: ReplyMessage) => void>();
  readonly #unanswered = new Set<number>();
  readonly #scope: ProgramScope;
  #nextId = 0;
  /** Messages to send together, or `undefined` while each is sent at once. */
  #gathered: Buffer[] | undefined;
  /** The number of answers that wait for a turn of the event loop. */
  #due = 0;
  /** A reply that still lacks texts, and their places. */
  #incomplete: { reply: ReplyMessage & { ok: true }; places: TextPlace[] } | undefined;
  /** The session's key, which no program ever sees. */
  #key: KeyObject | undefined;
  /** The bytes before each message of the current program of a session. */
  #mark: Uint8Array = new Uint8Array();
  /** Whether the program gets whole numbers beyond 2^53 as BigInts. */
  #isExact = false;
  /** Whether this turn of the event loop received an answer, and none was delivered in it. */
  #isFree = false;

  /**
   * @param order the order in which answers to calls are delivered.
   * @param scope knows whether the current program makes a call.
   * @param onProgram called when the host sends a program: once, except in a session.
   * @param onNext called when the host asks whether the runner is ready for another program.
   * @param onWake called when the host reports that the runner was restored from a snapshot.
   */
  constructor(
    connection: Connection,
    { order, scope }: { order: EventOrder; scope: ProgramScope },
    onProgram: (program: ProgramMessage) => void,
    onNext: (request: NextRequest) => void,
    onWake: () => void = () => {},
  ) {
    this.#connection = connection;
    this.#order = order;
    this.#scope = scope;
    connection.onBytes = (piece) => {
      this.#isFree = true;
      for (const payload of this.#decoder.push(piece)) {
        if (this.#incomplete !== undefined) {
          this.#complete(this.#incomplete, payload.toString("utf8"));
          continue;
        }
        const message = this.#parse(payload.toString("utf8"));
        if (message.type === "program") onProgram(message);
        else if (message.type === "next") onNext(message);
        else if (message.type === "wake") onWake();
        // Earlier answers are delivered first, each in a separate turn.
        else if (message.type === "trace") setImmediate(() => this.onTraceRequest());
        else if (message.ok && message.texts !== undefined)
          this.#incomplete = { reply: message, places: [...message.texts] };
        else this.#settle(message);
      }
      this.#decoder.keep();
      this.#isFree = false;
    };
  }

  /** Answers the host's challenge. From now on, each message begins with the answer. */
  answer({ key, nonce }: NextRequest): void {
    if (this.#key === undefined && key !== undefined) this.#key = createSecretKey(key, "hex");
    if (this.#key !== undefined) this.#mark = hmac("sha256", this.#key).update(nonce, "hex").digest();
  }

  send(message: SandboxMessage): void {
    this.#sendJson(writeJson(message));
  }

  #sendJson(json: string): void {
    const bytes = encodeJson(json, MAX_CALL_FRAME_BYTES, MAX_VALUES, this.#mark);
    if (this.#gathered === undefined) this.#connection.write(bytes);
    else this.#gathered.push(bytes);
  }

  /** Sends these messages in one piece, and calls `sent` when they are written, which is at once if nothing else waits. */
  sendLast(messages: readonly SandboxMessage[], sent: () => void): void {
    const bytes = Buffer.concat(messages.map((message) => this.#encode(message)));
    this.flush();
    this.#connection.writeLast(bytes, sent);
  }

  /** Sends the gathered messages. */
  flush(): void {
    const gathered = this.#gathered;
    this.#gathered = undefined;
    if (gathered !== undefined && gathered.length > 0) this.#connection.write(Buffer.concat(gathered));
  }

  /** Gathers messages until the end of this microtask, and sends them together. */
  #gather(): void {
    if (this.#gathered !== undefined) return;
    this.#gathered = [];
    queueMicrotask(() => this.flush());
  }

  /**
   * Makes one call and resolves with the host's reply.
   *
   * @throws FrameError for arguments that are too large, TypeError for arguments that JSON cannot represent, and LateCallError for
   *   a call of an earlier program of the session.
   */
  call(tool: string, args: unknown, raw: boolean): Promise<ReplyMessage> {
    if (this.#scope.isLate) throw new LateCallError();
    const id = this.#nextId++;
    if (this.#unanswered.size >= FEW_CALLS) this.#gather();
    const json: string | undefined = writeJson(args);
    const rounded = json !== undefined && LONG_DIGITS.test(json) ? roundedPlaces(args) : [];
    const about = writeJson({
      type: "call",
      id,
      tool,
      ...(raw && { raw }),
      ...(rounded.length > 0 && { rounded }),
    });
    this.#sendJson(json === undefined ? about : `${about.slice(0, -1)},"arguments":${json}}`);
    this.#unanswered.add(id);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      if (this.#order.replaying) this.#order.look();
      else this.#connection.ref();
    });
  }

  /** Ends a program: drops the answers to its calls, and waits for the host's next message. */
  endProgram(): void {
    this.#waiting.clear();
    this.#unanswered.clear();
    this.#nextId = 0;
    this.onTraceRequest = () => {};
    this.#connection.ref();
  }

  /** From now on only pending calls keep the process alive. In a replay, only the call whose answer is next does. */
  release(): void {
    if (this.#waiting.size > 0 && !this.#order.replaying) this.#connection.ref();
    else this.#connection.unref();
  }

  expect(callId: number): boolean {
    if (!this.#unanswered.has(callId)) return false;
    this.#connection.ref();
    return true;
  }

  /**
   * Parses a message. A program gets a whole number beyond 2^53 as text with all digits: a number would be rounded, and a BigInt would
   * break what programs do with values, such as JSON.stringify.
   */
  #parse(text: string): HostMessage {
    const mayBeBig = LONG_DIGITS.test(text);
    const message = (mayBeBig ? readJson(text) : parse(text)) as HostMessage;
    if (message.type === "program") this.#isExact = message.exact === true;
    return mayBeBig && !this.#isExact ? withTextNumbers(message) : message;
  }

  /** Puts the next text of a reply into its place. */
  #complete(
    { reply, places }: { reply: ReplyMessage & { ok: true }; places: TextPlace[] },
    text: string,
  ): void {
    reply.data = putText(reply.data, places.shift() ?? [], text);
    if (places.length > 0) return;
    this.#incomplete = undefined;
    this.#settle(reply);
  }

  #encode(message: SandboxMessage): Buffer {
    return encodeFrame(message, MAX_CALL_FRAME_BYTES, MAX_VALUES, this.#mark);
  }

  /** Takes the host's answer to a call, and delivers it to the program in a separate turn of the event loop. */
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
      this.#due++;
      setImmediate(() => {
        this.#due--;
        this.#order.happen(event, deliver);
      });
    };
    if (this.#order.replaying) {
      this.release();
      this.#order.hold(event, { deliver, release });
    } else if (this.#isFree && this.#due === 0) {
      // No other answer was delivered in this turn. Another turn would cost a system call.
      this.#isFree = false;
      this.#order.happen(event, deliver);
    } else {
      release();
    }
  }
}

/** Matches JSON that may contain a whole number beyond 2^53. */
export const LONG_DIGITS = /\d{16}/;

/** JSON pointers to the first numbers in a value that are whole and beyond 2^53, and so may be others than the program meant. */
export function roundedPlaces(root: unknown): string[] {
  const places: string[] = [];
  const visit = (value: unknown, place: string) => {
    if (places.length === MAX_ROUNDED_PLACES) return;
    if (typeof value === "number") {
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) places.push(place);
    } else if (typeof value === "object" && value !== null) {
      for (const [name, member] of Object.entries(value))
        visit(member, `${place}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    }
  };
  visit(root, "");
  return places;
}

/** The size of the buffer for reading. */
const READ_BYTES = 64 * 1024;

/** The bytes to and from the host. */
export interface Connection {
  /** Receives bytes in pieces, which are overwritten after it returns. */
  onBytes: (piece: Buffer) => void;
  write(bytes: Buffer): void;
  /** Writes at once if nothing else waits, and then calls `sent`. */
  writeLast(bytes: Buffer, sent: () => void): void;
  /** `ref` keeps the process alive, and `unref` no longer does. */
  ref(): void;
  unref(): void;
}

/**
 * A connected socket. A program mostly waits for small messages, so each takes one system call and no other work of Node.js. The
 * stream handles only bytes that the host does not accept at once.
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
    // Without the host, nobody needs an answer.
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

/** Returns how many bytes the other end accepted. Ignores errors, because the stream meets and reports them again. */
function writeSome(fd: number, bytes: Buffer): number {
  try {
    return write(fd, bytes);
  } catch {
    return 0;
  }
}
