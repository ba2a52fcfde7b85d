import type { SandboxMessage } from "../../protocol/messages.ts";
import type { Channel } from "./channel.ts";
import type { Environment } from "./environment/environment.ts";

const { clearTimeout, setTimeout } = globalThis;

const FIRST_AFTER_MS = 1_000;
/** The pause before the next trace, as a share of the time so far. A run that is killed has sent most of its trace, in few messages. */
const SHARE = 1 / 8;

/** Sends the host the trace of a run, whole each time: now and then while it runs, and when `send` is called. */
export class TraceSender {
  readonly #environment: Environment;
  readonly #channel: Channel;
  #runMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(environment: Environment, channel: Channel) {
    this.#environment = environment;
    this.#channel = channel;
    this.#schedule();
  }

  send(): void {
    this.#channel.send(this.message());
  }

  /** The trace so far, for whoever sends it together with something else. */
  message(): SandboxMessage {
    return { type: "trace", trace: this.#environment.trace() };
  }

  /** Sends nothing more of its own accord. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const delayMs = Math.max(FIRST_AFTER_MS, this.#runMs * SHARE);
    this.#timer = setTimeout(() => {
      this.#runMs += delayMs;
      this.send();
      this.#schedule();
    }, delayMs);
    this.#timer.unref();
  }
}
