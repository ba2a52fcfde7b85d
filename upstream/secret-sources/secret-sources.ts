import { messageOf } from "../../base/error-message.ts";
import { orAborted } from "../../base/or-aborted.ts";
import { runSecretCommand, type SecretCommandOptions } from "./secret-command.ts";
import { readSecretFile } from "./secret-file.ts";
import { type SecretKeyring, type SecretSource, SecretSourceError } from "./secret-source.ts";

export interface SecretSourcesOptions extends Omit<SecretCommandOptions, "signal"> {
  /** All variables that commands see. */
  env: Readonly<Record<string, string | undefined>>;
  keyring: SecretKeyring;
}

/** A command that runs, and how many wait for it. */
interface RunningCommand {
  secret: Promise<string>;
  waiting: number;
  abort: AbortController;
}

/**
 * Reads secrets from where the configuration says. Files and the keyring are read anew each time. What a command prints is
 * kept for the life of the process; a command that failed is run again when it is next needed. Many callers share one run.
 */
export class SecretSources {
  readonly #options: SecretSourcesOptions;
  readonly #printed = new Map<string, string>();
  readonly #running = new Map<string, RunningCommand>();

  constructor(options: SecretSourcesOptions) {
    this.#options = options;
  }

  /** @throws SecretSourceError in words that follow the place of the value; the signal's reason when it aborts. */
  async read(source: SecretSource, signal: AbortSignal): Promise<string> {
    switch (source.from) {
      case "file":
        return readSecretFile(source.path);
      case "command":
        return this.#run(source, signal);
      case "keyring":
        return this.#readKeyring(source.name);
    }
  }

  async #readKeyring(name: string): Promise<string> {
    let secret: string | undefined;
    try {
      secret = await this.#options.keyring.get(name);
    } catch (error) {
      throw new SecretSourceError(messageOf(error));
    }
    if (secret !== undefined) return secret;
    throw new SecretSourceError(`the keyring has no '${name}'; put it in with \`ptc auth set ${name}\``);
  }

  async #run(
    { argv, cwd }: Extract<SecretSource, { from: "command" }>,
    signal: AbortSignal,
  ): Promise<string> {
    const key = JSON.stringify([argv, cwd]);
    const known = this.#printed.get(key);
    if (known !== undefined) return known;
    const running = this.#running.get(key) ?? this.#start(key, argv, cwd);
    running.waiting++;
    try {
      return await orAborted(
        running.secret,
        signal,
        () => new SecretSourceError("it is not needed any more"),
      );
    } finally {
      running.waiting--;
      if (running.waiting === 0) running.abort.abort();
    }
  }

  #start(key: string, argv: readonly [string, ...string[]], cwd: string): RunningCommand {
    const abort = new AbortController();
    const env = Object.fromEntries(
      Object.entries(this.#options.env).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value]],
      ),
    );
    const secret = runSecretCommand({ argv, cwd, env }, { ...this.#options, signal: abort.signal });
    const running = { secret, waiting: 0, abort };
    this.#running.set(key, running);
    const forget = () => {
      if (this.#running.get(key) === running) this.#running.delete(key);
    };
    abort.signal.addEventListener("abort", forget, { once: true });
    secret.then((printed) => this.#printed.set(key, printed), forget);
    return running;
  }
}
