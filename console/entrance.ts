/** How a session of the console begins: with a one-time address on the user's own machine, or with a login at an issuer. */
import { randomBytes } from "node:crypto";
import * as z from "zod/mini";
import { Allowance } from "../base/allowance.ts";
import { RecentlyUsed } from "../base/recently-used.ts";
import { askBrowser, type BrowserIssuer, browserClaims, IdentityError } from "../logins/browser-identity.ts";
import { BASE } from "./shell.ts";
import { isSameText, type Sessions, type Viewer } from "./viewer.ts";

/** The answer to a request without a session. */
export type Entered =
  /** A session begins, and the browser goes on to a page. */
  | { kind: "in"; viewer: Viewer; to: string }
  /** The browser is redirected to another site, and gets a cookie. */
  | { kind: "sent"; to: string; cookie?: string | undefined }
  /** A page says why there is no session, and what to do. */
  | {
      kind: "refused";
      status: 400 | 401 | 403 | 429;
      message: string;
      choices?: readonly { name: string; href: string }[];
    };

export interface Entrance {
  /**
   * @param path below the console, such as `open`.
   * @param to the page that was asked for, below the console.
   * @param address the address that the request comes from.
   */
  enter(path: string, request: Request, to: string, sessions: Sessions, address: string): Promise<Entered>;
}

const KEY_MS = 10 * 60_000;

/** The address that `ptc console` prints. It opens the console once, in one browser. */
export class OneTimeAddress implements Entrance {
  readonly #viewer: Viewer;
  readonly #now: () => number;
  #key: { text: string; until: number } | undefined;

  constructor(viewer: Viewer, now: () => number) {
    this.#viewer = viewer;
    this.#now = now;
  }

  /** Makes another address, and forgets the last one. @param origin of the console. */
  make(origin: string): string {
    const text = randomBytes(24).toString("base64url");
    this.#key = { text, until: this.#now() + KEY_MS };
    return `${origin}${BASE}/open?key=${text}`;
  }

  async enter(path: string, request: Request): Promise<Entered> {
    const key = new URL(request.url).searchParams.get("key") ?? "";
    if (path !== "open")
      return {
        kind: "refused",
        status: 401,
        message: "This browser has no session here. Open the address that ptc console prints.",
      };
    const known = this.#key;
    if (known === undefined || known.until <= this.#now() || !isSameText(known.text, key))
      return {
        kind: "refused",
        status: 403,
        message:
          "This address was already used, or it is too old. Start ptc console again, or press Enter where it runs, for another.",
      };
    this.#key = undefined;
    return { kind: "in", viewer: this.#viewer, to: `${BASE}/` };
  }
}

const Asked = z.object({
  asked: z.object({ issuer: z.string(), state: z.string(), nonce: z.string(), codeVerifier: z.string() }),
  to: z.string(),
  until: z.number(),
});

const LOGIN_MS = 10 * 60_000;
const ISSUERS_MS = 5_000;
const MAX_ANSWERED = 10_000;

interface PeopleOptions {
  /** Where people log in, with ptc's client there. Its redirect URI is `ORIGIN/console/callback`. */
  issuers: () => Promise<readonly BrowserIssuer[]>;
  /** The person whom an issuer's claims identify, or why they may not enter. */
  viewerOf: (issuer: string, claims: Readonly<Record<string, unknown>>) => Viewer | { readonly why: string };
  origin: string;
  now: () => number;
}

/** A login at an issuer (OpenID Connect, authorization code with PKCE), bound to the browser that begins it. */
export class PeopleLogin implements Entrance {
  readonly #options: PeopleOptions;
  #issuers: { found: Promise<readonly BrowserIssuer[]>; until: number } | undefined;
  /** Answers of issuers, each of which ptc verifies at the issuer. */
  readonly #answers = new Allowance({ burst: 20, perSecond: 0.5 }, { burst: 200, perSecond: 20 });
  /** States of logins that were answered. */
  readonly #answered = new RecentlyUsed<string, true>({ maxEntries: MAX_ANSWERED });

  constructor(options: PeopleOptions) {
    this.#options = options;
  }

  async enter(
    path: string,
    request: Request,
    to: string,
    sessions: Sessions,
    address: string,
  ): Promise<Entered> {
    try {
      if (path === "callback") return await this.#finish(request, sessions, address);
      return await this.#begin(request, to, sessions);
    } catch (error) {
      if (error instanceof IdentityError) return { kind: "refused", status: 400, message: error.message };
      throw error;
    }
  }

  async #begin(request: Request, to: string, sessions: Sessions): Promise<Entered> {
    const { now } = this.#options;
    const issuers = await this.#readIssuers();
    const wanted = new URL(request.url).searchParams.get("issuer");
    const issuer = issuers.length === 1 ? issuers[0] : issuers.find((each) => each.issuer === wanted);
    if (issuer === undefined) {
      const query = (name: string) => new URLSearchParams({ issuer: name, to }).toString();
      const choices = issuers.map((each) => ({
        name: each.issuer,
        href: `${BASE}/login?${query(each.issuer)}`,
      }));
      return { kind: "refused", status: 401, message: "Log in to see what ptc does for you.", choices };
    }
    const { url, asked } = await askBrowser(issuer, this.#redirectUri);
    const sealed = await sessions.seal("login", { asked, to, until: now() + LOGIN_MS });
    return { kind: "sent", to: url.href, cookie: sessions.cookie("login", sealed, LOGIN_MS) };
  }

  /** The issuers. Their metadata and secrets are not read again for each request. */
  #readIssuers(): Promise<readonly BrowserIssuer[]> {
    const now = this.#options.now();
    if (this.#issuers === undefined || this.#issuers.until <= now)
      this.#issuers = { found: this.#options.issuers(), until: now + ISSUERS_MS };
    return this.#issuers.found;
  }

  async #finish(request: Request, sessions: Sessions, address: string): Promise<Entered> {
    const { now, viewerOf } = this.#options;
    const { searchParams } = new URL(request.url);
    const held = await sessions.opened("login", Asked, sessions.value(request, "login"));
    if (held === undefined || held.until <= now() || held.asked.state !== searchParams.get("state"))
      return {
        kind: "refused",
        status: 400,
        message: "This does not belong to a login that began in this browser, or the login took too long.",
        choices: [{ name: "Log in again", href: `${BASE}/login` }],
      };
    const issuer = (await this.#readIssuers()).find((each) => each.issuer === held.asked.issuer);
    if (issuer === undefined)
      return { kind: "refused", status: 400, message: "This issuer is no longer accepted here." };
    if (this.#answered.has(held.asked.state))
      return {
        kind: "refused",
        status: 400,
        message: "This login was already completed.",
        choices: [{ name: "Log in again", href: `${BASE}/login` }],
      };
    if (!this.#answers.take(address))
      return { kind: "refused", status: 429, message: "Too many logins just now; try again in a minute." };
    this.#answered.set(held.asked.state, true);
    const claims = await browserClaims(issuer, held.asked, searchParams, this.#redirectUri);
    const viewer = viewerOf(issuer.issuer, claims);
    if ("why" in viewer) return { kind: "refused", status: 403, message: viewer.why };
    return { kind: "in", viewer, to: held.to };
  }

  get #redirectUri(): string {
    return `${this.#options.origin}${BASE}/callback`;
  }
}
