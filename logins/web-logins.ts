/**
 * Logins of people at servers, where people reach ptc over HTTP. A person's client shows an address of ptc. Anybody who opens it logs in
 * at the issuer first, which proves who sits at the browser. ptc redirects only the person who began the login to the server's
 * authorization server, whose answer returns to ptc and is valid only in that browser. So nobody can finish another person's login,
 * even with the address.
 *
 *     GET BASE/logins/start?login=...    who is at the browser? ─► issuer
 *     GET BASE/logins/who?code=...       it is that person      ─► the server's authorization server
 *     GET BASE/logins/callback?code=...  the login is kept
 *
 * No process holds state between steps: what the next step needs is sealed in the address, or in a cookie of the browser. Any process with
 * the same keys can answer each step. The process that waits for the login finds it in the store.
 */
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod/mini";
import { clock } from "../base/clock.ts";
import { messageOf } from "../base/faults.ts";
import { parseForeignJson } from "../base/json.ts";
import { oneLine } from "../base/visible-text.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { type Sealer, SealingError } from "../secrets/sealing.ts";
import { AuthorizationError, type OnLogin } from "../upstream/authorization/authorization.ts";
import type { LoginStore } from "../upstream/authorization/login-store.ts";
import { completePersonLogin, isAnswerTo, KeptLogin } from "../upstream/authorization/oauth/person-login.ts";
import type { LoginSecrets } from "../upstream/secret-sources.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { askBrowser, type BrowserIssuer, IdentityError, identifyBrowser } from "./browser-identity.ts";
import { prepareLogin } from "./log-in.ts";
import { faultOf, loginKeyOf, loginServer } from "./logins.ts";

/** The time limit for all steps together. */
const PATIENCE_MS = 10 * 60_000;
const LOOK_MS = 500;
/** The most that a browser keeps in one cookie, including name and attributes. */
const MAX_COOKIE_CHARS = 4_000;
const LIMITS = { maxBytes: 16 * 1024, maxDepth: 8 };

export interface WebLoginsOptions {
  /** The URL that clients are given. */
  publicUrl: string;
  configuration: () => Configuration;
  store: LoginStore;
  secrets: LoginSecrets;
  /** Seals values that pass through browsers; the same keys in every process. */
  sealer: () => Promise<Sealer>;
  /** Where people log in, with ptc's client there. */
  issuers: () => Promise<readonly BrowserIssuer[]>;
  /** The principal of a subject of an issuer; `undefined` for an invalid subject. */
  principalOf: (issuer: string, subject: unknown) => string | undefined;
  onLogin?: OnLogin | undefined;
}

/** A login that waits for the person for whom it was begun. */
export interface WaitingWebLogin {
  readonly url: string;
  /** Resolves when any process has stored the login. @throws UpstreamError if it was cancelled, or nobody came. */
  readonly done: Promise<void>;
  cancel(reason: string): void;
}

/** The meaning of one of ptc's addresses. */
const Wanted = z.object({ principal: z.string(), server: z.string(), until: z.number() });
type Wanted = z.infer<typeof Wanted>;

/** What a browser keeps while its person logs in at the issuer, and then at the authorization server. */
const Identifying = z.object({
  wanted: Wanted,
  asked: z.object({
    issuer: z.string(),
    state: z.string(),
    nonce: z.string(),
    codeVerifier: z.string(),
  }),
});
const LoggingIn = z.object({ wanted: Wanted, kept: KeptLogin });

export class WebLogins {
  readonly #options: WebLoginsOptions;
  readonly #base: URL;

  constructor(options: WebLoginsOptions) {
    this.#options = options;
    this.#base = new URL(`${options.publicUrl.replace(/\/$/, "")}/logins/`);
  }

