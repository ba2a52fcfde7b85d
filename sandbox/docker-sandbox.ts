import { setTimeout as delay } from "node:timers/promises";
import type { StartedContainer } from "./container-engine.ts";
import type { Sandbox } from "./sandbox.ts";

const EXIT_GRACE_MS = 250;
/** An engine that does not answer keeps nobody waiting for longer; what it leaves, the next ptc clears. */
const REMOVAL_PATIENCE_MS = 10_000;

/** A container whose runner has connected. */
export class DockerSandbox implements Sandbox {
  readonly id: string;
  readonly image: string;
  readonly channel: Sandbox["channel"];
  readonly exited: Sandbox["exited"];
  readonly #container: StartedContainer;
  readonly #release: () => void;
  #ended = false;
  #disposed: Promise<void> | undefined;

  /** @param release gives back what the sandbox holds on the host; called once. */
  constructor(container: StartedContainer, image: string, channel: Sandbox["channel"], release: () => void) {
    this.id = container.id;
    this.image = image;
    this.channel = channel;
    this.exited = container.exited;
    this.#container = container;
    this.#release = release;
    container.exited.then(
      () => {
        this.#ended = true;
      },
      () => {},
    );
  }

  async kill(): Promise<void> {
    if (!this.#ended) await this.#container.kill();
  }

  dispose(): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  async #dispose(): Promise<void> {
    // A runner without a host ends by itself, sooner than it could be killed.
    this.channel.destroy();
    await endContainer(this.#container, EXIT_GRACE_MS);
    this.#release();
  }
}

/** Ends a container, at once or after a grace, and waits until the engine has removed it. Never rejects. */
export async function endContainer(container: StartedContainer, graceMs = 0): Promise<void> {
  const removed = container.removed().catch(() => {});
  const over = new AbortController();
  const patience = (ms: number) => delay(ms, undefined, { ref: false, signal: over.signal }).catch(() => {});
  const exited = container.exited.then(
    () => true,
    () => true,
  );
  const ended = graceMs > 0 && (await Promise.race([exited, patience(graceMs).then(() => false)]));
  const killed = ended ? Promise.resolve() : container.kill().catch(() => {});
  await Promise.race([Promise.all([killed, removed]), patience(REMOVAL_PATIENCE_MS)]);
  over.abort();
}
