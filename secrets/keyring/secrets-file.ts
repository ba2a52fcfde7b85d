import { randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod/mini";
import { parseForeignJson } from "../../base/json.ts";
import { whyFolderIsUnsafe } from "../../base/unsafe-folder.ts";
import { type Keyring, KeyringError } from "./keyring.ts";

const MAX_BYTES = 8 * 1024 * 1024;
const SecretsJson = z.strictObject({ version: z.literal(1), values: z.record(z.string(), z.string()) });

const OTHERS = 0o077;
/** A writer holds the lock for milliseconds. One that was killed has left it. */
const LOCK_STALE_MS = 10_000;
const LOCK_PAUSE_MS = 20;

/** What stands in for the keyring on systems that have none: a file that only its owner may read. */
export class SecretsFile implements Keyring {
  readonly name: string;
  readonly #path: string;

  /** @param path absolute. It is made with the first value. */
  constructor(path: string) {
    this.name = path;
    this.#path = path;
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
        throw new KeyringError(`${this.#path} is larger than ${MAX_BYTES} bytes; mend or remove it`);
      if (process.platform !== "win32" && (mode & OTHERS) !== 0) await chmod(this.#path, 0o600);
      text = await readFile(this.#path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw this.#fault("cannot be read", error);
    }
    try {
      return SecretsJson.parse(parseForeignJson(text, { maxBytes: MAX_BYTES, maxDepth: 4 })).values;
    } catch {
      throw new KeyringError(`${this.#path} is not what ptc has written; mend or remove it`);
    }
  }

  async #change(change: (values: Record<string, string>) => [string, string][] | undefined): Promise<void> {
    try {
      await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
      await this.#refuseUnsafeFolder();
      await this.#locked(async () => {
        const next = change(await this.#read());
        if (next === undefined) return;
        const draft = `${this.#path}.${randomUUID()}`;
        try {
          const text = `${JSON.stringify({ version: 1, values: Object.fromEntries(next) }, undefined, 1)}\n`;
          await writeFile(draft, text, { mode: 0o600, flag: "wx", flush: true });
          await rename(draft, this.#path);
        } finally {
          await rm(draft, { force: true });
        }
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
    const lock = `${this.#path}.lock`;
    for (;;) {
      try {
        await (await open(lock, "wx", 0o600)).close();
        break;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      const held = await stat(lock).catch(() => undefined);
      if (held !== undefined && Date.now() - held.mtimeMs > LOCK_STALE_MS) await rm(lock, { force: true });
      else await delay(LOCK_PAUSE_MS);
    }
    try {
      await work();
    } finally {
      await rm(lock, { force: true });
    }
  }

  #fault(what: string, error: unknown): KeyringError {
    if (error instanceof KeyringError) return error;
    const { code } = error as NodeJS.ErrnoException;
    return new KeyringError(`${this.#path} ${what} (${code ?? "unknown"})`, { cause: error });
  }
}