  /** Begins a login of a principal at a server. `undefined` where the server has no logins. @throws UpstreamError */
  async begin(
    principal: string,
    serverName: string,
    signal: AbortSignal,
  ): Promise<WaitingWebLogin | undefined> {
    const server = loginServer(this.#options.configuration(), serverName);
    const wanted: Wanted = { principal, server: server.name, until: clock.wallMs() + PATIENCE_MS };
    const url = new URL("start", this.#base);
    url.searchParams.set("login", await this.#seal(wanted, "address"));
    const stop = new AbortController();
    let why = "it was cancelled";
    const done = this.#kept(wanted, AbortSignal.any([signal, stop.signal]), () => why);
    done.catch(() => {});
    return {
      url: url.href,
      done,
      cancel(reason) {
        why = reason;
        stop.abort();
      },
    };
  }

  /** Answers a request of a browser; `undefined` for one that is not about logins. Never rejects. */
  async handle(request: Request): Promise<Response | undefined> {
    const { pathname, searchParams } = new URL(request.url);
    if (!pathname.startsWith(this.#base.pathname)) return undefined;
    const step = STEPS.get(pathname.slice(this.#base.pathname.length));
    if (step === undefined || request.method !== "GET") return page(404, "There is nothing here.");
    try {
      return await this[step](searchParams, cookiesOf(request));
    } catch (error) {
      if (error instanceof RefusedError) return page(error.status, error.message);
      if (
        error instanceof IdentityError ||
        error instanceof UpstreamError ||
        error instanceof AuthorizationError
      )
        return page(400, `ptc could not log in: ${oneLine(error.message, 500)}`);
      return page(
        500,
        "ptc could not log in. The reason is in the messages of the ptc that serves this page.",
      );
    }
  }

  /** Asks who is at the browser. */
  async start(query: URLSearchParams): Promise<Response> {
    const wanted = await this.#opened(Wanted, query.get("login"), "address");
    if (wanted === undefined || isOver(wanted))
      throw new RefusedError(
        400,
        "This address has expired, or is not whole. Call the server again to get another.",
      );
    const issuer = await this.#issuerOf(wanted.principal);
    const { url, asked } = await askBrowser(issuer, this.#at("who"));
    return this.#sendOn(url, { who: await this.#seal({ wanted, asked }, "who"), state: asked.state });
  }

  /** Redirects the person for whom the login was begun to the authorization server. Refuses everybody else. */
  async who(query: URLSearchParams, cookies: ReadonlyMap<string, string>): Promise<Response> {
    const held = await this.#opened(Identifying, cookies.get(this.#cookieName(query)), "who");
    if (held === undefined || isOver(held.wanted) || held.asked.state !== query.get("state"))
      throw notBegunHere();
    const { wanted, asked } = held;
    const issuer = await this.#issuerOf(wanted.principal);
    const subject = await identifyBrowser(issuer, asked, query, this.#at("who"));
    const { configuration, secrets, store, principalOf } = this.#options;
    if (issuer.issuer !== asked.issuer || principalOf(issuer.issuer, subject) !== wanted.principal)
      throw new RefusedError(
        403,
        "This login is for another person than the one who is logged in at this browser.",
      );
    const server = loginServer(configuration(), wanted.server);
    const key = loginKeyOf(wanted.principal, server);
    const previous = await store.read(key).catch(() => undefined);
    const begun = await prepareLogin(server, { key, secrets, previous, redirectUri: this.#at("callback") });
    if (begun === undefined) throw new RefusedError(400, `Server '${server.name}' asks for no login.`);
    const kept = await this.#seal({ wanted, kept: begun.kept }, "login");
    return this.#sendOn(begun.url, { who: kept, state: begun.kept.state }, this.#cookieName(query));
  }

  /** Keeps a login. */
  async callback(query: URLSearchParams, cookies: ReadonlyMap<string, string>): Promise<Response> {
    const name = this.#cookieName(query);
    const held = await this.#opened(LoggingIn, cookies.get(name), "login");
    if (held === undefined || isOver(held.wanted) || !isAnswerTo(held.kept, query)) throw notBegunHere();
    const { wanted, kept } = held;
    const { configuration, store, onLogin } = this.#options;
    const server = loginServer(configuration(), wanted.server);
    const key = loginKeyOf(wanted.principal, server);
    const tell = (event: "logged_in" | "failed", reason?: string) =>
      onLogin?.({ principal: wanted.principal, server: server.name, event, reason });
    try {
      if (kept.principal !== key.principal || kept.url !== key.url)
        throw new AuthorizationError("has another url since the login was begun");
      const login = await completePersonLogin(kept, query, { clock });
      await store.withLock(key, () => store.write(key, login));
    } catch (error) {
      tell("failed", messageOf(error));
      throw faultOf(server.name, error);
    }
    tell("logged_in");
    const done = page(200, `ptc is logged in at '${server.name}' for you. You can close this page.`);
    done.headers.append("set-cookie", this.#cookie(name, "", 0));
    return done;
  }

  /** Resolves when the store has a newer login than before. */
  async #kept({ principal, server, until }: Wanted, signal: AbortSignal, why: () => string): Promise<void> {
    const { store, configuration } = this.#options;
    const key = loginKeyOf(principal, loginServer(configuration(), server));
    const before = await store.version(key);
    while (clock.wallMs() < until) {
      await delay(LOOK_MS, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted)
        throw new UpstreamError("cancelled", `server '${server}' was not logged in to: ${why()}`);
      if ((await store.version(key)) === before) continue;
      if ((await store.read(key))?.accessToken !== undefined) return;
    }
    throw new UpstreamError("cancelled", `server '${server}' was not logged in to: nobody came in time`);
  }

  async #issuerOf(principal: string): Promise<BrowserIssuer> {
    const issuers = await this.#options.issuers();
    const found = issuers.find(({ issuer }) => principal.startsWith(`${issuer}#`));
    if (found !== undefined) return found;
    throw new RefusedError(400, "ptc has no client at your issuer, so that nobody can log in here.");
  }

  #at(step: "who" | "callback"): string {
    return new URL(step, this.#base).href;
  }

  /** Redirects the browser, with a cookie that only it has. @param over a cookie that is no longer needed. */
  #sendOn(url: URL, { who, state }: { who: string; state: string }, over?: string): Response {
    const cookie = this.#cookie(this.#cookieName(new URLSearchParams({ state })), who, PATIENCE_MS / 1_000);
    if (cookie.length > MAX_COOKIE_CHARS)
      throw new RefusedError(
        400,
        "The authorization server of this server sends more than fits into a cookie.",
      );
    const response = new Response(null, { status: 302, headers: { ...HEADERS, location: url.href } });
    response.headers.append("set-cookie", cookie);
    if (over !== undefined) response.headers.append("set-cookie", this.#cookie(over, "", 0));
    return response;
  }

  /** Logins under way in one browser have a cookie each. Only ptc's own host sets one with that prefix. */
  #cookieName(query: URLSearchParams): string {
    const id = (query.get("state") ?? "").replaceAll(/[^\w-]/g, "").slice(0, 16);
    return `${this.#base.protocol === "https:" ? "__Host-" : ""}ptc-login-${id}`;
  }

  #cookie(name: string, value: string, seconds: number): string {
    // Browsers send it along when the issuer, or the server's authorization server, sends them back.
    const secure = this.#base.protocol === "https:" ? "; Secure" : "";
    return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
  }

  async #seal(value: object, purpose: Purpose): Promise<string> {
    const sealer = await this.#options.sealer();
    return sealer.seal(Buffer.from(JSON.stringify(value)), purposeOf(purpose)).toString("base64url");
  }

  async #opened<T>(
    schema: z.ZodMiniType<T>,
    sealed: string | null | undefined,
    purpose: Purpose,
  ): Promise<T | undefined> {
    if (!sealed || sealed.length > LIMITS.maxBytes || !/^[\w-]+$/.test(sealed)) return undefined;
    const sealer = await this.#options.sealer();
    try {
      const bytes = sealer.unseal(Buffer.from(sealed, "base64url"), purposeOf(purpose));
      return schema.safeParse(parseForeignJson(bytes, LIMITS)).data;
    } catch (error) {
      if (error instanceof SealingError) return undefined;
      throw error;
    }
  }
}

type Purpose = "address" | "who" | "login";
const purposeOf = (purpose: Purpose) => `ptc web login 1 ${purpose}`;

const STEPS: ReadonlyMap<string, "start" | "who" | "callback"> = new Map([
  ["start", "start"],
  ["who", "who"],
  ["callback", "callback"],
]);

function isOver({ until }: Wanted): boolean {
  return clock.wallMs() >= until;
}

/** The page that a browser shows when the login cannot continue. */
class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function notBegunHere(): RefusedError {
  return new RefusedError(
    400,
    "This does not belong to a login that began in this browser, or the login took too long.",
  );
}

function cookiesOf(request: Request): ReadonlyMap<string, string> {
  const pairs = (request.headers.get("cookie") ?? "").split(/; */);
  return new Map(
    pairs.map((pair): [string, string] => {
      const at = pair.indexOf("=");
      return [pair.slice(0, Math.max(at, 0)), pair.slice(at + 1)];
    }),
  );
}

const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

function page(status: number, text: string): Response {
  const safe = text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  const html = `<!doctype html><meta charset="utf-8"><title>ptc</title><p>${safe}</p>\n`;
  return new Response(html, { status, headers: { ...HEADERS, "content-type": "text/html; charset=utf-8" } });
}
