import { chmod, lstat, mkdir, readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import * as z from "zod/mini";
import { parseForeignJson } from "../base/json.ts";
import { whyFolderIsUnsafe } from "../base/unsafe-folder.ts";
import { LockError, lockFile } from "../system/lock-file.ts";
import { writePrivateFile } from "../system/private-file.ts";

/**
 * The keyring of the user's system: Keychain on macOS, Credential Manager on Windows, and any Secret Service on Linux (GNOME
 * Keyring, KWallet, KeePassXC). ptc does not use the keyring of the Linux kernel, which a reboot clears.
 */

/** The name under which the system lists ptc's entries. */
const SERVICE = "ptc";
/** The time for one access. A locked keyring asks a person for its password meanwhile. */
const PATIENCE_MS = 60_000;
/** The time for finding out whether there is a keyring at all. */
const PROBE_PATIENCE_MS = 5_000;
const PROBE = "ptc-probe";
/** The longest value that ptc reads. ptc never stores a longer one. */
const MAX_VALUE_CHARS = 1024 * 1024;

/** Values by name that the system keeps for this user. */
export interface Keyring {
  /** Its name, for people. */
  readonly name: string;
  /** The value, or `undefined` when there is none. @throws KeyringError */
  get(account: string): Promise<string | undefined>;
  /** @throws KeyringError, for example when the keyring is locked, or when the value is too long for it. */
  set(account: string, value: string): Promise<void>;
  /** Deletes a value. Resolves with whether there was one. @throws KeyringError */
  delete(account: string): Promise<boolean>;
}

/** The keyring cannot be used now. The message is one line, without any value. */
export class KeyringError extends Error {
  override readonly name = "KeyringError";
}

/** The parts of the keyring package that ptc uses. */
export type KeyringPackage = Pick<typeof import("@napi-rs/keyring"), "AsyncEntry" | "findCredentialsAsync">;
type Package = Pick<KeyringPackage, "AsyncEntry">;
type ListingPackage = Pick<KeyringPackage, "findCredentialsAsync">;

export interface KeyringOptions {
  /** `PTC_KEYRING=off` turns the use of the keyring off. */
  env: Readonly<Record<string, string | undefined>>;
  /** Loads the package. Tests load another one. */
  load?: () => Promise<Package>;
}

/**
 * Opens the system's keyring. Resolves with `undefined` if this system has none, if it does not answer, or if the optional
 * package is not installed.
 */
export async function openKeyring({ env, load = loadPackage }: KeyringOptions): Promise<Keyring | undefined> {
  if (env.PTC_KEYRING === "off") return undefined;
  try {
    const keyring = new SystemKeyring(await load());
    await keyring.probe();
    return keyring;
  } catch {
    return undefined;
  }
}

/**
 * The sorted names of everything that ptc keeps in the system's keyring. Empty if this system has no keyring.
 *
 * @throws KeyringError when it cannot be read.
 */
export async function listKeyringAccounts({
  env,
  load = loadPackage,
}: Omit<KeyringOptions, "load"> & { load?: () => Promise<ListingPackage> }): Promise<string[]> {
  if (env.PTC_KEYRING === "off") return [];
  try {
    const found = await (await load()).findCredentialsAsync(
      SERVICE,
      undefined,
      AbortSignal.timeout(PATIENCE_MS),
    );
    return found.map(({ account }) => account).sort();
  } catch (cause) {
    throw new KeyringError("the system's keyring cannot be read; unlock it", { cause });
  }
}

async function loadPackage(): Promise<KeyringPackage> {
  // A bundler of an embedder's program would follow a name written here into a native file, and fail without saying why.
  const name: string = "@napi-rs/keyring";
  return (await import(name)) as typeof import("@napi-rs/keyring");
}

const NAMES: Partial<Record<NodeJS.Platform, string>> = {
  darwin: "Keychain",
  win32: "Credential Manager",
};

class SystemKeyring implements Keyring {
  readonly name = NAMES[process.platform] ?? "Secret Service";
  readonly #package: Package;

  constructor(loaded: Package) {
    this.#package = loaded;
  }

  /** @throws when the keyring does not answer. */
  async probe(): Promise<void> {
    await this.#entry(PROBE).getPassword(AbortSignal.timeout(PROBE_PATIENCE_MS));
  }

  async get(account: string): Promise<string | undefined> {
    const value = await this.#access("read", (signal) => this.#entry(account).getPassword(signal));
    if (value === null) return undefined;
    if (value.length > MAX_VALUE_CHARS) throw new KeyringError(`the ${this.name} has too long a value`);
    return value;
  }

  async set(account: string, value: string): Promise<void> {
    await this.#access("written", (signal) => this.#entry(account).setPassword(value, signal));
  }

  delete(account: string): Promise<boolean> {
    return this.#access("written", (signal) => this.#entry(account).deleteCredential(signal));
  }

  #entry(account: string) {
    return new this.#package.AsyncEntry(SERVICE, account, { linux: { store: "secret-service" } });
  }

  async #access<T>(how: "read" | "written", work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = AbortSignal.timeout(PATIENCE_MS);
    try {
      return await work(limit);
    } catch (cause) {
      // The message omits the system's error text, because that might contain a value.
      const why = limit.aborted ? `did not answer within ${PATIENCE_MS / 1_000} s` : `cannot be ${how}`;
      throw new KeyringError(`the system's keyring (${this.name}) ${why}; unlock it`, { cause });
    }
  }
}

