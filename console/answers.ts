/**
 * What the routes of all pages share: the parts of the console, pages in their document, forms that redirect, and error
 * pages. The routes of a page are in its file, below its rendering.
 */

import type { Context } from "hono";
import type { Hono } from "hono/tiny";
import type { BlankSchema } from "hono/types";
import { ArchiveError } from "../archive/archive-error.ts";
import { oneLine } from "../base/visible-text.ts";
import { CatalogError } from "../catalog/catalog-error.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import type { ListedQuestion } from "../execution/pending/pending-approvals.ts";
import { PendingError } from "../execution/pending/tickets.ts";
import { PasskeyError } from "../logins/passkeys.ts";
import { identityOf } from "../protocol/run-context.ts";
import { html } from "../server/pages/page.ts";
import type { Feed } from "./feed.ts";
import type { LiveRuns } from "./live-runs.ts";
import type { ConsoleParts } from "./parts.ts";
import {
  type AssetNames,
  BASE,
  type ConsolePage,
  type Frame,
  renderBarePage,
  renderConsolePage,
  renderHeading,
} from "./shell.ts";
import type { Sight } from "./sight.ts";
import type { Rights, Session, Sessions } from "./viewer.ts";

const MAX_OUTCOMES = 200;

export type Env = {
  Bindings: { address: string };
  Variables: { session: Session; rights: Rights; sight: Sight; rules: string };
};
export type Asked = Context<Env>;
/** The application at which pages register their routes. */
export type Routes = Hono<Env, BlankSchema, typeof BASE>;

/** The record does not exist, or this viewer may not see it. */
export class NotFound extends Error {
  override readonly name = "NotFound";
}

/** A request of a viewer is refused. The message is one line, for the viewer. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly status: 400 | 403 | 404 | 409 | 413 | 429;

  constructor(status: RefusedError["status"], message: string) {
    super(message);
    this.status = status;
  }
}

/** The state of a console, besides its parts. */
interface Shared {
  readonly sessions: Sessions;
  readonly feed: Feed;
  /** The runs in progress of this process; `undefined` if the console follows none. */
  readonly live: LiveRuns | undefined;
  /** Aborts when the console closes. */
  readonly closing: AbortSignal;
  readonly assets: AssetNames;
}

export class Answers {
  readonly parts: ConsoleParts;
  readonly sessions: Sessions;
  readonly feed: Feed;
  readonly live: LiveRuns | undefined;
  readonly closing: AbortSignal;
  /** When this process began to collect what it alone knows, in milliseconds since 1970. */
  readonly startedAt: number;
  readonly #assets: AssetNames;

  constructor(parts: ConsoleParts, { sessions, feed, live, closing, assets }: Shared) {
    this.parts = parts;
    this.sessions = sessions;
    this.feed = feed;
    this.live = live;
    this.closing = closing;
    this.startedAt = parts.now();
    this.#assets = assets;
  }

  /** Answers with a page, or with an error page. */
  async page(c: Asked, make: () => Promise<ConsolePage>): Promise<Response> {
    const page = await make().catch((error: unknown) => explain(error));
    if (page.rules) c.set("rules", page.rules);
    return c.html(renderConsolePage(page, await this.frame(c)), (page.status ?? 200) as 200);
  }

  /** Runs an action and redirects the browser to a page. */
  async act(c: Asked, act: () => Promise<string>): Promise<Response> {
    try {
      return c.redirect(await act(), 303);
    } catch (error) {
      const page = explain(error);
      return c.html(renderConsolePage(page, await this.frame(c)), (page.status ?? 500) as 500);
    }
  }

  /** Answers a request of a page's script. An error is one line for the viewer. */
  async json(c: Asked, make: () => Promise<object>): Promise<Response> {
    try {
      return c.json(await make());
    } catch (error) {
      const status = error instanceof RefusedError ? error.status : 403;
      const isKnown = error instanceof RefusedError || READABLE.some((kind) => error instanceof kind);
      if (isKnown && error instanceof Error) return c.json({ why: oneLine(error.message, 2_000) }, status);
      throw error;
    }
  }

