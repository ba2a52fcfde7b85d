import { once, setMaxListeners } from "node:events";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { inBoundary, messageOf } from "../base/faults.ts";
import { writeTogether } from "../base/streams.ts";
import { type EmittedBlock, MAX_EMITTED_BLOCKS, MAX_EMITTED_BYTES } from "../protocol/emitted.ts";
import {
  encodeFrame,
  encodeJson,
  encodeText,
  FrameDecoder,
  FrameError,
  LARGE_TEXT_CHARS,
  liftTexts,
  parsePayload,
  parsePayloadInTurns,
} from "../protocol/frames.ts";
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
  type TraceRequest,
} from "../protocol/messages.ts";
import type { CallAnswer } from "./dispatcher.ts";
import { takeText } from "./normalize-result.ts";

/** The maximum size of all frames with emitted blocks: the blocks, and some overhead for each. */
const MAX_EMIT_FRAMES_BYTES = MAX_EMITTED_BYTES + MAX_EMITTED_BLOCKS * 256;

/** A larger payload is parsed with turns of the event loop in between. */
const MAX_AT_ONCE_BYTES = 128 * 1024;

/** Limits on the calls of a run. */
export interface CallLimits {
  /** The maximum number of calls in progress at the same time. Further calls wait. */
  maxParallelCalls: number;
  /** The maximum total number of calls. */
  maxToolCalls: number;
}

/** How a connection ended. */
export type ConnectionEnd =
  /** The runner reported the end of the program and the number of bytes it has written. */
  | { kind: "done"; lineBytes: number; consoleBytes: number }
  /** The sandbox broke the wire protocol. */
  | { kind: "violation"; message: string }
  /** A fault of the host. */
  | { kind: "failed"; message: string }
  /** The stream closed before the runner reported the end of the program. */
  | { kind: "closed" };

/**
 * The host's end of the connection to one sandbox, over any duplex byte stream. The stream identifies the sandbox; the content of
 * frames does not. Reading pauses while too much is queued, so that a flood stays in the sandbox.
 */
export class SandboxConnection {
  /** Resolves with the runner's hello. Rejects if anything else comes first. */
  readonly ready: Promise<Hello>;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<ConnectionEnd>;
  /** The number of calls that were started, and the bytes of their results. */
  readonly metrics = { toolCalls: 0, toolResultBytes: 0 };
  /** What the program has emitted, in order. These are claims, which may contain anything within bounds. */
  readonly emitted: EmittedBlock[] = [];

  readonly #channel: Duplex;
  readonly #limits: CallLimits;
  readonly #dispatch: (call: Call, signal: AbortSignal, bytes: number) => Promise<CallAnswer>;
  readonly #decoder = new FrameDecoder(MAX_CALL_FRAME_BYTES);
  readonly #abort = new AbortController();
  readonly #queue: { call: Call; bytes: number }[] = [];
  #trace: Trace | undefined;
  #traces = 0;
  #emittedBytes = 0;
  #queuedBytes = 0;
  /** Payloads behind one that is being parsed, and what ends when all are. */
  readonly #unread: Buffer[] = [];
  #unreadBytes = 0;
  #reading: Promise<void> | undefined;
  #active = 0;
  #greeted = false;
  #finishing = false;
  #held = false;
  #traceCame = () => {};
  #over = false;
  #settleReady: { resolve(hello: Hello): void; reject(error: Error): void } = { resolve() {}, reject() {} };
  #settleEnd: (end: ConnectionEnd) => void = () => {};

