/**
 * Who uses the console, and how ptc knows: a session, sealed in a cookie that only the browser of that person has. No process
 * keeps it: every process with the same keys accepts it, and when a process with its own key ends, its sessions end.
 *
 * A session begins in one of two ways: with the one-time address that `ptc console` prints, or with a login at an issuer. Each time, ptc
 * makes a new session: a browser never chooses the session that it will have. A request that changes something has the session's token
 * in its form besides the cookie, and headers that say that it comes from a page of the console.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import * as z from "zod/mini";
import { parseForeignJson } from "../base/json.ts";
import type { Access } from "../broker/policy/authorizer.ts";
import { type Sealer, SealingError } from "../secrets/sealing.ts";

/** A person who looks at the console. */
export interface Viewer {
  readonly principal: string;
  /** The display name; the principal if no name is known. */
  readonly name: string;
  readonly groups?: readonly string[] | undefined;
  /** Whether their login lets them answer questions; by default it does. */
  readonly approves?: boolean | undefined;
  /** Whether their login lets them request the audit log of everybody. */
  readonly audits?: boolean | undefined;
}

/** What a viewer may see and do. */
export interface Rights {
  /** Whose runs and questions they see without a rule: their own, or everybody's. */
  readonly runs: "own" | "all";
  /** Whose lines of the audit log they see. `asked`: everybody's where the gate permits it, and otherwise their own. */
  readonly audit: "own" | "asked" | "all";
  /** Decides about the records of others. If absent, the viewer sees none of them. */
  readonly gate?: ((access: Access, runId?: string) => Promise<boolean>) | undefined;
  /** Whether they answer the questions that wait for them. */
  readonly approves: boolean;
  /** Whether they replay runs that they see. */
  readonly replays: boolean;
  /** Whether they save programs of runs that they see, which writes into the folder of the project. */
  readonly saves: boolean;
}

/** Decides what a viewer may see and do. It runs for each request, so that a changed rule takes effect at once. */
export type RightsOf = (viewer: Viewer) => Promise<Rights>;

const Session = z.object({
  id: z.string(),
  viewer: z.object({
    principal: z.string(),
    name: z.string(),
    groups: z.optional(z.array(z.string())),
    approves: z.optional(z.boolean()),
    audits: z.optional(z.boolean()),
  }),
  /** The token of its forms. */
  token: z.string(),
  /** Milliseconds since 1970. */
  until: z.number(),
});
export type Session = z.infer<typeof Session>;

const SESSION_MS = 12 * 60 * 60_000;
const MAX_REVOKED = 10_000;
/** The most that a browser keeps in one cookie, including name and attributes. */
const MAX_COOKIE_CHARS = 4_000;
const LIMITS = { maxBytes: 16 * 1024, maxDepth: 8 };