  /** Answers with a page for somebody without a session. */
  bare(
    c: Asked,
    status: 400 | 401 | 403 | 413 | 429 | 500,
    title: string,
    message: string,
    choices: readonly { name: string; href: string }[] = [],
  ): Response {
    const links = choices.map(
      ({ name, href }) => html`<p><a class="button primary" href="${href}">${name}</a></p>`,
    );
    const page = { title, header: renderHeading(title), main: html`<p class="empty">${message}</p>${links}` };
    return c.html(renderBarePage(page, this.#assets), status);
  }

  /** What every page of this request shows. */
  async frame(c: Asked): Promise<Frame> {
    const waiting = await this.waiting(c).catch(() => []);
    const { project } = this.parts;
    return {
      session: c.get("session"),
      project,
      waiting: waiting.filter(({ isAnswered }) => !isAnswered).length,
      assets: this.#assets,
    };
  }

  /** The questions that wait for the viewer, answered ones among them. */
  async waiting(c: Asked): Promise<ListedQuestion[]> {
    return c.get("sight").questions(await this.parts.pending());
  }

  /** Limits runs to those that a viewer sees without a rule. */
  own(c: Asked): { principal?: string } {
    return c.get("sight").seesAll ? {} : { principal: c.get("session").viewer.principal };
  }

  /** Whose lines of the audit log a viewer sees. The gate notes that it permits those of everybody. */
  async audits(c: Asked): Promise<"own" | "all"> {
    const { audit, gate } = c.get("rights");
    if (audit !== "asked") return audit;
    return (await gate?.({ action: "audit" })) === true ? "all" : "own";
  }

  /** The tools that a viewer may call. */
  async catalog(c: Asked) {
    const { principal, groups } = c.get("session").viewer;
    return (await this.parts.tools()).callableFor(identityOf({ principal, groups }));
  }
}

/** Remembers an outcome, and forgets the oldest of too many. */
export function keepNewest<T>(outcomes: Map<string, T>, key: string, outcome: T): void {
  outcomes.delete(key);
  outcomes.set(key, outcome);
  const [oldest] = outcomes.keys();
  if (outcomes.size > MAX_OUTCOMES && oldest !== undefined) outcomes.delete(oldest);
}

/** More fields than any form of the console has. */
const MAX_FORM_BYTES = 64 * 1024;
const forms = new WeakMap<Request, Promise<URLSearchParams>>();

/** The fields of a form. It is read once for a request. @throws RefusedError for one that is too large */
export function formOf(c: Asked): Promise<URLSearchParams> {
  const known = forms.get(c.req.raw) ?? readForm(c.req.raw);
  forms.set(c.req.raw, known);
  return known;
}

async function readForm(request: Request): Promise<URLSearchParams> {
  const tooLarge = new RefusedError(413, "This form is too large.");
  if (Number(request.headers.get("content-length") ?? 0) > MAX_FORM_BYTES) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MAX_FORM_BYTES) throw tooLarge;
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
}

/** The page for an error. @throws an error that neither a viewer nor the archive has caused. */
function explain(error: unknown): ConsolePage {
  const page = (title: string, text: string, status: number): ConsolePage => ({
    title,
    place: undefined,
    status,
    header: renderHeading(title),
    main: html`<p class="empty">${text}</p><p><a href="${BASE}/">To the overview</a></p>`,
  });
  if (isMissing(error)) return page("Not here", "There is nothing here, or nothing that you may see.", 404);
  if (error instanceof RefusedError) return page("Refused", error.message, error.status);
  if (error instanceof PasskeyError) return page("Refused", oneLine(error.message, 2_000), 403);
  if (READABLE.some((kind) => error instanceof kind) && error instanceof Error)
    return page("Cannot be read", oneLine(error.message, 2_000), 500);
  throw error;
}

export function isMissing(error: unknown): boolean {
  return error instanceof NotFound || (error instanceof ArchiveError && error.code === "missing");
}

/** Errors whose message is meant for the user. */
const READABLE = [PasskeyError, ArchiveError, PendingError, CatalogError, ConfigurationError];
