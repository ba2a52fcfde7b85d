import { basename } from "node:path";

/** The longest time that a server on stdio may take to start while it makes progress. */
const MOST_MS = 5 * 60_000;

/** A start that takes longer is reported. */
const SLOW_MS = 5_000;

const LONGEST_POLL_MS = 1_000;

/** Commands that download the program they run if it is not there yet. */
const INSTALLERS: ReadonlySet<string> = new Set([
  ...["npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "deno"],
  ...["uvx", "uv", "pipx", "docker", "podman"],
]);

/** Why the start of a server may take long: `npx may be downloading it`; `undefined` for a command that installs nothing. */
export function whySlow(command: string): string | undefined {
  const name = nameOf(command);
  return INSTALLERS.has(name) ? `${name} may be downloading it` : undefined;
}

/** Commands of npm's kind, which ask the registry for a newer version before each start unless this setting says otherwise. */
const ASK_REGISTRY: ReadonlySet<string> = new Set(["npx", "npm", "pnpm", "pnpx"]);
const CACHED_FIRST = { npm_config_prefer_offline: "true" };

/** Environment variables with which a command starts a package from its cache if it is there. */
export function cachedFirst(command: string): Readonly<Record<string, string>> {
  return ASK_REGISTRY.has(nameOf(command)) ? CACHED_FIRST : {};
}

/** Whether a server did not start because what is cached about its package is too old. */
export function isCacheTooOld(command: string, stderr: string): boolean {
  return (
    ASK_REGISTRY.has(nameOf(command)) &&
    /\bETARGET\b|No matching version found|ERR_PNPM_NO_MATCHING_VERSION/.test(stderr)
  );
}

function nameOf(command: string): string {
  return basename(command).replace(/\.(?:exe|cmd)$/i, "");
}

export interface StartTimeOptions {
  /** How long the server may do nothing. */
  quietMs: number;
  /** Whether it was at work since the last call: it used processor time, or wrote to stderr. */
  isAtWork: () => Promise<boolean>;
  /** Called once the server has been idle for half of its time: it may be waiting for another request. */
  onHalf: () => void;
  /** Called if the start takes long. */
  onSlow?: ((seconds: number) => void) | undefined;
  /** Called when the time is over, with how the server spent it. */
  onOver: (spent: StartSpent) => void;
}

/** How a server spent its start time, in milliseconds: first working, then idle. */
export interface StartSpent {
  workedMs: number;
  quietMs: number;
}

/**
 * The time that a server on stdio has to start. It continues as long as the server is working, because the first start with `npx -y`
 * or `uvx` installs the server. It ends when the server has been idle for long, or after five minutes.
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