const MAX_BYTES = 8 * 1024 * 1024;
const SecretsJson = z.strictObject({ version: z.literal(1), values: z.record(z.string(), z.string()) });

const OTHERS = 0o077;

/** A file that only its owner may read, for systems without a keyring. */
export class SecretsFile implements Keyring {
  readonly name: string;
  readonly #path: string;
  readonly #patienceMs: number;

  /**
   * @param path an absolute path. The file is created with the first value.
   * @param options `patienceMs` is how long a writer waits for the lock of the file.
   */
  constructor(path: string, { patienceMs = PATIENCE_MS }: { patienceMs?: number } = {}) {
    this.name = path;
    this.#path = path;
    this.#patienceMs = patienceMs;
  }

  async get(account: string): Promise<string | undefined> {
    const values = await this.#read();
    return Object.hasOwn(values, account) ? values[account] : undefined;
  }

  async set(account: string, value: string): Promise<void> {
    await this.#change((values) => [
      ...Object.entries(values).filter(([name]) => name !== account),
      [account, value],
    ]);
  }

  async delete(account: string): Promise<boolean> {
    let isThere = false;
    await this.#change((values) => {
      isThere = Object.hasOwn(values, account);
      return isThere ? Object.entries(values).filter(([name]) => name !== account) : undefined;
    });
    return isThere;
  }

  async #read(): Promise<Record<string, string>> {
    let text: Buffer;
    try {
      const { mode, size } = await stat(this.#path);
      if (size > MAX_BYTES)
        throw new KeyringError(`${this.#path} is larger than ${MAX_BYTES} bytes; repair or remove it`);
      if (process.platform !== "win32" && (mode & OTHERS) !== 0) await chmod(this.#path, 0o600);
      text = await readFile(this.#path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw this.#fault("cannot be read", error);
    }
    try {
      return SecretsJson.parse(parseForeignJson(text, { maxBytes: MAX_BYTES, maxDepth: 4 })).values;
    } catch {
      throw new KeyringError(`${this.#path} was not written by ptc; repair or remove it`);
    }
  }

  async #change(change: (values: Record<string, string>) => [string, string][] | undefined): Promise<void> {
    try {
      await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
      await this.#refuseUnsafeFolder();
      await this.#locked(async () => {
        const next = change(await this.#read());
        if (next === undefined) return;
        const kept = { version: 1, values: Object.fromEntries(next) };
        await writePrivateFile(this.#path, `${JSON.stringify(kept, undefined, 1)}\n`);
      });
    } catch (error) {
      throw this.#fault("cannot be written", error);
    }
  }

  async #refuseUnsafeFolder(): Promise<void> {
    const folder = dirname(this.#path);
    const { mode, uid } = await stat(folder);
    const isLink = (await lstat(folder)).isSymbolicLink();
    const unsafe = whyFolderIsUnsafe(folder, { isLink, mode, uid }, process.getuid?.());
    if (unsafe !== undefined) throw new KeyringError(`${folder} ${unsafe.what}; ${unsafe.advice}`);
  }

  async #locked(work: () => Promise<void>): Promise<void> {
    const release = await lockFile(`${this.#path}.lock`, { patienceMs: this.#patienceMs });
    try {
      await work();
    } finally {
      release();
    }
  }

  #fault(what: string, error: unknown): KeyringError {
    if (error instanceof KeyringError) return error;
    if (error instanceof LockError) return new KeyringError(error.message, { cause: error });
    const { code } = error as NodeJS.ErrnoException;
    return new KeyringError(`${this.#path} ${what} (${code ?? "unknown"})`, { cause: error });
  }
}
