import { homedir } from "node:os";
import { join } from "node:path";
import { type Keyring, KeyringError, openKeyring, SecretsFile } from "./keyring.ts";

/** The outcome of a change. `why` is one line that says why it failed. */
export type Changed<T> = ({ ok: true } & T) | { ok: false; why: string };

/** Separates secrets from logins, which are in the same keyring. */
const ACCOUNT = "secret/";

/**
 * The secrets that a user has stored with `ptc auth set`: in the system's keyring if there is one, or else in a private file of
 * the user. A secret in the file is still found after a keyring has become available.
 */
export class UserSecrets {
  readonly #file: SecretsFile;
  readonly #open: () => Promise<Keyring | undefined>;
  #keyring: Promise<Keyring | undefined> | undefined;

  /** @param open opens the system's keyring. Tests open another one. */
  constructor(
    env: Readonly<Record<string, string | undefined>>,
    open: () => Promise<Keyring | undefined> = () => openKeyring({ env }),
  ) {
    const folder = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local/state");
    this.#file = new SecretsFile(join(folder, "ptc/secrets.json"));
    this.#open = open;
  }

  /** @throws KeyringError */
  async get(name: string): Promise<string | undefined> {
    const keyring = await this.#system();
    return (await keyring?.get(ACCOUNT + name)) ?? this.#file.get(ACCOUNT + name);
  }

  /** Stores a secret, and replaces one with the same name. `where` tells people where it is stored. */
  async set(name: string, value: string): Promise<Changed<{ where: string }>> {
    return changed(async () => {
      const keyring = await this.#system();
      if (keyring === undefined) {
        await this.#file.set(ACCOUNT + name, value);
        return {
          where: `${this.#file.name}, which only you may read, because this system has no keyring that answers`,
        };
      }
      await keyring.set(ACCOUNT + name, value);
      // Otherwise an older value in the file would come back without the keyring.
      await this.#file.delete(ACCOUNT + name);
      return { where: `the system's keyring (${keyring.name})` };
    });
  }

  async delete(name: string): Promise<Changed<{ wasThere: boolean }>> {
    return changed(async () => {
      const keyring = await this.#system();
      const removed = [await keyring?.delete(ACCOUNT + name), await this.#file.delete(ACCOUNT + name)];
      return { wasThere: removed.includes(true) };
    });
  }

  #system(): Promise<Keyring | undefined> {
    this.#keyring ??= this.#open();
    return this.#keyring;
  }
}

async function changed<T extends object>(change: () => Promise<T>): Promise<Changed<T>> {
  try {
    return { ok: true, ...(await change()) };
  } catch (error) {
    if (error instanceof KeyringError) return { ok: false, why: error.message };
    throw error;
  }
}
