import type { RunnerName } from "../protocol/runners/runner-name.ts";
import { HeldOutput } from "./pool/held-output.ts";
import type { Sandbox, SandboxOutput, SandboxStarter } from "./sandbox.ts";

/** The most bytes that a sandbox may write before somebody takes it. */
const MAX_HELD_BYTES = 65_536;

interface Ahead {
  starting: Promise<Sandbox>;
  output: HeldOutput;
  cancel: AbortController;
}

/** Starts one sandbox before anybody asks for it. The first who asks gets that one; all others get new ones. */
export class SandboxAhead implements SandboxStarter {
  readonly #starter: SandboxStarter;
  #ahead: Ahead | undefined;

  /** Begins to start the sandbox. */
  constructor(starter: SandboxStarter) {
    this.#starter = starter;
    const output = new HeldOutput(MAX_HELD_BYTES);
    const cancel = new AbortController();
    const starting = starter.acquire(output, cancel.signal);
    starting.catch(() => {});
    void output.overflow.then(async () => (await starting).kill()).catch(() => {});
    this.#ahead = { starting, output, cancel };
  }

  /** Rejects with the reason why the sandbox could not be started, once. */
  async acquire(output: SandboxOutput, signal?: AbortSignal): Promise<Sandbox> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead === undefined) return this.#starter.acquire(output, signal);
    const { cancel } = ahead;
    const abort = () => cancel.abort();
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort);
    try {
      const sandbox = await ahead.starting;
      ahead.output.flowTo(output);
      return sandbox;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  findImage(): Promise<string> {
    return this.#starter.findImage();
  }

  /** The sandbox that is being started has one runner; programs for another one get new sandboxes. */
  withRunner(runner: RunnerName): SandboxStarter {
    const other = this.#starter.withRunner?.(runner) ?? this.#starter;
    return other === this.#starter ? this : other;
  }

  /** Ends the sandbox unless somebody has taken it, and resolves when it is removed. Never rejects. */
  async close(): Promise<void> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    ahead?.cancel.abort();
    await ahead?.starting.then(
      (sandbox) => sandbox.dispose(),
      () => {},
    );
  }
}
