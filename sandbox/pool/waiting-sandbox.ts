import { oneLine } from "../../base/visible-text.ts";
import type { Sandbox, SandboxOutput, SandboxSource, SandboxUse } from "../sandbox.ts";
import { orCancelled, SandboxError } from "../sandbox-error.ts";

/** The maximum number of bytes that a runner may write to its output and channel together before it gets a program. */
const MAX_HELD_BYTES = 65_536;
const GREETING_TIMEOUT_MS = 30_000;
const LAST_WORDS_MS = 1_000;
const MAX_LINE_CHARS = 500;

/**
 * A sandbox that waits for its program. Everything its runner sends meanwhile, including its hello, is kept for the run that takes the
 * sandbox. The channel is read during the wait, because otherwise its end would go unnoticed.
 */
export class WaitingSandbox {
  readonly sandbox: Sandbox;
  readonly #held: HeldOutput;
  readonly #greeted = Promise.withResolvers<void>();
  readonly #lost = Promise.withResolvers<SandboxError>();
  #greeting: Buffer[] = [];
  #greetingBytes = 0;
  #state: "waiting" | "taken" | "lost" = "waiting";

  /**
   * Starts a sandbox and waits until its runner has sent its hello, after which it can take a program.
   *
   * @throws SandboxError like the source, and `start_failed` if the sandbox ends or stays silent; it is then removed.
   */
  static async start(source: SandboxSource, signal: AbortSignal, use?: SandboxUse): Promise<WaitingSandbox> {
    const held = new HeldOutput(MAX_HELD_BYTES);
    const waiting = new WaitingSandbox(await source.acquire(held, signal, use), held);
    await waiting.#ready(signal);
    return waiting;
  }

  private constructor(sandbox: Sandbox, held: HeldOutput) {
    this.sandbox = sandbox;
    this.#held = held;
    const { channel } = sandbox;
    channel.on("readable", this.#read);
    channel.on("close", this.#end);
    sandbox.exited.then(this.#end, this.#end);
    void held.overflow.promise.then(() => this.#lose("writes although it has no program"));
    this.#read();
  }

  /** Resolves if the sandbox ends, or writes too much, before a run has taken it. */
  get lost(): Promise<SandboxError> {
    return this.#lost.promise;
  }

  /**
   * Gives the sandbox to a run, which gets its output and its channel from the first byte on. Returns false if the sandbox is lost or
   * was already taken.
   */
  take(output: SandboxOutput): boolean {
    const { channel } = this.sandbox;
    if (this.#state !== "waiting" || channel.destroyed || !channel.writable) return false;
    this.#state = "taken";
    this.#stopReading();
    channel.unshift(Buffer.concat(this.#greeting));
    this.#greeting = [];
    this.#held.flowTo(output);
    return true;
  }

  async #ready(signal: AbortSignal): Promise<void> {
    const late = setTimeout(() => this.#lose("stayed silent"), GREETING_TIMEOUT_MS);
    const fail = this.lost.then((reason) => Promise.reject(reason));
    try {
      await orCancelled(Promise.race([this.#greeted.promise, fail]), signal);
    } catch (error) {
      await this.sandbox.dispose();
      throw error;
    } finally {
      clearTimeout(late);
    }
  }

  readonly #read = (): void => {
    for (;;) {
      const chunk: Buffer | null = this.sandbox.channel.read();
      if (chunk === null) return;
      this.#greeting.push(chunk);
      this.#greetingBytes += chunk.length;
      if (this.#greetingBytes > MAX_HELD_BYTES) {
        this.#lose("talks although it has no program");
        return;
      }
      this.#greeted.resolve();
    }
  };

  readonly #end = (): void => {
    if (!this.#leave()) return;
    // The channel may be closed before the last words have come.
    const { exited } = this.sandbox;
    const late = new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS).unref());
    const report = () => this.#report("ended", this.#held.lastLine);
    Promise.race([exited, late]).then(report, report);
  };

  #lose(what: string): void {
    if (this.#leave()) this.#report(what, "");
  }

  #report(what: string, said: string): void {
    const message = `a sandbox that waited for its program ${what}${said === "" ? "" : `: ${said}`}`;
    this.#lost.resolve(new SandboxError("start_failed", message));
  }

  /** @returns whether it has waited until now. */
  #leave(): boolean {
    if (this.#state !== "waiting") return false;
    this.#state = "lost";
    this.#stopReading();
    this.#greeting = [];
    return true;
  }

  #stopReading(): void {
    const { channel } = this.sandbox;
    channel.off("readable", this.#read);
    channel.off("close", this.#end);
  }
}

type Stream = "onStdout" | "onStderr";

/** Keeps a container's output, in order and up to a bound, until a run takes it. */
class HeldOutput implements SandboxOutput {
  /** Settles if the container writes more than may be kept. The excess is dropped. */
  readonly overflow = Promise.withResolvers<void>();

  readonly #maxBytes: number;
  #held: { stream: Stream; chunk: Buffer }[] = [];
  #bytes = 0;
  #taker: SandboxOutput | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The last line of what the container has said on stderr, which a runner that cannot go on ends with. */
  get lastLine(): string {
    const said = this.#held.filter(({ stream }) => stream === "onStderr").map(({ chunk }) => chunk);
    const [line = ""] = Buffer.concat(said).toString("utf8").trim().split("\n").slice(-1);
    return oneLine(line, MAX_LINE_CHARS);
  }

  onStdout(chunk: Buffer): void {
    this.#take("onStdout", chunk);
  }

  onStderr(chunk: Buffer): void {
    this.#take("onStderr", chunk);
  }

  /** Passes on the kept output, and from then on everything immediately. */
  flowTo(output: SandboxOutput): void {
    this.#taker = output;
    for (const { stream, chunk } of this.#held) output[stream](chunk);
    this.#held = [];
  }

  #take(stream: Stream, chunk: Buffer): void {
    if (this.#taker !== undefined) {
      this.#taker[stream](chunk);
      return;
    }
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#maxBytes) this.#held.push({ stream, chunk: Buffer.from(chunk) });
    else this.overflow.resolve();
  }
}
