import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/faults.ts";
import { RecentlyUsed } from "../../base/recently-used.ts";
import { textDigest } from "../../protocol/canonical-json.ts";
import {
  type Authorization,
  AuthorizationError,
  type Challenge,
  type LoginEvent,
  LoginRequiredError,
  notEnough,
  type OnLogin,
} from "./authorization.ts";
import { includesScopes, type Login, type LoginKey, type LoginStore, uniteScopes } from "./login-store.ts";

/** A token is renewed when less than this is left, so that it does not expire on the way. */
const EARLY_MS = 15_000;

export interface StoredLoginOptions {
  key: LoginKey;
  store: LoginStore;
  /** Gets new tokens with the refresh token; `undefined` if that is no longer valid. @throws AuthorizationError */
  refresh: (login: Login, signal?: AbortSignal) => Promise<Login | undefined>;
  /** Receives every secret of the login before it is used. */
  onSecret: (secret: string) => void;
  /** Whether a login can answer a challenge. @throws AuthorizationError */
  offersLogin: (challenge: Challenge, signal?: AbortSignal) => Promise<boolean>;
  clock: Pick<Clock, "wallMs">;
  onLogin?: OnLogin | undefined;
}

/**
 * The login of one principal at one server. All processes of the user share it: the first that needs to renews a token,
 * and the others use the result. That matters because a refresh token that is used twice ends the whole login (OAuth 2.1,
 * section 4.3.1).
 */
export class StoredLogin implements Authorization {
  readonly #options: StoredLoginOptions;
  readonly #secrets = new Set<string>();
  #version: string | undefined;
  #login: Login | undefined;
  #renewing: Promise<void> | undefined;

  constructor(options: StoredLoginOptions) {
    this.#options = options;
  }

  async token(signal?: AbortSignal): Promise<string | undefined> {
    const login = await this.#load();
    if (login?.accessToken === undefined || !this.#expiresSoon(login)) return login?.accessToken;
    await this.#renew(login.accessToken, signal);
    return this.#login?.accessToken;
  }

  async challenged(
    challenge: Challenge,
    rejected: string | undefined,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const login = await this.#load();
    if (login?.accessToken !== undefined && login.accessToken !== rejected) return true;
    if (challenge.kind === "insufficient_scope") return this.#widen(challenge);
    if (rejected !== undefined) {
      await this.#renew(rejected, signal);
      if (this.#login?.accessToken !== undefined) return this.#login.accessToken !== rejected;
      throw new LoginRequiredError("the last one has expired or was revoked");
    }
    if (login !== undefined) throw new LoginRequiredError("the last one has ended");
    if (await this.#options.offersLogin(challenge, signal)) throw new LoginRequiredError();
    return false;
  }

  secrets(): readonly string[] {
    return [...this.#secrets];
  }

  /** The stored login, which is read again only if it has changed. */
  async #load(): Promise<Login | undefined> {
    const { store, key } = this.#options;
    const version = await store.version(key);
    if (version === this.#version) return this.#login;
    const login = version === "" ? undefined : await store.read(key);
    this.#adopt(login, version);
    return login;
  }

  #adopt(login: Login | undefined, version: string): void {
    for (const secret of [login?.accessToken, login?.refreshToken, login?.client.secret]) {
      if (secret === undefined || this.#secrets.has(secret)) continue;
      this.#secrets.add(secret);
      this.#options.onSecret(secret);
    }
    this.#login = login;
    this.#version = version;
  }

  #expiresSoon({ expiresAt, refreshToken }: Login): boolean {
    if (expiresAt === undefined || refreshToken === undefined) return false;
    return expiresAt - this.#options.clock.wallMs() < EARLY_MS;
  }

  /** Replaces the outdated token of the login, or leaves a login without a token. */
  #renew(outdated: string, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    // Callers share one renewal, which therefore continues when one of them gives up.
    this.#renewing ??= this.#renewLocked(outdated).finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renewLocked(outdated: string): Promise<void> {
    const { store, key, refresh } = this.#options;
    await store.withLock(key, async () => {
      const login = await store.read(key);
      if (login === undefined || login.accessToken !== outdated) return;
      try {
        const renewed = await refresh(login);
        await store.write(key, renewed ?? { ...login, accessToken: undefined, refreshToken: undefined });
        this.#tell(renewed === undefined ? "ended" : "renewed");
      } catch (error) {
        this.#tell("failed", messageOf(error));
        throw error;
      }
    });
    await this.#load();
  }

  #tell(event: LoginEvent["event"], reason?: string): void {
    const { key, onLogin } = this.#options;
    onLogin?.({ principal: key.principal, server: key.server, event, reason });
  }

  /** Makes the next login request the wanted scopes in addition to the current ones (MCP 2026-07-28, "Step-Up Authorization"). */
  async #widen({ scope }: Challenge): Promise<never> {
    const { store, key } = this.#options;
    const had = uniteScopes(this.#login?.scope, this.#login?.askedScope);
    // A server that wants scopes that were already requested would make a person log in again and again.
    if (scope === undefined || includesScopes(had, scope)) throw notEnough(scope);
    await store.withLock(key, async () => {
      const login = await store.read(key);
      if (login === undefined) return;
      const wantedScope = uniteScopes(login.scope, login.wantedScope, scope);
      if (wantedScope !== login.wantedScope) await store.write(key, { ...login, wantedScope });
    });
    throw new LoginRequiredError(`it wants more scopes (${scope})`);
  }
}

/** What a server demanded when it challenged a request. */
export interface Wanted {
  resourceMetadataUrl: string | undefined;
  scope: string | undefined;
}

export interface MachineLoginParts {
  /** Gets a token by the machine's own credentials. @throws AuthorizationError */
  fetch: (wanted: Wanted, signal?: AbortSignal) => Promise<{ token: string; expiresAt: number | undefined }>;
  onSecret: (secret: string) => void;
  clock: Pick<Clock, "wallMs">;
  /** Called when a token was received, or with the reason why none was. */
  onToken?: ((problem?: string) => void) | undefined;
}

/** The token of a machine. Getting one does not need a person, and it is kept as long as ptc runs. */
export class MachineLogin implements Authorization {
  readonly #parts: MachineLoginParts;
  readonly #secrets = new Set<string>();
  #wanted: Wanted = { resourceMetadataUrl: undefined, scope: undefined };
  #current: { token: string; expiresAt: number | undefined } | undefined;
  #fetching: Promise<void> | undefined;