  constructor(
    channel: Duplex,
    limits: CallLimits,
    dispatch: (call: Call, signal: AbortSignal, bytes: number) => Promise<CallAnswer>,
  ) {
    this.#channel = channel;
    this.#limits = limits;
    this.#dispatch = dispatch;
    // Each call in progress may add listeners, and a run may have more of them than Node.js expects.
    setMaxListeners(0, this.#abort.signal, channel);
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    this.ready.catch(() => {});
    this.ended = new Promise((resolve) => {
      this.#settleEnd = resolve;
    });
    channel.on(
      "data",
      inBoundary((chunk: Buffer) => this.#receive(chunk)),
    );
    for (const event of ["error", "close", "end"]) channel.on(event, () => this.#closed());
    if (channel.destroyed || channel.readableEnded) queueMicrotask(() => this.#closed());
  }

  /** The trace for a replay, as last sent by the runner. It is a claim, which is stored and sent back unchecked. */
  get trace(): Trace | undefined {
    return this.#trace;
  }

  /** Sends the one program. @throws FrameError if it is too large for the protocol. */
  sendProgram(program: ProgramMessage): void {
    this.#channel.write(encodeFrame(program, MAX_REPLY_FRAME_BYTES));
  }

  /** The number of started calls without an answer. */
  get active(): number {
    return this.#active;
  }

  /** Starts no further call until `letGo`. Calls that were started continue. */
  hold(): void {
    this.#held = true;
  }

  letGo(): void {
    this.#held = false;
    this.#pump();
  }

  /**
   * Asks the runner for a trace of everything delivered to the program so far, and waits for it. Resolves with `false` if none arrives
   * in time, for example because the program is computing.
   */
  async requestTrace(patienceMs: number): Promise<boolean> {
    const came = new Promise<true>((resolve) => {
      this.#traceCame = () => resolve(true);
    });
    await this.#write(encodeFrame({ type: "trace" } satisfies TraceRequest, MAX_REPLY_FRAME_BYTES));
    const late = delay(patienceMs, false, { ref: false, signal: this.#abort.signal }).catch(() => false);
    return Promise.race([came, late]);
  }

  /** The program has ended: drops waiting calls, but continues to read what the runner sends. */
  finish(): void {
    this.#finishing = true;
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.#channel.resume();
  }

  /** Cancels every call in flight. Leaves the stream open for its owner to close. */
  close(): void {
    this.finish();
    this.#abort.abort();
  }

  #end(end: ConnectionEnd): void {
    this.#settleReady.reject(new Error("message" in end ? end.message : "the sandbox closed its connection"));
    this.#settleEnd(end);
    this.close();
  }

  /** The stream has closed. What came before that is read first. */
  #closed(): void {
    if (this.#reading === undefined) this.#end({ kind: "closed" });
    else void this.#reading.then(() => this.#end({ kind: "closed" }));
  }

  #receive(chunk: Buffer): void {
    if (this.#over) return;
    try {
      for (const payload of this.#decoder.push(chunk)) {
        if (this.#reading === undefined && payload.length <= MAX_AT_ONCE_BYTES)
          this.#handle(parsePayload(payload, MAX_NESTING_DEPTH), payload);
        else {
          this.#unread.push(payload);
          this.#unreadBytes += payload.length;
          this.#reading ??= this.#read();
        }
      }
      if (this.#full()) this.#channel.pause();
    } catch (error) {
      this.#broken(error);
    }
  }

  /** Handles the payloads that wait, in their order. */
  async #read(): Promise<void> {
    try {
      for (let payload = this.#unread[0]; payload !== undefined; payload = this.#unread[0]) {
        const value = await parsePayloadInTurns(payload, MAX_NESTING_DEPTH);
        this.#unread.shift();
        this.#unreadBytes -= payload.length;
        this.#handle(value, payload);
      }
    } catch (error) {
      this.#unread.length = 0;
      this.#unreadBytes = 0;
      this.#broken(error);
    } finally {
      this.#reading = undefined;
      if (this.#channel.isPaused() && !this.#full()) this.#channel.resume();
    }
  }

  #broken(error: unknown): void {
    this.#over = true;
    this.#end(
      error instanceof FrameError
        ? { kind: "violation", message: `the sandbox broke the wire protocol: ${error.message}` }
        : { kind: "failed", message: `a message of the sandbox could not be handled: ${messageOf(error)}` },
    );
  }

  #handle(value: unknown, payload: Buffer): void {
    const parsed = SandboxMessage.safeParse(value);
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
        this.#traceCame();
        return;
      case "emit":
        if (!this.#greeted) throw new FrameError("a block was emitted before hello");
        this.#emittedBytes += payload.length;
        if (this.emitted.length >= MAX_EMITTED_BLOCKS || this.#emittedBytes > MAX_EMIT_FRAMES_BYTES)
          throw new FrameError("more was emitted than may be");
        this.emitted.push(message.block);
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
    const waiting = this.#queue.length + this.#unread.length;
    return waiting >= MAX_QUEUED_CALLS || this.#queuedBytes + this.#unreadBytes >= MAX_QUEUED_CALL_BYTES;
  }

  #pump(): void {
    while (!this.#held && this.#active < this.#limits.maxParallelCalls) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      this.#queuedBytes -= next.bytes;
      this.#active++;
      this.#answer(next.call, next.bytes)
        .catch((error: unknown) => this.#end({ kind: "failed", message: messageOf(error) }))
        .finally(() => {
          this.#active--;
          this.#pump();
        });
    }
    if (this.#channel.isPaused() && !this.#full()) this.#channel.resume();
  }

  async #answer(call: Call, bytes: number): Promise<void> {
    const outcome = await this.#run(call, bytes);
    this.metrics.toolResultBytes += outcome.bytes;
    const raw = call.raw === true && outcome.raw !== undefined ? { raw: outcome.raw } : {};
    const { data } = outcome;
    const reply: ReplyMessage = outcome.ok
      ? { type: "reply", id: call.id, ok: true, data, ...raw }
      : {
          type: "reply",
          id: call.id,
          ok: false,
          error: outcome.error,
          ...(data === undefined ? {} : { data }),
          ...raw,
        };
    await this.#write(...encodeReply(call, reply, outcome.bytes));
  }

  /**
   * Writes frames without anything between them. Resolves when the stream can take more, so that a sandbox that does not read its
   * replies gets no more.
   */
  async #write(...frames: Buffer[]): Promise<void> {
    if (!this.#channel.writable) return;
    writeTogether(this.#channel);
    let takesMore = true;
    for (const frame of frames) takesMore = this.#channel.write(frame);
    if (takesMore) return;
    await once(this.#channel, "drain", { signal: this.#abort.signal }).catch(() => {});
  }

  async #run(call: Call, bytes: number): Promise<CallAnswer> {
    const { maxToolCalls } = this.#limits;
    if (this.metrics.toolCalls >= maxToolCalls) {
      return failedCall(
        call,
        `'${call.tool}' was not called: a program may make ${maxToolCalls} calls (max_tool_calls)`,
      );
    }
    this.metrics.toolCalls++;
    try {
      return await this.#dispatch(call, this.#abort.signal, bytes);
    } catch (error) {
      return failedCall(
        call,
        `'${call.tool}' failed inside ptc, and may have been called: ${messageOf(error)}`,
      );
    }
  }
}

/**
 * The frames of a reply, which are sent directly one after the other. If the reply is too large, a failure that says so.
 *
 * @param bytes the size of the result.
 */
export function encodeReply(call: Call, reply: ReplyMessage, bytes: number): Buffer[] {
  try {
    const isLarge = bytes >= LARGE_TEXT_CHARS && reply.ok && reply.raw === undefined;
    return (isLarge ? encodeLarge(reply) : undefined) ?? [encodeFrame(reply, MAX_REPLY_FRAME_BYTES)];
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    const message = `the call was made: '${call.tool}' answered with too much: ${error.message}; ask it for less`;
    const refused = { type: "ToolError", server: "", tool: call.tool, message, retryable: false } as const;
    return [encodeFrame({ type: "reply", id: call.id, ok: false, error: refused }, MAX_REPLY_FRAME_BYTES)];
  }
}

/** Reuses the text of a large value, because writing it again would take longer than sending it to the sandbox. */
function encodeLarge(reply: ReplyMessage & { ok: true }): Buffer[] | undefined {
  const lifted = liftTexts(reply.data);
  if (lifted !== undefined) {
    const { value, places, texts } = lifted;
    const followed: ReplyMessage = { ...reply, data: value, texts: places };
    const frames = [encodeFrame(followed, MAX_REPLY_FRAME_BYTES), ...texts.map(encodeText)];
    const length = frames.reduce((sum, frame) => sum + frame.length, 0);
    if (length <= MAX_REPLY_FRAME_BYTES) return frames;
    throw new FrameError(`a message of ${length} bytes exceeds the limit of ${MAX_REPLY_FRAME_BYTES}`);
  }
  const text = takeText(reply.data);
  if (text === undefined) return undefined;
  return [encodeJson(`{"type":"reply","id":${reply.id},"ok":true,"data":${text}}`, MAX_REPLY_FRAME_BYTES)];
}

/** The answer to a call that ptc fails without the dispatcher. */
function failedCall(call: Call, message: string): CallAnswer {
  return {
    ok: false,
    error: { type: "ToolError", server: "", tool: call.tool, message, retryable: false },
    bytes: 0,
  };
}
