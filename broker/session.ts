import { once } from "node:events";
import type { Duplex } from "node:stream";
import { encodeFrame, FrameDecoder, FrameError, parsePayload } from "../protocol/frames.ts";
import {
  MAX_CALL_FRAME_BYTES,
  MAX_NESTING_DEPTH,
  MAX_QUEUED_CALL_BYTES,
  MAX_QUEUED_CALLS,
  MAX_REPLY_FRAME_BYTES,
  MAX_TRACES,
  PROTOCOL_VERSION,
} from "../protocol/limits.ts";
import {
  type Call,
  type Hello,
  type ProgramMessage,
  type ReplyMessage,
  SandboxMessage,
  type Trace,
} from "../protocol/messages.ts";
import type { CallAnswer } from "./dispatcher.ts";

export interface SessionLimits {
  /** Calls of this run that may be under way at once; more wait their turn. */
  maxParallelCalls: number;
  /** Calls that this run may make in all. */
  maxToolCalls: number;
}

/** How a session ended: the runner said done, it broke the protocol, or the stream closed under it. */
export type SessionEnd =
  | { kind: "done"; lineBytes: number; consoleBytes: number }
  | { kind: "violation"; message: string }
  | { kind: "closed" };

/**
 * The host's half of the conversation with one sandbox, over any duplex byte stream. Who calls is known from the
 * stream, never from a frame. Reading pauses while too much is queued, so a flood stays in the sandbox.
 */
export class BrokerSession {
  /** Settles when the runner has said hello. Rejects with what came instead. */
  readonly ready: Promise<Hello>;
  readonly ended: Promise<SessionEnd>;
  readonly metrics = { toolCalls: 0, toolResultBytes: 0 };

  readonly #channel: Duplex;
  readonly #limits: SessionLimits;
  readonly #dispatch: (call: Call, signal: AbortSignal) => Promise<CallAnswer>;
  readonly #decoder = new FrameDecoder(MAX_CALL_FRAME_BYTES);
  readonly #abort = new AbortController();
  readonly #queue: { call: Call; bytes: number }[] = [];
  #trace: Trace | undefined;
  #traces = 0;
  #queuedBytes = 0;
  #active = 0;
  #greeted = false;
  #finishing = false;
  #over = false;
  #settleReady: { resolve(hello: Hello): void; reject(error: Error): void } = { resolve() {}, reject() {} };
  #settleEnd: (end: SessionEnd) => void = () => {};

