import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { parseForeignJson } from "../../base/json.ts";
import { whyFolderIsUnsafe } from "../../base/unsafe-folder.ts";
import { textDigest } from "../../protocol/canonical-json.ts";
import { type Keyring, KeyringError } from "../../secrets/keyring.ts";
import { LockError, lockFile } from "../../system/lock-file.ts";
import { writePrivateFile } from "../../system/private-file.ts";
import { AuthorizationError } from "./authorization.ts";

const LIMITS = { maxBytes: 1024 * 1024, maxDepth: 16 };

/** The file of a login. It contains the login itself only if the keyring does not. */
const LoginFile = z.object({
  version: z.literal(1),
  in: z.enum(["keyring", "file"]),
  login: z.optional(z.unknown()),
});

interface LoginStoreOptions {
  /** The user's own folder for logins, which is created with private permissions. */
  folder: string;
  /** Opens the system's keyring, if there is one. */
  keyring: () => Promise<Keyring | undefined>;
}

/** Stores logins at servers. */
export interface LoginStore {
  /** A text that changes whenever the login does. */
  version(key: LoginKey): Promise<string>;
  /**
   * The login, or `undefined` if there is none that ptc can read.
   *
   * @throws AuthorizationError if the storage cannot be used.
   */
  read(key: LoginKey): Promise<Login | undefined>;
  /** Describes where a login is kept; `undefined` if there is none. */
  place(key: LoginKey): Promise<string | undefined>;
  /** Writes a login atomically. @throws AuthorizationError */
  write(key: LoginKey, login: Login): Promise<void>;
  /** Deletes a login. Returns whether there was one. @throws AuthorizationError */
  remove(key: LoginKey): Promise<boolean>;
  /** Runs work while no other process can change the login. @throws AuthorizationError, and what the work throws. */
  withLock<T>(key: LoginKey, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/**
 * The logins of this user, in the system's keyring or else in private files. In either case each login has a file that changes with
 * it, so that every process can cheaply notice changes by another.
 */
export class FileLoginStore implements LoginStore {
  readonly #folder: string;
  readonly #openKeyring: () => Promise<Keyring | undefined>;
  #keyring: Promise<Keyring | undefined> | undefined;

  constructor({ folder, keyring }: LoginStoreOptions) {
    this.#folder = folder;
    this.#openKeyring = keyring;
  }

  async version(key: LoginKey): Promise<string> {
    try {
      const { ino, mtimeNs, size } = await stat(this.#path(key), { bigint: true });
      return `${ino}.${mtimeNs}.${size}`;
    } catch {
      return "";
    }
  }

  async read(key: LoginKey): Promise<Login | undefined> {
    const file = await this.#readFile(key);
    if (file === undefined) return undefined;
    const login = parseLogin(file.in === "file" ? file.login : await this.#readKeyring(key));
    // A login is used only if it says that it is for this principal and this server.
    return login?.principal === key.principal && login.url === key.url ? login : undefined;
  }

  async place(key: LoginKey): Promise<string | undefined> {
    const file = await this.#readFile(key);
    if (file === undefined) return undefined;
    return file.in === "file" ? this.#path(key) : (await this.#openedKeyring())?.name;
  }

  async write(key: LoginKey, login: Login): Promise<void> {
    this.#makeFolder();
    const keyring = await this.#openedKeyring();
    let kept = false;
    try {
      await keyring?.set(accountOf(key), JSON.stringify(login));
      kept = keyring !== undefined;
    } catch (error) {
      // Some keyrings store only short values, and some cannot be unlocked without a person.
      if (!(error instanceof KeyringError)) throw error;
    }
    const content = kept ? { version: 1, in: "keyring" } : { version: 1, in: "file", login };
    await this.#writeFile(key, JSON.stringify(content));
  }

  async remove(key: LoginKey): Promise<boolean> {
    const file = await this.#readFile(key);
    if (file === undefined) return false;
    if (file.in === "keyring") {
      try {
        await (await this.#openedKeyring())?.delete(accountOf(key));
      } catch (error) {
        throw keyringFault(error);
      }
    }
    await rm(this.#path(key), { force: true });
    return true;
  }

  withLock<T>(key: LoginKey, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    this.#makeFolder();
    return withLock(join(this.#folder, `${loginName(key)}.lock`), work, signal);
  }

  #path(key: LoginKey): string {
    return join(this.#folder, `${loginName(key)}.json`);
  }

  async #readFile(key: LoginKey): Promise<z.infer<typeof LoginFile> | undefined> {
    let bytes: Buffer;
    try {
      bytes = await readFile(this.#path(key));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return undefined;
      throw new AuthorizationError(`has a login that cannot be read (${code}); check ${this.#path(key)}`);
    }
    // Only ptc writes these files, so a damaged one counts as missing.
    const parsed = LoginFile.safeParse(parseText(bytes.toString("utf8")));
    return parsed.success ? parsed.data : undefined;
  }

  async #readKeyring(key: LoginKey): Promise<unknown> {
    let text: string | undefined;
    try {
      text = await (await this.#openedKeyring())?.get(accountOf(key));
    } catch (error) {
      throw keyringFault(error);
    }
    return text === undefined ? undefined : parseText(text);
  }

  async #writeFile(key: LoginKey, text: string): Promise<void> {
    try {
      await writePrivateFile(this.#path(key), text);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new AuthorizationError(`has a login that cannot be written (${code}); check ${this.#folder}`);
    }
  }

  #makeFolder(): void {
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      const { mode, uid } = lstatSync(this.#folder);
      const me = process.getuid?.();
      const unsafe = whyFolderIsUnsafe(this.#folder, { isLink: false, mode, uid }, me);
      if (unsafe !== undefined)
        throw new AuthorizationError(
          `needs a folder for logins: ${this.#folder} ${unsafe.what}; ${unsafe.advice}`,
        );
      if (me === undefined || uid === me) chmodSync(this.#folder, 0o700);
      else throw new AuthorizationError(`needs a folder for logins: ${this.#folder} belongs to another user`);
    } catch (error) {
      if (error instanceof AuthorizationError) throw error;
      const { code } = error as NodeJS.ErrnoException;
      throw new AuthorizationError(`needs a folder for logins: ${this.#folder} cannot be made (${code})`);
    }
  }

  #openedKeyring(): Promise<Keyring | undefined> {
    this.#keyring ??= this.#openKeyring();
    return this.#keyring;
  }
}

/** A name for a key that reveals nothing about it. */
export function loginName({ principal, server, url, clientId }: LoginKey): string {
  const digest = textDigest(JSON.stringify([principal, server, url, clientId ?? null]));
  return digest.slice("sha256:".length).slice(0, 32);
}

function accountOf(key: LoginKey): string {
  return `login ${key.server} ${loginName(key)}`;
}

function keyringFault(error: unknown): Error {
  if (!(error instanceof KeyringError)) return error as Error;
  return new AuthorizationError(`has a login that cannot be read: ${error.message}`);
}

function parseLogin(value: unknown): Login | undefined {
  const parsed = Login.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

function parseText(text: string): unknown {
  try {
    return parseForeignJson(text, LIMITS);
  } catch {
    return undefined;
  }
}

/** Longer than any holder takes, because its requests to an authorization server are bounded. */
export const LOGIN_PATIENCE_MS = 90_000;

/** Runs work while holding the lock. @throws AuthorizationError if the lock stays taken, and whatever the work throws. */
export async function withLock<T>(path: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const release = await acquire(path, signal);
  try {
    return await work();
  } finally {
    release();
  }
}

async function acquire(path: string, signal: AbortSignal | undefined): Promise<() => void> {
  try {
    return await lockFile(path, { patienceMs: LOGIN_PATIENCE_MS, signal });
  } catch (error) {
    if (!(error instanceof LockError)) throw error;
    throw new AuthorizationError(
      error.code === "busy"
        ? "waits for another ptc that does not finish with its login; end that one"
        : `needs a login, and ${error.message}`,
    );
  }
}

/** The OAuth client with which ptc logged in (RFC 7591, section 2). */
export const Client = z.object({
  id: z.string(),
  secret: z.optional(z.string()),
  /** `token_endpoint_auth_method`, if the registration or the user names one. */
  authMethod: z.optional(z.string()),
  /** The source of the client: the configuration, its metadata document, or a registration by ptc. */
  kind: z.enum(["configured", "document", "registered"]),
  redirectUri: z.optional(z.string()),
  /** When the secret expires, in milliseconds since 1970. */
  expiresAt: z.optional(z.number()),
});
export type Client = z.infer<typeof Client>;

/** A stored login: tokens, and everything that they are bound to. */
export const Login = z.object({
  version: z.literal(1),
  /** The binding: on whose behalf, for which server, by which authorization server. */
  principal: z.string(),
  url: z.string(),
  issuer: z.string(),
  /** The resource indicator that the tokens are for (RFC 8707). */
  resource: z.optional(z.string()),
  tokenEndpoint: z.string(),
  revocationEndpoint: z.optional(z.string()),
  /** `token_endpoint_auth_methods_supported`. */
  authMethods: z.optional(z.array(z.string())),
  /** The zone in which the server was reached, which limits where its authorization server may be. */
  zone: z.optional(z.enum(["public", "private", "loopback", "forbidden"])),
  client: Client,
  /** `undefined` once the login has ended; then only its client and scopes are known. */
  accessToken: z.optional(z.string()),
  refreshToken: z.optional(z.string()),
  /** In milliseconds since 1970; `undefined` if the authorization server did not say. */
  expiresAt: z.optional(z.number()),
  /** The granted scopes if the authorization server named them, else the requested ones. */
  scope: z.optional(z.string()),
  /** The requested scopes. The authorization server may have granted only some of them. */
  askedScope: z.optional(z.string()),
  /** The scopes that the next login should request, because the server wants more than were granted. */
  wantedScope: z.optional(z.string()),
});
export type Login = z.infer<typeof Login>;

/** The key of a login. A login for one key is never used for another. */
export interface LoginKey {
  readonly principal: string;
  /** The configured name of the server. Two entries with one URL have separate logins, for example for two accounts. */
  readonly server: string;
  readonly url: string;
  /** The configured client, if there is one. */
  readonly clientId: string | undefined;
}

/** Whether two names mean the same authorization server. Some issuers end with a slash, which people leave out. */
export function isSameIssuer(one: string, other: string): boolean {
  return one.replace(/\/$/, "") === other.replace(/\/$/, "");
}

/** Merges lists of scopes without duplicates, in order (RFC 6749, section 3.3). */
export function uniteScopes(...scopes: (string | undefined)[]): string | undefined {
  const all = scopes.flatMap((scope) => (scope ?? "").split(/\s+/)).filter((scope) => scope !== "");
  return all.length === 0 ? undefined : [...new Set(all)].join(" ");
}

/** Whether a list of scopes contains all of another. */
export function includesScopes(granted: string | undefined, wanted: string | undefined): boolean {
  return uniteScopes(granted, wanted) === uniteScopes(granted);
}