  constructor(parts: MachineLoginParts) {
    this.#parts = parts;
  }

  async token(): Promise<string | undefined> {
    const { expiresAt = Number.POSITIVE_INFINITY } = this.#current ?? {};
    if (this.#current !== undefined && expiresAt - this.#parts.clock.wallMs() < EARLY_MS) await this.#renew();
    return this.#current?.token;
  }

  async challenged(
    { kind, resourceMetadataUrl, scope }: Challenge,
    rejected: string | undefined,
  ): Promise<boolean> {
    if (this.#current !== undefined && this.#current.token !== rejected) return true;
    // A server that demands what it already got would not accept it another time either.
    if (kind === "insufficient_scope" && includesScopes(this.#wanted.scope, scope)) throw notEnough(scope);
    this.#wanted = {
      resourceMetadataUrl: resourceMetadataUrl ?? this.#wanted.resourceMetadataUrl,
      scope: uniteScopes(this.#wanted.scope, scope),
    };
    await this.#renew();
    return true;
  }

  secrets(): readonly string[] {
    return [...this.#secrets];
  }

  #renew(): Promise<void> {
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    const { fetch, onToken } = this.#parts;
    const next = await fetch(this.#wanted).catch((error: unknown) => {
      onToken?.(messageOf(error));
      throw error;
    });
    this.#secrets.add(next.token);
    this.#parts.onSecret(next.token);
    this.#current = next;
    onToken?.();
  }
}

export interface CallerLoginParts {
  /** The token of the principal's current call; `undefined` if it came without one. */
  subject: () => string | undefined;
  /** Turns the caller's token into one for the server. @throws AuthorizationError */
  fetch: (subject: string, wanted: Wanted) => Promise<{ token: string; expiresAt: number | undefined }>;
  onSecret: (secret: string) => void;
  clock: Pick<Clock, "wallMs">;
  /** Called when a token was received, or with the reason why none was. */
  onToken?: ((problem?: string) => void) | undefined;
}

/** A principal's calls use few tokens at a time: one for each of its clients. */
const MAX_SUBJECTS = 16;

/**
 * The token on behalf of the caller. One is obtained for each token of the principal, is kept in memory until it expires, and is not
 * used for calls with another token.
 */
export class CallerLogin implements Authorization {
  readonly #parts: CallerLoginParts;
  readonly #secrets = new RecentlyUsed<string, true>({ maxEntries: 64 });
  readonly #kept = new RecentlyUsed<string, { token: string; expiresAt: number | undefined }>({
    maxEntries: MAX_SUBJECTS,
  });
  readonly #fetching = new Map<string, Promise<void>>();
  #wanted: Wanted = { resourceMetadataUrl: undefined, scope: undefined };

  constructor(parts: CallerLoginParts) {
    this.#parts = parts;
  }

  /** Whether the principal's call has a token. */
  get isApplicable(): boolean {
    return this.#parts.subject() !== undefined;
  }

  async token(): Promise<string | undefined> {
    const subject = this.#parts.subject();
    if (subject === undefined) return undefined;
    const key = textDigest(subject);
    const { expiresAt = Number.POSITIVE_INFINITY } = this.#kept.get(key) ?? { expiresAt: 0 };
    if (expiresAt - this.#parts.clock.wallMs() < EARLY_MS) await this.#renew(key, subject);
    return this.#kept.get(key)?.token;
  }

  async challenged(
    { kind, resourceMetadataUrl, scope }: Challenge,
    rejected: string | undefined,
  ): Promise<boolean> {
    const subject = this.#parts.subject();
    if (subject === undefined) return false;
    const key = textDigest(subject);
    const kept = this.#kept.get(key)?.token;
    if (kept !== undefined && kept !== rejected) return true;
    if (kind === "insufficient_scope" && includesScopes(this.#wanted.scope, scope)) throw notEnough(scope);
    this.#wanted = {
      resourceMetadataUrl: resourceMetadataUrl ?? this.#wanted.resourceMetadataUrl,
      scope: uniteScopes(this.#wanted.scope, kind === "insufficient_scope" ? scope : undefined),
    };
    await this.#renew(key, subject);
    return this.#kept.get(key)?.token !== rejected;
  }

  secrets(): readonly string[] {
    return [...this.#secrets.keys()];
  }

  #renew(key: string, subject: string): Promise<void> {
    const under = this.#fetching.get(key);
    if (under !== undefined) return under;
    const fetching = this.#fetch(key, subject).finally(() => this.#fetching.delete(key));
    this.#fetching.set(key, fetching);
    return fetching;
  }

  async #fetch(key: string, subject: string): Promise<void> {
    const { fetch, onToken, onSecret } = this.#parts;
    // Keeps the token out of messages that quote errors of authorization servers.
    onSecret(subject);
    const next = await fetch(subject, this.#wanted).catch((error: unknown) => {
      this.#kept.delete(key);
      onToken?.(messageOf(error));
      throw error;
    });
    this.#secrets.set(next.token, true);
    onSecret(next.token);
    this.#kept.set(key, next);
    onToken?.();
  }
}

/**
 * Uses the caller's token if there is one, and otherwise the server's usual authorization. A request that was refused to the caller
 * is not tried again with another identity.
 */
export class CallerOrElse implements Authorization {
  readonly #caller: CallerLogin;
  readonly #otherwise: Authorization | undefined;

  constructor(caller: CallerLogin, otherwise: Authorization | undefined) {
    this.#caller = caller;
    this.#otherwise = otherwise;
  }

  get #chosen(): Authorization | undefined {
    return this.#caller.isApplicable ? this.#caller : this.#otherwise;
  }

  async token(signal?: AbortSignal): Promise<string | undefined> {
    return this.#chosen?.token(signal);
  }

  async challenged(
    challenge: Challenge,
    rejected: string | undefined,
    signal?: AbortSignal,
  ): Promise<boolean> {
    if (this.#chosen !== undefined) return this.#chosen.challenged(challenge, rejected, signal);
    throw new AuthorizationError(
      "is used on behalf of whoever calls ptc over HTTP with a token of an issuer, and this call came without one",
    );
  }

  secrets(): readonly string[] {
    return [...this.#caller.secrets(), ...(this.#otherwise?.secrets() ?? [])];
  }
}