  constructor(
    channel: Duplex,
    limits: SessionLimits,
    dispatch: (call: Call, signal: AbortSignal) => Promise<CallAnswer>,
  ) {
    this.#channel = channel;
    this.#limits = limits;
    this.#dispatch = dispatch;
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    this.ready.catch(() => {});
    this.ended = new Promise((resolve) => {
      this.#settleEnd = resolve;
    });
    channel.on("data", (chunk: Buffer) => this.#receive(chunk));
    channel.on("error", () => this.#end({ kind: "closed" }));
    channel.on("close", () => this.#end({ kind: "closed" }));
    channel.on("end", () => this.#end({ kind: "closed" }));
    if (channel.destroyed || channel.readableEnded) queueMicrotask(() => this.#end({ kind: "closed" }));
  }

  /** What the runner last said it takes to replay the program: a claim, to be stored and sent back as it is. */
  get trace(): Trace | undefined {
    return this.#trace;
  }

  /** Sends the one program. @throws FrameError when it is too large for the wire. */
  sendProgram(program: ProgramMessage): void {
    this.#channel.write(encodeFrame(program, MAX_REPLY_FRAME_BYTES));
  }

  /** The program has reported: calls that still wait are dropped, and the runner's last words are read. */
  finish(): void {
    this.#finishing = true;
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.#channel.resume();
  }

  /** Cancels every call in flight. The stream stays open; closing it is for whoever opened it. */
  close(): void {
    this.finish();
    this.#abort.abort();
  }

  #end(end: SessionEnd): void {
    this.#settleReady.reject(
      new Error(end.kind === "violation" ? end.message : "the sandbox closed its connection"),
    );
    this.#settleEnd(end);
    this.close();
  }

  #receive(chunk: Buffer): void {
    if (this.#over) return;
    try {
      for (const payload of this.#decoder.push(chunk)) this.#handle(payload);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#over = true;
      this.#end({ kind: "violation", message: `the sandbox broke the wire protocol: ${error.message}` });
    }
  }

  #handle(payload: Buffer): void {
    const parsed = SandboxMessage.safeParse(parsePayload(payload, MAX_NESTING_DEPTH));
    if (!parsed.success) throw new FrameError("a message does not have the form of any that is known");
    const message = parsed.data;
    switch (message.type) {
      case "hello":
        if (this.#greeted) throw new FrameError("hello was said twice");
        if (message.protocol !== PROTOCOL_VERSION) {
          const advice = "run `ptc image build`";
          throw new FrameError(
            `the image speaks version ${message.protocol}, not ${PROTOCOL_VERSION}; ${advice}`,
          );
        }
        this.#greeted = true;
        this.#settleReady.resolve(message);
        return;
      case "call":
        if (!this.#greeted) throw new FrameError("a call came before hello");
        this.#enqueue(message, payload.length);
        return;
      case "trace":
        if (!this.#greeted) throw new FrameError("a trace came before hello");
        if (++this.#traces > MAX_TRACES) throw new FrameError(`more than ${MAX_TRACES} traces came`);
        this.#trace = message.trace;
        return;
      case "done":
        this.#settleEnd({ kind: "done", lineBytes: message.bytes, consoleBytes: message.console_bytes });
        this.close();
        return;
    }
  }

  #enqueue(call: Call, bytes: number): void {
    if (this.#finishing) return;
    this.#queue.push({ call, bytes });
    this.#queuedBytes += bytes;
    this.#pump();
    if (this.#full()) this.#channel.pause();
  }

  #full(): boolean {
    return this.#queue.length >= MAX_QUEUED_CALLS || this.#queuedBytes >= MAX_QUEUED_CALL_BYTES;
  }

  #pump(): void {
    while (this.#active < this.#limits.maxParallelCalls) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      this.#queuedBytes -= next.bytes;
      this.#active++;
      void this.#answer(next.call).finally(() => {
        this.#active--;
        this.#pump();
      });
    }
    if (this.#channel.isPaused() && !this.#full()) this.#channel.resume();
  }

  async #answer(call: Call): Promise<void> {
    const outcome = await this.#run(call);
    this.metrics.toolResultBytes += outcome.bytes;
    const raw = call.raw === true && outcome.raw !== undefined ? { raw: outcome.raw } : {};
    const reply: ReplyMessage = outcome.ok
      ? { type: "reply", id: call.id, ok: true, data: outcome.data, ...raw }
      : { type: "reply", id: call.id, ok: false, error: outcome.error, ...raw };
    await this.#write(encodeReply(call, reply));
  }

  /** Resolves when there is room for more: a sandbox that does not read its replies makes no further calls. */
  async #write(frame: Buffer): Promise<void> {
    if (!this.#channel.writable || this.#channel.write(frame)) return;
    await once(this.#channel, "drain", { signal: this.#abort.signal }).catch(() => {});
  }

  async #run(call: Call): Promise<CallAnswer> {
    const { maxToolCalls } = this.#limits;
    if (this.metrics.toolCalls >= maxToolCalls) {
      return failed(
        call,
        `'${call.tool}' was not called: a program may make ${maxToolCalls} calls (max_tool_calls)`,
      );
    }
    this.metrics.toolCalls++;
    try {
      return await this.#dispatch(call, this.#abort.signal);
    } catch (error) {
      return failed(
        call,
        `'${call.tool}' failed inside ptc: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
}

function encodeReply(call: Call, reply: ReplyMessage): Buffer {
  try {
    return encodeFrame(reply, MAX_REPLY_FRAME_BYTES);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    const message = `'${call.tool}' answered with too much: ${error.message}; ask it for less`;
    const refused = { type: "ToolError", server: "", tool: call.tool, message, retryable: false } as const;
    return encodeFrame({ type: "reply", id: call.id, ok: false, error: refused }, MAX_REPLY_FRAME_BYTES);
  }
}

function failed(call: Call, message: string): CallAnswer {
  return {
    ok: false,
    error: { type: "ToolError", server: "", tool: call.tool, message, retryable: false },
    bytes: 0,
  };
}
