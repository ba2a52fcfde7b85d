import { setTimeout as delay } from "node:timers/promises";
import type { Sandbox } from "./sandbox.ts";
import type { StartedSandbox } from "./sandbox-engine.ts";

const EXIT_GRACE_MS = 250;
/**
 * How long a sandbox that may outlive its program is left alone when nobody needs it any more. Its end and the start of another
 * take a core for half a second, which the client needs now, to read the answer.
 */
const AFTER_ANSWER_MS = 20;
/** How long its runner waits for that: longer than a run takes from the end of its program to its answer. */
const LINGER_MS = 250;
/** How long to wait for the engine to remove a sandbox. What is left then is removed by the next ptc. */
const REMOVAL_PATIENCE_MS = 10_000;

/** A started sandbox whose runner has connected. */
export class RunningSandbox implements Sandbox {
  readonly id: string;
  readonly image: string;
  readonly channel: Sandbox["channel"];
  readonly exited: Sandbox["exited"];
  readonly lingerMs: number | undefined;
  readonly #started: StartedSandbox;
  #ended = false;
  #disposed: Promise<void> | undefined;

  /** @param lingers whether it may outlive its program for a moment, for the sake of the program's answer. */
  constructor(started: StartedSandbox, image: string, channel: Sandbox["channel"], lingers = false) {
    this.id = started.id;
    this.image = image;
    this.channel = channel;
    this.exited = started.exited;
    this.lingerMs = lingers ? LINGER_MS : undefined;
    this.#started = started;
    started.exited.then(
      () => {
        this.#ended = true;
      },
      () => {},
    );
  }

  pause(): void {
    this.#started.pause();
  }

  clear(): Promise<void> {
    return this.#started.clear();
  }

  resume(): void {
    this.#started.resume();
  }

  async kill(): Promise<void> {
    if (!this.#ended) await this.#started.kill();
  }

  dispose(): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  async #dispose(): Promise<void> {
    if (this.lingerMs !== undefined && !this.#ended)
      await new Promise((resolve) => setTimeout(resolve, AFTER_ANSWER_MS));
    // A sandbox ends by itself when its connection to the host is closed, which is faster than killing it.
    this.channel.destroy();
    this.#started.leave();
    await endSandbox(this.#started, EXIT_GRACE_MS);
    this.#started.release();
  }
}

/** Ends a sandbox, at once or after `graceMs`, and waits until the engine has removed it. Never rejects. */
export async function endSandbox(started: StartedSandbox, graceMs = 0): Promise<void> {
  const removed = started.removed().catch(() => {});
  const over = new AbortController();
  const patience = (ms: number) => delay(ms, undefined, { ref: false, signal: over.signal }).catch(() => {});
  const exited = started.exited.then(
    () => true,
    () => true,
  );
  const ended = graceMs > 0 && (await Promise.race([exited, patience(graceMs).then(() => false)]));
  const killed = ended ? Promise.resolve() : started.kill().catch(() => {});
  await Promise.race([Promise.all([killed, removed]), patience(REMOVAL_PATIENCE_MS)]);
  over.abort();
}
