import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { Duplex } from "node:stream";
import { outsideBoundaries } from "../base/faults.ts";
import { inTime, orAborted, settlesWithin, whenAborted } from "../base/waiting.ts";
import { encodeFrame, FrameDecoder, FrameError, parsePayload } from "../protocol/frames.ts";
import { GUARD_EXITS } from "../protocol/guard.ts";
import { MAX_CALL_FRAME_BYTES } from "../protocol/limits.ts";
import { type NextRequest, SESSION_MARK_BYTES } from "../protocol/messages.ts";
import type { Sandbox, SandboxExit, SandboxOutput, SandboxSource, SandboxUse } from "./sandbox.ts";
import { orCancelled, SandboxError } from "./sandbox-error.ts";

const HEADER_BYTES = 4;
const NO_FRAME = Buffer.alloc(HEADER_BYTES);
/** A hello is short. Longer messages before it are not parsed. */
const MAX_HELLO_BYTES = 8_192;
const MAX_DEPTH = 4;
const ANSWER_PATIENCE_MS = 10_000;
/** How long to wait for a runner that is about to start. */
const START_PATIENCE_MS = 60_000;
const KEY_BYTES = 32;

/** Why the guard of a sandbox ended it between two programs. */
const LEFTOVERS: ReadonlyMap<number, string> = new Map([
  [
    GUARD_EXITS.leftThread,
    "because a program had left a thread running, which could have acted in the next one",
  ],
  [
    GUARD_EXITS.nativeCode,
    "because a program had loaded native code (ctypes, or a library of its own), which could have acted in the next one",
  ],
]);

/**
 * One sandbox for the programs of a session, one after the other. Each program sees a separate sandbox, whose channel and output
 * begin with the hello for that program and end with it. Three things prevent leftovers of a program from acting in the next one:
 *
 * - Between programs the guard ends all processes except the runner, stops the runner, and compares its threads and code with those
 *   before the first program. If there are more, the sandbox ends, and the session with it.
 * - Each program begins with a challenge, which only the holder of the key that the runner got before the first program can answer.
 *   Everything on the channel before the answer is dropped, and so is the output.
 * - Each message of a program carries that answer. A message without it ends the program and the session.
 */
