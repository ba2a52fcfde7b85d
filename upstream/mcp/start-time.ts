import { basename } from "node:path";

/** The longest that a server on stdio may take to start while it makes progress. */
const MOST_MS = 5 * 60_000;

/** A start that takes longer is reported. */
const SLOW_MS = 5_000;

const LONGEST_POLL_MS = 1_000;

/** Commands that download what they run, where it is not there yet. */
const INSTALLERS: ReadonlySet<string> = new Set([
  ...["npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "deno"],
  ...["uvx", "uv", "pipx", "docker", "podman"],
]);

/** Why the start of a server may take long: `npx may be downloading it`; `undefined` for a command that installs nothing. */
export function whySlow(command: string): string | undefined {
  const name = basename(command).replace(/\.(?:exe|cmd)$/i, "");
  return INSTALLERS.has(name) ? `${name} may be downloading it` : undefined;
}

export interface StartTimeOptions {
  /** How long the server may do nothing. */
  quietMs: number;
  /** Whether it was at work since the last time that this was asked: it used processor time, or wrote to stderr. */
  isAtWork: () => Promise<boolean>;
  /** Called once the server has done nothing for half of its time: it may be waiting for another request. */
  onHalf: () => void;
  /** Called when the start takes long. */
  onSlow?: ((seconds: number) => void) | undefined;
  /** Called when the time is over, with how the server spent it. */
  onOver: (spent: StartSpent) => void;
}

/** How a server has spent its time to start, in milliseconds: at work, and then doing nothing. */
export interface StartSpent {
  workedMs: number;
  quietMs: number;
}

/**
 * The time that a server on stdio has to start. It goes on as long as the server does something, since the first start of
 * `npx -y` or `uvx` installs the server, and ends when that has done nothing for long, or after five minutes.
 */
export class StartTime {
  readonly #options: StartTimeOptions;
  readonly #began = performance.now();
  #activeAt = this.#began;
  #isHalf = false;
  #isSlow = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: StartTimeOptions) {
    this.#options = options;
    this.#wait();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(): void {
    const pollMs = Math.min(LONGEST_POLL_MS, this.#options.quietMs / 4);
    this.#timer = setTimeout(() => void this.#look(), pollMs);
  }

  async #look(): Promise<void> {
    const { quietMs, isAtWork, onHalf, onSlow, onOver } = this.#options;
    const isActive = await isAtWork();
    if (this.#timer === undefined) return;
    const now = performance.now();
    if (isActive) this.#activeAt = now;
    const quietForMs = now - this.#activeAt;
    const workedMs = this.#activeAt - this.#began;
    if (quietForMs >= quietMs || workedMs + quietForMs >= Math.max(MOST_MS, quietMs)) {
      this.end();
      onOver({ workedMs, quietMs: Math.min(quietForMs, quietMs) });
      return;
    }
    if (quietForMs >= quietMs / 2 && !this.#isHalf) {
      this.#isHalf = true;
      onHalf();
    }
    if (now - this.#began >= SLOW_MS && !this.#isSlow) {
      this.#isSlow = true;
      onSlow?.(Math.round((now - this.#began) / 1_000));
    }
    this.#wait();
  }
}
