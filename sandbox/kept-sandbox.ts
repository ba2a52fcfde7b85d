import { Duplex } from "node:stream";
import { outsideBoundaries } from "../base/fault-boundary.ts";
import { inTime } from "../base/in-time.ts";
import { orAborted, whenAborted } from "../base/or-aborted.ts";
import { MAX_CALL_FRAME_BYTES } from "../protocol/limits.ts";
import { encodeFrame, FrameDecoder, FrameError, parsePayload } from "../protocol/wire/frames.ts";
import type { NextRequest } from "../protocol/wire/messages.ts";
import { orCancelled } from "./or-cancelled.ts";
import type { Sandbox, SandboxExit, SandboxOutput, SandboxSource } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";

const HEADER_BYTES = 4;
/** A hello is short. Nothing longer is looked at before it has come. */
const MAX_HELLO_BYTES = 8_192;
const MAX_DEPTH = 4;
const ANSWER_PATIENCE_MS = 10_000;

/**
 * One sandbox for the programs of a session, one after the other. Each gets it as a sandbox of its own, whose channel and
 * output begin with that program's hello and end with the program: what a program has left running reaches no other's
 * channel. Between programs the processes that it has started are ended, the runner is held, and what still comes is dropped.
 */
export class KeptSandbox implements SandboxSource {
  readonly #source: SandboxSource;
  readonly #decoder = new FrameDecoder(MAX_CALL_FRAME_BYTES);
  #sandbox: Sandbox | undefined;
  #turn: Turn | undefined;
  /** Resolves when nothing of earlier programs runs any more. */
  #cleared: Promise<void> | undefined;
  readonly #losing = new AbortController();
  /** Resolves when the sandbox has ended, or is to be given to no program any more. */
  readonly lost = whenAborted(this.#losing.signal);

  /** @param source has the sandbox, when the first program needs it. */
  constructor(source: SandboxSource) {
    this.#source = source;
  }

  get ready(): boolean {
    return this.#sandbox !== undefined || this.#source.ready === true;
  }

  get isLost(): boolean {
    return this.#losing.signal.aborted;
  }

  /** Whether there is a sandbox. */
  get isStarted(): boolean {
    return this.#sandbox !== undefined;
  }

  /** @throws SandboxError as the source does, and when the sandbox has ended or does not answer. */
  async acquire(output: SandboxOutput, signal?: AbortSignal): Promise<Sandbox> {
    const sandbox = this.#sandbox;
    if (sandbox !== undefined) return this.#acquireAgain(sandbox, output, signal);
    const first: { output?: SandboxOutput } = { output };
    const taken = (stream: keyof SandboxOutput) => (chunk: Buffer) => {
      const current = this.#turn === undefined ? first.output : this.#turn.output;
      current?.[stream](chunk);
    };
    const started = await outsideBoundaries(() =>
      this.#source.acquire({ onStdout: taken("onStdout"), onStderr: taken("onStderr") }, signal),
    );
    this.#sandbox = started;
    const turn = this.#begin(started, output);
    delete first.output;
    turn.isGreeted = true;
    outsideBoundaries(() => this.#listen(started));
    return turn.sandbox;
  }

  /** No program gets the sandbox any more. One that has it keeps it to its end. */
  forsake(): void {
    this.#lose();
    if (this.#turn === undefined) void this.#sandbox?.dispose();
  }

  /** Ends the sandbox, also under a program. Resolves when it is removed. Never rejects. */
  async close(): Promise<void> {
    this.#lose();
    await this.#sandbox?.dispose();
  }

  async #acquireAgain(
    sandbox: Sandbox,
    output: SandboxOutput,
    signal: AbortSignal | undefined,
  ): Promise<Sandbox> {
    if (this.isLost) throw hasEnded();
    const turn = this.#begin(sandbox, undefined);
    const askForNext = async () => {
      // Without this the guard might end processes of the next program's.
      await this.#cleared;
      if (this.isLost) throw hasEnded();
      sandbox.resume?.();
      sandbox.channel.write(encodeFrame({ type: "next" } satisfies NextRequest, MAX_HELLO_BYTES));
      return turn.greeted;
    };
    const silent = () => new SandboxError("start_failed", "the session's sandbox does not answer any more");
    try {
      const asked = orAborted(askForNext(), this.#losing.signal, hasEnded);
      await orCancelled(inTime(asked, ANSWER_PATIENCE_MS, silent), signal);
      turn.output = output;
      return turn.sandbox;
    } catch (error) {
      this.#lose();
      await turn.sandbox.dispose();
      throw error;
    }
  }

  #begin(sandbox: Sandbox, output: SandboxOutput | undefined): Turn {
    const turn = new Turn(sandbox, output, {
      lose: () => this.#lose(),
      end: () => this.#end(sandbox, turn),
    });
    this.#turn = turn;
    return turn;
  }

  async #end(sandbox: Sandbox, turn: Turn): Promise<void> {
    if (this.#turn === turn) this.#turn = undefined;
    if (this.isLost) await sandbox.dispose();
    else {
      sandbox.channel.resume();
      sandbox.pause?.();
      this.#cleared = sandbox.clear?.();
    }
  }

  #lose(): void {
    this.#losing.abort();
  }

  #listen(sandbox: Sandbox): void {
    const { channel } = sandbox;
    channel.on("data", (chunk: Buffer) => this.#pass(chunk));
    const end = () => {
      this.#lose();
      this.#turn?.channel.push(null);
      if (this.#turn === undefined) void sandbox.dispose();
    };
    for (const event of ["end", "close", "error"]) channel.on(event, end);
    const exit = () => {
      end();
      this.#turn?.exit();
    };
    sandbox.exited.then(exit, exit);
  }

  #pass(chunk: Buffer): void {
    const turn = this.#turn;
    try {
      for (const payload of this.#decoder.push(chunk)) {
        if (turn === undefined || (!turn.isGreeted && !isHello(payload))) continue;
        turn.pass(payload);
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#lose();
      // The run finds the same fault in it.
      if (turn?.isGreeted === true) turn.channel.push(chunk);
    }
  }
}

/** The time of one program in the sandbox. */
class Turn {
  readonly channel: Duplex;
  readonly sandbox: Sandbox;
  readonly greeted: Promise<void>;
  /** Receives what the container writes; nobody does before the program's hello. */
  output: SandboxOutput | undefined;
  isGreeted = false;
  /** The sandbox has ended under the program. */
  readonly exit: () => void;
  readonly #real: Duplex;
  #settleGreeted: () => void = () => {};

  constructor(
    sandbox: Sandbox,
    output: SandboxOutput | undefined,
    { lose, end }: { lose: () => void; end: () => Promise<void> },
  ) {
    const real = sandbox.channel;
    this.#real = real;
    this.output = output;
    this.greeted = new Promise((resolve) => {
      this.#settleGreeted = resolve;
    });
    const channel = new Duplex({
      read: () => void real.resume(),
      write: (chunk: Buffer, _encoding, done) => {
        if (!real.writable) done();
        else if (real.write(chunk)) done();
        else real.once("drain", () => done());
      },
    });
    this.channel = channel;
    let exit = () => {};
    // What a run waits for here goes with the run. The sandbox's own promise lasts for all programs of the session.
    const exited = new Promise<SandboxExit>((resolve) => {
      exit = () => resolve(sandbox.exited);
    });
    this.exit = exit;
    let ended: Promise<void> | undefined;
    this.sandbox = {
      id: sandbox.id,
      image: sandbox.image,
      channel,
      exited,
      ...(sandbox.pause === undefined ? {} : { pause: () => sandbox.pause?.() }),
      ...(sandbox.resume === undefined ? {} : { resume: () => sandbox.resume?.() }),
      kill() {
        lose();
        return sandbox.kill();
      },
      dispose() {
        channel.destroy();
        ended ??= end();
        return ended;
      },
    };
  }

  pass(payload: Buffer): void {
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    header.writeUInt32BE(payload.length, 0);
    const isTaken = this.channel.push(Buffer.concat([header, payload]));
    if (!isTaken) this.#real.pause();
    if (this.isGreeted) return;
    this.isGreeted = true;
    this.#settleGreeted();
  }
}

function hasEnded(): SandboxError {
  return new SandboxError("start_failed", "the session has ended");
}

function isHello(payload: Buffer): boolean {
  if (payload.length > MAX_HELLO_BYTES) return false;
  try {
    const message = parsePayload(payload, MAX_DEPTH);
    return typeof message === "object" && message !== null && Reflect.get(message, "type") === "hello";
  } catch (error) {
    if (error instanceof FrameError) return false;
    throw error;
  }
}