export class KeptSandbox implements SandboxSource {
  readonly #source: SandboxSource;
  readonly #decoder = new FrameDecoder(MAX_CALL_FRAME_BYTES + SESSION_MARK_BYTES);
  #sandbox: Sandbox | undefined;
  #turn: Turn | undefined;
  /** Resolves when nothing of earlier programs is running. */
  #cleared: Promise<void> | undefined;
  readonly #key = randomBytes(KEY_BYTES);
  /** Why the sandbox ended between two programs, if known: phrased to follow "the session ended". */
  whyLost: string | undefined;
  #bareHellos = 0;
  /** Rejects if the runner does not know marks. */
  readonly #outdated = Promise.withResolvers<never>();
  readonly #losing = new AbortController();
  /** Resolves when the sandbox has ended, or will not be given to another program. */
  readonly lost = whenAborted(this.#losing.signal);

  /** @param source provides the sandbox when the first program needs it. */
  constructor(source: SandboxSource) {
    this.#source = source;
    this.#outdated.promise.catch(() => {});
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
  async acquire(output: SandboxOutput, signal?: AbortSignal, use?: SandboxUse): Promise<Sandbox> {
    if (this.#sandbox !== undefined) return this.#acquireAgain(this.#sandbox, output, signal);
    const first: { output?: SandboxOutput } = { output };
    const taken = (stream: keyof SandboxOutput) => (chunk: Buffer) => {
      const current = this.#turn === undefined ? first.output : this.#turn.output;
      current?.[stream](chunk);
    };
    const sandbox = await outsideBoundaries(() =>
      this.#source.acquire({ onStdout: taken("onStdout"), onStderr: taken("onStderr") }, signal, use),
    );
    this.#sandbox = sandbox;
    const turn = this.#begin(sandbox, output);
    delete first.output;
    outsideBoundaries(() => this.#listen(sandbox));
    const greet = async () => {
      this.#ask(sandbox, turn, this.#key);
      await turn.greeted.promise;
      // The guard records the state of the runner before any program.
      await sandbox.clear?.();
      sandbox.resume?.();
    };
    // If the sandbox ends before its first program, the run itself reports why.
    const answered = Promise.race([greet(), this.#outdated.promise, this.lost]);
    return this.#inTime(turn, answered, START_PATIENCE_MS, signal);
  }

  /** Resolves when it is known whether the sandbox can take another program. Never rejects. */
  async settle(): Promise<void> {
    const cleared = this.#cleared ?? Promise.resolve();
    const known = orAborted(cleared, this.#losing.signal, () => this.#hasEnded());
    if (!(await settlesWithin(known, ANSWER_PATIENCE_MS))) this.#lose();
  }

  /** Gives the sandbox to no more programs. The current one keeps it to its end. */
  forsake(): void {
    this.#lose();
    if (this.#turn === undefined) void this.#sandbox?.dispose();
  }

  /** Ends the sandbox, even during a program. Resolves when it is removed. Never rejects. */
  async close(): Promise<void> {
    this.#lose();
    await this.#sandbox?.dispose();
  }

  async #acquireAgain(
    sandbox: Sandbox,
    output: SandboxOutput,
    signal: AbortSignal | undefined,
  ): Promise<Sandbox> {
    if (this.isLost) throw this.#hasEnded();
    const turn = this.#begin(sandbox, undefined);
    const greet = async () => {
      // Otherwise the guard might end processes of the next program.
      await this.#cleared;
      if (this.isLost) throw this.#hasEnded();
      sandbox.resume?.();
      this.#ask(sandbox, turn);
      await turn.greeted.promise;
    };
    const answered = orAborted(greet(), this.#losing.signal, () => this.#hasEnded());
    const given = await this.#inTime(turn, answered, ANSWER_PATIENCE_MS, signal);
    turn.output = output;
    return given;
  }

  /** Challenges the runner to prove that it is the one that takes the next program. */
  #ask(sandbox: Sandbox, turn: Turn, key?: Buffer): void {
    const nonce = randomBytes(KEY_BYTES);
    turn.mark = createHmac("sha256", this.#key).update(nonce).digest();
    const request: NextRequest = {
      type: "next",
      ...(key === undefined ? {} : { key: key.toString("hex") }),
      nonce: nonce.toString("hex"),
    };
    sandbox.channel.write(encodeFrame(request, MAX_HELLO_BYTES));
  }

  async #inTime(
    turn: Turn,
    answered: Promise<void>,
    patienceMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Sandbox> {
    const silent = () => new SandboxError("start_failed", "the session's sandbox no longer answers");
    try {
      await orCancelled(inTime(answered, patienceMs, silent), signal);
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

  #hasEnded(): SandboxError {
    const why = this.whyLost === undefined ? "has ended" : `ended ${this.whyLost}`;
    return new SandboxError("start_failed", `the session ${why}`);
  }

  /** Counts a hello without a mark. Every runner begins with one; a runner that does not know marks answers with a second one. */
  #noteBareHello(): void {
    if (++this.#bareHellos < 2) return;
    const problem = "the image is older than this ptc: run `ptc image build`";
    this.#outdated.reject(new SandboxError("start_failed", problem));
  }

  #listen(sandbox: Sandbox): void {
    const { channel } = sandbox;
    channel.on("data", (chunk: Buffer) => this.#pass(chunk));
    const end = () => {
      // Between programs, the exit says why it has ended.
      if (this.#turn === undefined) return void sandbox.dispose();
      this.#lose();
      this.#turn.channel.push(null);
    };
    for (const event of ["end", "close", "error"]) channel.on(event, end);
    const exit = (code?: number) => {
      if (this.#turn?.isGreeted !== true) this.whyLost ??= LEFTOVERS.get(code ?? 0);
      end();
      this.#lose();
      this.#turn?.exit();
    };
    sandbox.exited.then(
      ({ code }) => exit(code),
      () => exit(),
    );
  }

  #pass(chunk: Buffer): void {
    const turn = this.#turn;
    try {
      for (const payload of this.#decoder.push(chunk)) {
        if (turn === undefined || this.#turn !== turn) continue;
        const message = payload.subarray(SESSION_MARK_BYTES);
        if (turn.isMarked(payload) && (turn.isGreeted || isHello(message))) turn.pass(message);
        else if (turn.isGreeted) throw new FrameError("a message is not the runner's");
        else if (isHello(payload)) this.#noteBareHello();
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#lose();
      // This makes the run fail, too: no frame begins like this.
      if (turn?.isGreeted === true) turn.channel.push(NO_FRAME);
    }
  }
}

/** One program's turn in the sandbox. */
class Turn {
  readonly channel: Duplex;
  readonly sandbox: Sandbox;
  readonly greeted = Promise.withResolvers<void>();
  /** Receives the container's output; undefined before the program's hello. */
  output: SandboxOutput | undefined;
  isGreeted = false;
  /** The beginning of the runner's messages for this program. */
  mark: Buffer | undefined;
  /** The sandbox has ended during the program. */
  readonly exit: () => void;
  readonly #real: Duplex;

  constructor(
    sandbox: Sandbox,
    output: SandboxOutput | undefined,
    { lose, end }: { lose: () => void; end: () => Promise<void> },
  ) {
    const real = sandbox.channel;
    this.#real = real;
    this.output = output;
    const channel = new Duplex({
      read: () => void real.resume(),
      write: (chunk: Buffer, _encoding, done) => {
        if (!real.writable) done();
        else if (real.write(chunk)) done();
        else real.once("drain", () => done());
      },
    });
    this.channel = channel;
    // Listeners of a run should be freed with the run, but the sandbox's own promise lasts for the whole session.
    const exited = Promise.withResolvers<SandboxExit>();
    this.exit = () => exited.resolve(sandbox.exited);
    let ended: Promise<void> | undefined;
    this.sandbox = {
      id: sandbox.id,
      image: sandbox.image,
      channel,
      exited: exited.promise,
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

  isMarked(payload: Buffer): boolean {
    if (this.mark === undefined || payload.length <= SESSION_MARK_BYTES) return false;
    return timingSafeEqual(this.mark, payload.subarray(0, SESSION_MARK_BYTES));
  }

  pass(payload: Buffer): void {
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    header.writeUInt32BE(payload.length, 0);
    const isTaken = this.channel.push(Buffer.concat([header, payload]));
    if (!isTaken) this.#real.pause();
    if (this.isGreeted) return;
    this.isGreeted = true;
    this.greeted.resolve();
  }
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