interface SessionsOptions {
  sealer: () => Promise<Sealer>;
  now: () => number;
  /** Where browsers reach the console. A cookie with the prefix `__Host-` needs HTTPS, so on loopback it has another name. */
  origin: string;
}

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #isSecure: boolean;
  /** Sessions that were ended here before they expired. */
  readonly #revoked = new Set<string>();
  /** By principal: sessions that began before this time are ended, except one. */
  readonly #alone = new Map<string, { id: string; untilMs: number }>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#isSecure = options.origin.startsWith("https:");
  }

  /** Begins a session. @returns its `Set-Cookie`; `undefined` if it is larger than a browser keeps. */
  async begin(viewer: Viewer): Promise<string | undefined> {
    const { now } = this.#options;
    const random = () => randomBytes(18).toString("base64url");
    const session: Session = {
      id: random(),
      token: random(),
      until: now() + SESSION_MS,
      viewer: { ...viewer, groups: viewer.groups === undefined ? undefined : [...viewer.groups] },
    };
    const cookie = this.cookie("session", await this.seal("session", session), SESSION_MS);
    return cookie.length > MAX_COOKIE_CHARS ? undefined : cookie;
  }

  /** The session of a request; `undefined` if it has no valid one. */
  async of(request: Request): Promise<Session | undefined> {
    const session = await this.opened("session", Session, this.value(request, "session"));
    return session !== undefined && this.counts(session) ? session : undefined;
  }

  /** Whether a session has neither expired nor been ended here. */
  counts({ id, until, viewer }: Session): boolean {
    const alone = this.#alone.get(viewer.principal);
    const isEnded = alone !== undefined && alone.id !== id && until - SESSION_MS <= alone.untilMs;
    return until > this.#options.now() && !this.#revoked.has(id) && !isEnded;
  }

  /** Ends every other session of the same principal in this process. Sessions that begin later are valid. */
  endOthers({ id, viewer }: Session): void {
    this.#alone.delete(viewer.principal);
    const [oldest] = this.#alone.keys();
    if (this.#alone.size >= MAX_REVOKED && oldest !== undefined) this.#alone.delete(oldest);
    this.#alone.set(viewer.principal, { id, untilMs: this.#options.now() });
  }

  /** Ends a session in this process, and in its browser. @returns the `Set-Cookie` that does so. */
  end({ id }: Session): string {
    if (this.#revoked.size >= MAX_REVOKED) this.#revoked.clear();
    this.#revoked.add(id);
    return this.cookie("session", "", 0);
  }

  /** A cookie of the console, which scripts of pages cannot read. Browsers send it with links from other sites, but not with their forms. */
  cookie(name: string, value: string, maxAgeMs: number): string {
    const secure = this.#isSecure ? "; Secure" : "";
    return `${this.#name(name)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${Math.floor(maxAgeMs / 1_000)}${secure}`;
  }

  value(request: Request, name: string): string | undefined {
    const wanted = `${this.#name(name)}=`;
    const pairs = (request.headers.get("cookie") ?? "").split(/; */);
    const found = pairs.filter((pair) => pair.startsWith(wanted));
    // Two cookies of one name: another site has set one of them.
    return found.length === 1 ? found[0]?.slice(wanted.length) : undefined;
  }

  /** Only a host itself can set a cookie with that prefix. Ports share cookies, so the other name contains the port. */
  #name(name: string): string {
    return this.#isSecure
      ? `__Host-ptc-console-${name}`
      : `ptc-console-${name}-${new URL(this.#options.origin).port}`;
  }

  async seal(purpose: string, value: object): Promise<string> {
    const sealer = await this.#options.sealer();
    return sealer.seal(Buffer.from(JSON.stringify(value)), `ptc console 1 ${purpose}`).toString("base64url");
  }

  async opened<T>(
    purpose: string,
    schema: z.ZodMiniType<T>,
    sealed: string | null | undefined,
  ): Promise<T | undefined> {
    if (!sealed || sealed.length > LIMITS.maxBytes || !/^[\w-]+$/.test(sealed)) return undefined;
    const sealer = await this.#options.sealer();
    try {
      const bytes = sealer.unseal(Buffer.from(sealed, "base64url"), `ptc console 1 ${purpose}`);
      return schema.safeParse(parseForeignJson(bytes, LIMITS)).data;
    } catch (error) {
      if (error instanceof SealingError) return undefined;
      throw error;
    }
  }
}

/** Compares texts in constant time, so that the time does not reveal where they differ. */
export function isSameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/**
 * Why a request is not from a page of the console itself, as its browser says (Fetch Metadata, `Origin`); `undefined` when it may be.
 * Links from other sites may open pages, and nothing else.
 */
export function whyForeign(request: Request, origin: string): string | undefined {
  const { headers, method } = request;
  const site = headers.get("sec-fetch-site");
  const isReading = method === "GET" || method === "HEAD";
  if (site !== null && site !== "same-origin" && site !== "none") {
    const isLink =
      headers.get("sec-fetch-mode") === "navigate" && headers.get("sec-fetch-dest") === "document";
    if (!(isReading && isLink)) return "This request comes from a page of another site.";
  }
  const from = headers.get("origin");
  if (from !== null && from !== origin) return "This request comes from a page of another site.";
  if (!isReading && from === null && site === null) return "This request does not say where it comes from.";
  return undefined;
}
