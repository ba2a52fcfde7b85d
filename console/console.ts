/**
 * The console: pages about what runs, what waits for a person and what may be called. `Console` answers requests below `/console`,
 * whatever server they come through: `ptc console` for one person on loopback, `ptc serve --http` for people who log in.
 *
 * A request passes, in this order: the headers of every answer; where it comes from (`whyForeign`); what anybody may have, which is
 * style and script; the session, or the way to one (`Entrance`); for a form its size and its token; what the viewer may see (`RightsOf`).
 * Only then is a page made. Nothing of another's is ever told apart from what there never was.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { streamSSE } from "hono/streaming";
import { Hono } from "hono/tiny";
import { ArchiveError } from "../archive/archive-error.ts";
import { type ArchiveStore, allRuns } from "../archive/archive-store.ts";
import type { ArchivedRun } from "../archive/archived-run.ts";
import type { LogVerification } from "../archive/audit/chain/verify-log.ts";
import type { AuditSource } from "../archive/audit/reading/audit-source.ts";
import type { ListedRun, PageFilter, RunPage } from "../archive/listed-run.ts";
import { messageOf } from "../base/faults.ts";
import { oneLine } from "../base/visible-text.ts";
import { type ApprovalScope, parseScope } from "../broker/approvals/approval-scope.ts";
import { countsProven, NOT_PROVEN, type Proof, type RequiredProof } from "../broker/approvals/approvals.ts";
import { CatalogError } from "../catalog/catalog-error.ts";
import { whyNoName } from "../catalog/program-name.ts";
import type { ToolPrinter } from "../codegen/language-printer.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import {
  type CaseResult,
  POLICY_CASES_FILE,
  readPolicyCases,
  tryPolicyCases,
} from "../configuration/policy/policy-cases.ts";
import type { PendingApproval, PendingApprovals } from "../execution/pending/pending-approvals.ts";
import { PendingError } from "../execution/pending/tickets.ts";
import type { DirectCall } from "../execution/run-request.ts";
import type { RunWatcher } from "../execution/runs/run-events.ts";
import type { LoginStatus } from "../logins/logins.ts";
import { PasskeyError, type Passkeys } from "../logins/passkeys.ts";
import { digestOf } from "../protocol/canonical-json.ts";
import type { Sealer } from "../secrets/sealing.ts";
import { hashSource, html, readPageAssets } from "../server/pages/page.ts";
import { runParts } from "../server/pages/run-page.ts";
import { packageDirectory } from "../system/package.ts";
import type { ProgramTools } from "../tools/program-tools.ts";
import type { Entrance } from "./entrance.ts";
import { Feed } from "./feed.ts";
import { LiveRuns } from "./live-runs.ts";
import { auditFilterOf, newestLines, readAuditSearch, renderAudit } from "./pages/audit.ts";
import { MAX_SHOWN_TOOLS, renderTool, renderTools } from "./pages/catalog.ts";
import { findApproved, GONE, renderInbox, type ShownQuestion } from "./pages/inbox.ts";
import { renderLiveRun } from "./pages/live-run.ts";
import {
  type KnownSessions,
  type KnownToken,
  type KnownTokens,
  readTokenForm,
  renderMe,
} from "./pages/me.ts";
import { countListed, NEWEST_RUNS, OVERVIEW_DAYS, renderOverviewPage, timeListed } from "./pages/overview.ts";
import { programFacts, renderPrograms, type TestedProgram } from "./pages/programs.ts";
import { countDecisions, renderRules } from "./pages/rules.ts";
import { type ReplayOutcome, renderDifference, renderRun } from "./pages/run.ts";
import { filterOf, readRunSearch, renderRuns, runAddress } from "./pages/runs.ts";
import { recentCalls, renderBegunLogin, renderServers } from "./pages/servers.ts";
import { readTrial, renderTrial } from "./pages/trial.ts";
import { ceremonyAnswerIn, PasskeyPages } from "./passkeys.ts";
import { type CheckServers, ServerChecks } from "./server-checks.ts";
import {
  BASE,
  type ConsolePage,
  type Frame,
  renderBarePage,
  renderConsolePage,
  renderHeading,
} from "./shell.ts";
import { ownerOf, Sight } from "./sight.ts";
import {
  isSameText,
  type Rights,
  type RightsOf,
  type Session,
  Sessions,
  type Viewer,
  whyForeign,
} from "./viewer.ts";
import { type WhatIf, whatIf } from "./what-if.ts";

export interface ConsoleParts {
  /** The project, as people know it: its folder's name. */
  project: string;
  /** Where browsers reach it, such as `https://ptc.example.com`. */
  origin: string;
  configuration: () => Configuration;
  archive: ArchiveStore;
  pending: () => Promise<PendingApprovals>;
  audit: AuditSource;
  tools: () => Promise<ProgramTools>;
  printers: () => Promise<readonly ToolPrinter[]>;
  /** Replays a run when it is the viewer's turn. Without it nothing is replayed. Never rejects. */
  replay?: ((viewer: Viewer, runId: string, signal: AbortSignal) => Promise<ReplayOutcome>) | undefined;
  /** Tests a saved program when it is the viewer's turn. Without it nothing is tested. Never rejects. */
  test?:
    | ((viewer: Viewer, name: string, signal: AbortSignal) => Promise<TestedProgram | undefined>)
    | undefined;
  /** The logins of a viewer at the servers; `undefined` where they cannot be read now. Never rejects. */
  logins?: ((viewer: Viewer) => Promise<readonly LoginStatus[] | undefined>) | undefined;
  /** Begins the login of a viewer at a server, which goes on until the signal aborts. Without it nobody logs in here. Never rejects. */
  connect?: ((viewer: Viewer, server: string, signal: AbortSignal) => Promise<BegunLogin>) | undefined;
  /** Removes the login of a viewer at a server. Resolves with what has to be said of it. Never rejects. */
  disconnect?:
    | ((viewer: Viewer, server: string) => Promise<{ readonly why: string } | undefined>)
    | undefined;
  /** The tokens of the project, for whoever sees all of it, and those of each viewer. Without it there are none here. */
  tokens?: KnownTokens | undefined;
  /** The sessions in which programs of a viewer run. Without it there are none here. */
  sessions?: ((viewer: Viewer) => KnownSessions) | undefined;
  /** Without it no server is asked from here. */
  check?: CheckServers | undefined;
  /** Makes one call for a viewer, and resolves with its run when that is archived. Without it nothing is called here. Never rejects. */
  call?: ((viewer: Viewer, call: DirectCall, signal: AbortSignal) => Promise<TriedCall>) | undefined;
  /** Saves the program of a run under a name. Without it nothing is saved here. Never rejects. */
  save?:
    | ((asked: { runId: string; name: string; description: string; force: boolean }) => Promise<SavedRun>)
    | undefined;
  /** Follows the runs of this process. Without it, runs are seen when they are archived. */
  follow?: ((watcher: RunWatcher) => () => void) | undefined;
  entrance: Entrance;
  rightsOf: RightsOf;
  /** How a viewer stands in the audit log who answers a question. */
  nameInAudit: (viewer: Viewer) => string;
  passkeys: Passkeys;
  /** Seals sessions; the same keys in every process that serves this console. */
  sealer: () => Promise<Sealer>;
  now: () => number;
  onWarning: (message: string) => void;
  /** How often the storage is looked into for what is new, in milliseconds. */
  intervalMs?: number | undefined;
}

/** Where a login goes on, or why there is none, in one line. */
export type BegunLogin = { readonly address: string } | { readonly why: string };

/** The files of a program that was saved and what is to be said about it, a line each, or why nothing was saved, in one line. */
export type SavedRun =
  | { readonly files: readonly string[]; readonly notes: readonly string[] }
  | { readonly why: string };

/** The run of a call, or why it is not archived, in one line. */
export type TriedCall = { readonly runId: string } | { readonly why: string };

const MAX_FORM_BYTES = 64 * 1024;
const RUNS_ON_A_PAGE = 50;
/** How many runs are looked through for those that a viewer may read, where rules decide it. */
const MAX_LOOKED_THROUGH = 500;
/** How many of their runs are counted for a viewer who sees none but their own. */
const MAX_COUNTED_RUNS = 2_000;
const RULE_DAYS = 7;
const DAY_MS = 86_400_000;
const INTERVAL_MS = 1_000;
const HEARTBEAT_MS = 20_000;
const MAX_ALIKE = 20;
/** The most calls that are under way. */
const MAX_TRIALS = 8;
/** The most logins that were begun and may go on. */
const MAX_LOGINS = 50;
const LOGIN_MS = 10 * 60_000;
/** The most rules that are tried at once. */
const MAX_SUPPOSING = 2;
const MAX_OUTCOMES = 200;
const MAX_DESCRIPTION_CHARS = 300;
const MAX_BESIDE = 10;
const HOW = "ptc console";

type Env = { Variables: { session: Session; rights: Rights; sight: Sight; rules: string } };
type Asked = Context<Env>;

/** There is nothing, or nothing that this viewer may see. */
class NotFound extends Error {
  override readonly name = "NotFound";
}

/** What a viewer has asked for cannot be done. The message is one line, for the viewer. */
class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly status: 400 | 403 | 409 | 429;

  constructor(status: RefusedError["status"], message: string) {
    super(message);
    this.status = status;
  }
}

export class Console {
  readonly #parts: ConsoleParts;
  readonly #sessions: Sessions;
  readonly #feed: Feed;
  readonly #live: LiveRuns | undefined;
  readonly #assets = readConsoleAssets();
  readonly #app: { fetch(request: Request): Response | Promise<Response> };
  readonly #passkeys: PasskeyPages;
  readonly #checks: ServerChecks | undefined;
  /** Logins that were begun, by viewer and server. */
  readonly #logins = new Map<string, AbortController>();
  readonly #replays = new Map<string, ReplayOutcome | "under way">();
  /** Tests of saved programs, by viewer and name. */
  readonly #tests = new Map<string, TestedProgram | "under way">();
  readonly #closing = new AbortController();
  /** Since when what is in this process alone is known, in milliseconds since 1970. */
  readonly #startedAt: number;
  /** By run, as what programs were saved of it. */
  readonly #saved = new Map<string, { name: string; notes: readonly string[] }>();
  #trials = 0;
  #supposing = 0;
  #isSaving = false;

  constructor(parts: ConsoleParts) {
    this.#parts = parts;
    this.#startedAt = parts.now();
    const { origin, sealer, now, follow, archive, pending, intervalMs = INTERVAL_MS } = parts;
    this.#sessions = new Sessions({ origin, sealer, now });
    this.#live = follow && new LiveRuns(follow, now);
    this.#feed = new Feed({ archive, pending, live: this.#live, intervalMs });
    this.#passkeys = new PasskeyPages(parts.passkeys, () => this.#requiredProof);
    this.#checks = parts.check && new ServerChecks(parts.check, now);
    this.#app = this.#routes();
  }

  /** Answers a request below `/console`. Never rejects. */
  async fetch(request: Request): Promise<Response> {
    return this.#app.fetch(request);
  }

  /** Ends feeds, replays, checks and logins that go on. */
  close(): void {
    this.#closing.abort();
    this.#feed.close();
    this.#live?.close();
  }

  #routes(): { fetch(request: Request): Response | Promise<Response> } {
    const app = new Hono<Env>().basePath(BASE);
    const { style, script } = this.#assets;
    app.use(async (c, next) => {
      await next();
      this.#protect(c);
    });
    app.use(async (c, next) => {
      const why = whyForeign(c.req.raw, this.#parts.origin);
      return why === undefined ? next() : this.#bare(c, 403, "Refused", why);
    });
    for (const [{ name, text }, type] of [
      [style, "text/css"],
      [script, "text/javascript"],
    ] as const)
      app.get(`/assets/${name}`, (c) =>
        c.body(text, 200, {
          "Content-Type": `${type}; charset=utf-8`,
          "Cache-Control": "public, max-age=31536000, immutable",
        }),
      );
    app.use((c, next) => this.#identify(c, next));
    app.use(
      bodyLimit({
        maxSize: MAX_FORM_BYTES,
        onError: (c) => this.#bare(c as Asked, 403, "Refused", "This form is too large."),
      }),
    );
    app.use((c, next) => this.#checkToken(c, next));

    app.get("/", (c) => this.#page(c, () => this.#overview(c)));
    app.get("/runs", (c) => this.#page(c, () => this.#runs(c)));
    app.get("/runs/:id", (c) => this.#page(c, () => this.#run(c)));
    app.post("/runs/:id/replay", (c) => this.#act(c, () => this.#replay(c)));
    app.post("/runs/:id/save", (c) => this.#save(c));
    app.get("/diff", (c) => this.#page(c, () => this.#difference(c)));
    app.get("/inbox", (c) => this.#page(c, () => this.#inbox(c)));
    app.get("/inbox/:ticket", (c) => this.#page(c, () => this.#inbox(c, c.req.param("ticket"))));
    app.post("/inbox/:ticket", (c) => this.#act(c, () => this.#answer(c)));
    app.post("/inbox/:ticket/passkey", (c) => this.#json(c, () => this.#askForPasskey(c)));
    app.get("/servers", (c) => this.#page(c, () => this.#servers(c)));
    app.post("/servers/check", (c) => this.#act(c, () => this.#check(c)));
    app.post("/servers/:server/connect", (c) => this.#page(c, () => this.#connect(c)));
    app.post("/servers/:server/disconnect", (c) => this.#act(c, () => this.#disconnect(c)));
    app.get("/tools", (c) => this.#page(c, () => this.#tools(c)));
    app.get("/tools/:name", (c) => this.#page(c, () => this.#tool(c)));
    app.post("/tools/:name/call", (c) => this.#try(c));
    app.get("/programs", (c) => this.#page(c, () => this.#programs(c)));
    app.post("/programs/:name/test", (c) => this.#act(c, () => this.#test(c)));
    app.get("/rules", (c) => this.#page(c, () => this.#rules(c)));
    app.post("/rules/what-if", (c) => this.#page(c, () => this.#whatIf(c)));
    app.get("/audit", (c) => this.#page(c, () => this.#audit(c)));
    app.post("/audit/verify", (c) => this.#page(c, () => this.#verify(c)));
    app.get("/audit/export", (c) => this.#export(c));
    app.get("/me", (c) => this.#page(c, () => this.#me(c)));
    app.post("/me/passkeys", (c) =>
      this.#act(c, async () => this.#passkeys.register(await this.#ownForm(c))),
    );
    app.post("/me/passkeys/remove", (c) =>
      this.#act(c, async () => this.#passkeys.remove(await this.#ownForm(c))),
    );
    app.post("/me/passkeys/use", (c) =>
      this.#json(c, async () => this.#passkeys.askForUse(await this.#ownForm(c))),
    );
    app.post("/me/passkeys/offer", (c) =>
      this.#json(c, async () => this.#passkeys.offer(await this.#ownForm(c))),
    );
    app.post("/me/tokens", (c) => this.#page(c, () => this.#createToken(c)));
    app.post("/me/tokens/revoke", (c) => this.#act(c, () => this.#revokeToken(c)));
    app.post("/me/sessions/end", (c) => this.#act(c, () => this.#endSession(c)));
    app.post("/me/sessions/others", (c) =>
      this.#act(c, async () => {
        this.#sessions.endOthers(c.get("session"));
        return `${BASE}/me?done=alone`;
      }),
    );
    app.post("/logout", (c) => this.#logout(c));
    app.get("/feed", (c) => this.#watch(c));
    app.notFound((c) => this.#page(c as Asked, () => Promise.reject(new NotFound())));
    app.onError((error, c) => {
      this.#parts.onWarning(`the console could not answer: ${messageOf(error)}`);
      return this.#bare(
        c as Asked,
        500,
        "Fault",
        "ptc could not answer this. Whoever runs it finds the reason in its messages.",
      );
    });
    return app;
  }

  /** Headers of every answer. A page loads its own style and script, and nothing else; nobody frames it. */
  #protect(c: Asked): void {
    const rules = c.get("rules") as string | undefined;
    const policy = [
      "default-src 'none'",
      `style-src 'self'${rules ? ` ${hashSource(rules)}` : ""}`,
      "script-src 'self'",
      "img-src data:",
      "connect-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ];
    const headers = {
      "Content-Security-Policy": policy.join("; "),
      "X-Frame-Options": "DENY",
      "X-Content-Type-Options": "nosniff",
      // Forms say where they come from only where something is referred to at all.
      "Referrer-Policy": "same-origin",
      "Cross-Origin-Opener-Policy": "same-origin",
      "Cross-Origin-Resource-Policy": "same-origin",
      "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    };
    for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
    if (!c.res.headers.has("Cache-Control")) c.res.headers.set("Cache-Control", "no-store");
  }

  /** Lets in who has a session, and shows everybody else the way to one. */
  async #identify(c: Asked, next: () => Promise<void>): Promise<Response | undefined> {
    const { raw, path } = c.req;
    const below = path.slice(BASE.length + 1);
    const isEntering = below === "open" || below === "login" || below === "callback";
    const session = await this.#sessions.of(raw);
    if (session !== undefined && !isEntering) {
      c.set("session", session);
      const rights = await this.#parts.rightsOf(session.viewer);
      c.set("rights", rights);
      c.set("sight", new Sight(session.viewer, rights));
      await next();
      return undefined;
    }
    if (raw.method !== "GET" || below === "feed")
      return this.#bare(c, 401, "No session", "Your session has ended. Open the console again.");
    const entered = await this.#parts.entrance.enter(below, raw, this.#wantedPage(c, below), this.#sessions);
    switch (entered.kind) {
      case "in": {
        const cookie = await this.#sessions.begin(entered.viewer);
        if (cookie === undefined)
          return this.#bare(
            c,
            403,
            "Refused",
            "Your issuer says more of you than a browser keeps: more groups than fit.",
          );
        c.header("Set-Cookie", cookie, { append: true });
        c.header("Set-Cookie", this.#sessions.cookie("login", "", 0), { append: true });
        return c.redirect(entered.to, 303);
      }
      case "sent":
        if (entered.cookie !== undefined) c.header("Set-Cookie", entered.cookie, { append: true });
        return c.redirect(entered.to, 303);
      case "refused":
        return this.#bare(c, entered.status, "ptc console", entered.message, entered.choices);
    }
  }

  /** The page that a browser wanted before it had a session. It is one of the console's, whatever the address says. */
  #wantedPage(c: Asked, below: string): string {
    const { search } = new URL(c.req.url);
    const wanted =
      below === "login" ? (c.req.query("to") ?? "") : below === "callback" ? "" : `${BASE}/${below}${search}`;
    return /^\/console\/[\w/?=&%.:*+-]*$/.test(wanted) ? wanted : `${BASE}/`;
  }

  /** A form that changes something has the token of the session in it. */
  async #checkToken(c: Asked, next: () => Promise<void>): Promise<Response | undefined> {
    if (c.req.method === "GET" || c.req.method === "HEAD") {
      await next();
      return undefined;
    }
    const token = await formOf(c).then(
      (form) => form.get("token") ?? "",
      () => "",
    );
    if (c.req.method !== "POST" || !isSameText(token, c.get("session").token))
      return this.#bare(
        c,
        403,
        "Refused",
        "This form is not of your session. Go back, load the page again and send it once more.",
      );
    await next();
    return undefined;
  }

  async #page(c: Asked, make: () => Promise<ConsolePage>): Promise<Response> {
    const page = await make().catch((error: unknown) => explain(error));
    if (page.rules) c.set("rules", page.rules);
    return c.html(renderConsolePage(page, await this.#frame(c)), (page.status ?? 200) as 200);
  }

  /** Does something, and sends the browser on to a page. */
  async #act(c: Asked, act: () => Promise<string>): Promise<Response> {
    try {
      return c.redirect(await act(), 303);
    } catch (error) {
      const page = explain(error);
      return c.html(renderConsolePage(page, await this.#frame(c)), (page.status ?? 500) as 500);
    }
  }

  /** Answers a script of a page. What is wrong is a line for the viewer. */
  async #json(c: Asked, make: () => Promise<object>): Promise<Response> {
    try {
      return c.json(await make());
    } catch (error) {
      const status = error instanceof RefusedError ? error.status : 403;
      const isKnown = error instanceof RefusedError || READABLE.some((kind) => error instanceof kind);
      if (isKnown && error instanceof Error) return c.json({ why: oneLine(error.message, 2_000) }, status);
      if (error instanceof NotFound) return c.json({ why: NOTICES.gone }, 404);
      throw error;
    }
  }

  #bare(
    c: Asked,
    status: 400 | 401 | 403 | 500,
    title: string,
    message: string,
    choices: readonly { name: string; href: string }[] = [],
  ): Response {
    const links = choices.map(
      ({ name, href }) => html`<p><a class="button primary" href="${href}">${name}</a></p>`,
    );
    const page = { title, header: renderHeading(title), main: html`<p class="empty">${message}</p>${links}` };
    return c.html(renderBarePage(page, this.#names()), status);
  }

  #names() {
    return { style: this.#assets.style.name, script: this.#assets.script.name };
  }

  async #frame(c: Asked): Promise<Frame> {
    const waiting = await this.#waiting(c).catch(() => []);
    const { project } = this.#parts;
    return {
      session: c.get("session"),
      project,
      waiting: waiting.filter(({ isAnswered }) => !isAnswered).length,
      assets: this.#names(),
    };
  }

  async #waiting(c: Asked): Promise<PendingApproval[]> {
    return c.get("sight").questions(await this.#parts.pending());
  }

  /** Limits runs to those that a viewer sees without a rule. */
  #own(c: Asked): { principal?: string } {
    return c.get("sight").seesAll ? {} : { principal: c.get("session").viewer.principal };
  }

  /** Whose lines of the audit log a viewer sees. The gate notes that it permits those of everybody. */
  async #audits(c: Asked): Promise<"own" | "all"> {
    const { audit, gate } = c.get("rights");
    if (audit !== "asked") return audit;
    return (await gate?.({ action: "audit" })) === true ? "all" : "own";
  }

  async #overview(c: Asked): Promise<ConsolePage> {
    const { archive, now } = this.#parts;
    const rights = c.get("rights");
    const sinceMs = Math.floor(now() / DAY_MS) * DAY_MS - (OVERVIEW_DAYS - 1) * DAY_MS;
    const waiting = await this.#waiting(c).catch(() => []);
    const open = waiting.filter(({ isAnswered }) => !isAnswered).length;
    const shown = { waiting: open, rights };
    if (!(await archive.exists()))
      return renderOverviewPage({ stats: countListed([]), timings: timeListed([]), runs: [], ...shown });
    if (c.get("sight").seesAll) {
      const [stats, timings, { runs }] = await Promise.all([
        archive.stats({ sinceMs }),
        archive.timings({ sinceMs }),
        archive.list({ sinceMs, limit: NEWEST_RUNS }),
      ]);
      return renderOverviewPage({ stats, timings, runs, ...shown });
    }
    const runs: ListedRun[] = [];
    let newest: number | undefined;
    for await (const run of allRuns(archive, { ...this.#own(c), sinceMs }, () => {})) {
      if (run.source === "replay") continue;
      if (runs.length >= MAX_COUNTED_RUNS) {
        newest = runs.length;
        break;
      }
      runs.push(run);
    }
    return renderOverviewPage({
      ...{ stats: countListed(runs), timings: timeListed(runs), newest, ...shown },
      runs: runs.slice(0, NEWEST_RUNS),
    });
  }

  async #runs(c: Asked): Promise<ConsolePage> {
    const { archive, now } = this.#parts;
    const [rights, { viewer }] = [c.get("rights"), c.get("session")];
    const query = new URL(c.req.url).searchParams;
    const search = readRunSearch(query);
    const before = query.get("before") ?? undefined;
    const sight = c.get("sight");
    const filter = {
      ...filterOf(search, viewer.principal, sight),
      ...(before === undefined ? {} : { before }),
      limit: RUNS_ON_A_PAGE,
    };
    const isPermitted = sight.seesAll || filter.principal === viewer.principal;
    const page = !(await archive.exists())
      ? { runs: [], damaged: [], next: undefined }
      : isPermitted
        ? await archive.list(filter)
        : await this.#permitted(sight, filter);
    if (before === undefined) await this.#live?.look();
    const live = before === undefined ? ((await this.#live?.runsFor(sight)) ?? []) : [];
    // Damaged runs are not known to be anybody's.
    const damaged = rights.runs === "all" ? page.damaged : [];
    return renderRuns({
      page: { ...page, damaged },
      search,
      live,
      sight,
      isFirst: before === undefined,
      isFollowed: this.#live !== undefined,
      nowMs: now(),
    });
  }

  /** A page of those runs that rules permit to read. It says of no other run that there is one. */
  async #permitted(sight: Sight, filter: PageFilter): Promise<RunPage> {
    const { archive } = this.#parts;
    const runs: ListedRun[] = [];
    let { before } = filter;
    let lookedAt = 0;
    for (;;) {
      const limit = filter.limit - runs.length;
      const page = await archive.list({ ...filter, ...(before === undefined ? {} : { before }), limit });
      for (const run of page.runs) if (await sight.mayList(run, archive)) runs.push(run);
      lookedAt += page.runs.length;
      before = page.next;
      const hasMore = before !== undefined;
      if (hasMore && runs.length < filter.limit && lookedAt < MAX_LOOKED_THROUGH) continue;
      return { runs, damaged: [], next: hasMore ? runs.at(-1)?.run_id : undefined };
    }
  }

  /** A run that the viewer sees. @throws NotFound for any other, whether there is one or not. */
  async #seenRun(c: Asked, runId: string): Promise<{ run: ArchivedRun; listed: ListedRun }> {
    const { archive } = this.#parts;
    if (!/^[\w-]{1,64}$/.test(runId) || !(await archive.exists())) throw new NotFound();
    const [listed] = (await archive.list({ runId, limit: 1 })).runs;
    const sight = c.get("sight");
    if (listed === undefined || !(sight.isOwn(listed) || sight.seesOthers)) throw new NotFound();
    const run = await archive.read(runId);
    if (!(await sight.mayRead(ownerOf(run), runId))) throw new NotFound();
    return { run, listed };
  }

  async #run(c: Asked): Promise<ConsolePage> {
    const wanted = c.req.param("id") ?? "";
    const seen = await this.#seenRun(c, wanted).catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      await this.#live?.look();
      const live = await this.#live?.runFor(c.get("sight"), wanted);
      if (live === undefined) throw error;
      return renderLiveRun(live, this.#parts.now());
    });
    return "run" in seen ? this.#renderRun(c, seen.run) : seen;
  }

  /** @param refused the form that saved no program, and why, in one line. */
  async #renderRun(
    c: Asked,
    run: ArchivedRun,
    refused?: { form: URLSearchParams; why: string },
  ): Promise<ConsolePage> {
    const { run_id: id, input_digest: inputDigest } = run.record;
    const { archive } = this.#parts;
    const { principal } = run.record;
    const whose = c.get("sight").seesAll ? {} : { principal };
    const { runs } = await archive.list({ ...whose, inputDigest, limit: MAX_ALIKE + 1 });
    const alike: ListedRun[] = [];
    for (const each of runs)
      if (each.run_id !== id && (await c.get("sight").mayList(each, archive))) alike.push(each);
    return renderRun({
      run,
      parts: await runParts(run),
      frame: await this.#frame(c),
      replay: this.#replays.get(id),
      replays: this.#parts.replay !== undefined && c.get("rights").replays,
      saving:
        this.#parts.save !== undefined && c.get("rights").saves && run.envelope.result.ok
          ? { saved: this.#saved.get(id), refused }
          : undefined,
      alike: alike.slice(0, MAX_ALIKE),
    });
  }

  async #replay(c: Asked): Promise<string> {
    const { replay } = this.#parts;
    const { run } = await this.#seenRun(c, c.req.param("id") ?? "");
    const { run_id: id } = run.record;
    if (replay === undefined || !c.get("rights").replays)
      throw new RefusedError(403, "You may not replay runs here.");
    if (this.#replays.get(id) !== "under way") {
      keepNewest(this.#replays, id, "under way");
      void replay(c.get("session").viewer, id, this.#closing.signal).then((outcome) =>
        keepNewest(this.#replays, id, outcome),
      );
    }
    return `${runAddress(id)}#replay`;
  }

  /** Saves the program of a run. A form that saves none is shown again as it was sent. */
  async #save(c: Asked): Promise<Response> {
    const form = await formOf(c);
    const name = (form.get("name") ?? "").trim();
    const saved = await this.#trySave(c, form, name).catch((error: unknown) => ({ error }));
    if ("error" in saved) return this.#page(c, () => Promise.reject(saved.error));
    if ("why" in saved)
      return this.#page(c, async () => {
        const { run } = await this.#seenRun(c, c.req.param("id") ?? "");
        return { ...(await this.#renderRun(c, run, { form, why: saved.why })), status: 400 };
      });
    return c.redirect(`${saved.to}#save`, 303);
  }

  async #trySave(c: Asked, form: URLSearchParams, name: string): Promise<{ to: string } | { why: string }> {
    const { save } = this.#parts;
    const { run } = await this.#seenRun(c, c.req.param("id") ?? "");
    if (save === undefined || !c.get("rights").saves)
      throw new RefusedError(403, "You may not save programs here.");
    const reason = name === "" ? "needs a name: lower-case words with - between them" : whyNoName(name);
    if (reason !== undefined)
      return { why: name === "" ? `The program ${reason}.` : `'${oneLine(name, 80)}' ${reason}.` };
    if (this.#isSaving) return { why: "Another program is being saved; try again in a moment." };
    this.#isSaving = true;
    try {
      const { run_id: runId } = run.record;
      const description = oneLine(form.get("description") ?? "", MAX_DESCRIPTION_CHARS).trim();
      const saved = await save({ runId, name, description, force: form.get("force") !== null });
      if ("why" in saved) return saved;
      keepNewest(this.#saved, runId, { name, notes: saved.notes });
      return { to: runAddress(runId) };
    } finally {
      this.#isSaving = false;
    }
  }

  async #difference(c: Asked): Promise<ConsolePage> {
    const { run: a } = await this.#seenRun(c, c.req.query("a") ?? "");
    const { run: b } = await this.#seenRun(c, c.req.query("b") ?? "");
    return renderDifference(a, b);
  }

  async #inbox(c: Asked, ticket?: string): Promise<ConsolePage> {
    const { archive, now, configuration } = this.#parts;
    const sight = c.get("sight");
    const waiting = await this.#waiting(c);
    const asked = ticket === undefined ? waiting : waiting.filter((each) => each.ticket === ticket);
    const open = asked.filter(({ isAnswered }) => !isAnswered);
    const questions: ShownQuestion[] = [];
    for (const [index, pending] of open.entries()) {
      const { owner, request } = pending;
      const before =
        index < MAX_BESIDE && (await sight.mayRead(owner))
          ? await findApproved(archive, request.tool, owner.principal).catch(() => undefined)
          : undefined;
      const isShown = before !== undefined && (await sight.mayRead(owner, before.runId));
      questions.push({ pending, before: isShown ? before : undefined });
    }
    return renderInbox({
      questions,
      answered: asked.filter(({ isAnswered, isLive }) => isAnswered && !isLive),
      frame: await this.#frame(c),
      nowMs: now(),
      approves: c.get("rights").approves,
      needsPasskey: this.#requiredProof === "passkey",
      whyNoApproval:
        configuration().approvals.require === "terminal"
          ? "approvals.require is `terminal`: an approval has to be typed there, with ptc approvals approve."
          : undefined,
      notice: NOTICES[c.req.query("done") ?? ""],
      isOne: ticket !== undefined,
    });
  }

  get #requiredProof(): RequiredProof {
    return this.#parts.configuration().approvals.require;
  }

  /** The question of a ticket that the viewer may answer. */
  async #asked(c: Asked): Promise<PendingApproval | undefined> {
    if (!c.get("rights").approves) throw new RefusedError(403, "You may not answer questions here.");
    const approvals = await this.#parts.pending();
    const ticket = c.req.param("ticket") ?? "";
    return (await c.get("sight").questions(approvals)).find((each) => each.ticket === ticket);
  }

  async #answer(c: Asked): Promise<string> {
    const { viewer } = c.get("session");
    const pending = await this.#asked(c);
    if (pending === undefined) return `${BASE}/inbox?done=gone`;
    const form = await formOf(c);
    if (form.get("digest") !== pending.digest) return `${BASE}/inbox?done=changed`;
    const scope = scopeIn(form, pending);
    const proof = scope.decision === "denied" ? undefined : await this.#proofIn(form, viewer, pending, scope);
    const by = this.#parts.nameInAudit(viewer);
    const approvals = await this.#parts.pending();
    const answer = { ...scope, by, how: HOW, ...(proof && { proof }) };
    const required = this.#requiredProof;
    if (required !== "any" && countsProven(answer, required) !== answer)
      throw new RefusedError(403, `Nothing was answered: ${NOT_PROVEN[required]}.`);
    const isFirst = await approvals.answer(pending.owner.principal, pending, answer);
    if (isFirst) await c.get("sight").mayAnswer(pending, true);
    await this.#feed.refresh();
    return `${BASE}/inbox?done=${isFirst ? (scope.decision === "denied" ? "denied" : "approved") : "before"}`;
  }

  /** Begins the use of a passkey for an answer. It counts for this answer to this question alone. */
  async #askForPasskey(c: Asked): Promise<object> {
    const pending = await this.#asked(c);
    if (pending === undefined) throw new NotFound();
    const { ticket, digest } = pending;
    const scope = digestOf(scopeIn(await formOf(c), pending));
    return this.#parts.passkeys.ask(c.get("session").viewer.principal, {
      ...{ kind: "answer", ticket, digest, scope },
    });
  }

  /** The passkey with which a form was sent, if there is one. @throws PasskeyError where it is for another answer. */
  async #proofIn(
    form: URLSearchParams,
    { principal }: Viewer,
    { ticket, digest }: PendingApproval,
    scope: ApprovalScope,
  ): Promise<Proof | undefined> {
    const given = ceremonyAnswerIn(form);
    if (given === undefined) return undefined;
    const { use, credential } = await this.#parts.passkeys.use(principal, "answer", given);
    if (use.ticket !== ticket || use.digest !== digest || use.scope !== digestOf(scope))
      throw new PasskeyError("this passkey was used for another answer; load the inbox and try again");
    return { way: "passkey", credential };
  }

  /** @param made what came of making a token. */
  async #me(c: Asked, made?: Parameters<typeof renderMe>[0]["made"]): Promise<ConsolePage> {
    const { logins, connect, sessions, tokens, now } = this.#parts;
    const { viewer } = c.get("session");
    const [rights, done] = [c.get("rights"), c.req.query("done") ?? ""];
    const frame = await this.#frame(c);
    const [passkeys, knownLogins, knownSessions, knownTokens] = await Promise.all([
      rights.approves ? this.#passkeys.render(frame, done) : undefined,
      logins?.(viewer),
      sessions?.(viewer).list(),
      this.#tokensOf(c),
    ]);
    return renderMe({
      ...{ frame, rights, passkeys, logins: knownLogins, connects: connect !== undefined },
      ...{ sessions: knownSessions, tokens: knownTokens, notice: NOTICES[done], nowMs: now() },
      ...{ made, tokensCount: tokens?.counts() ?? false },
    });
  }

  /** The tokens that a viewer has to do with: all of them, or their own where they count for anything. */
  async #tokensOf(c: Asked): Promise<readonly KnownToken[] | { readonly why: string } | undefined> {
    const { tokens } = this.#parts;
    const { seesAll, viewer } = c.get("sight");
    if (tokens === undefined || !(seesAll || tokens.counts())) return undefined;
    const found = await tokens.list();
    return "why" in found || seesAll ? found : found.filter(({ owner }) => owner === viewer.principal);
  }

  /** Makes a token, and shows it: this answer alone has it. */
  async #createToken(c: Asked): Promise<ConsolePage> {
    const { tokens, now } = this.#parts;
    const { seesAll, viewer } = c.get("sight");
    if (tokens === undefined || !(seesAll || tokens.counts())) throw new NotFound();
    const form = await formOf(c);
    const read = readTokenForm(form, viewer, c.get("rights"), now());
    const made = "why" in read ? read : await tokens.create(read.name, read.wanted);
    if ("why" in made) return { ...(await this.#me(c, { why: made.why, form })), status: 400 };
    return this.#me(c, { name: "name" in read ? read.name : "", token: made.token });
  }

  async #revokeToken(c: Asked): Promise<string> {
    const { tokens } = this.#parts;
    const { seesAll, viewer } = c.get("sight");
    if (tokens === undefined || !(seesAll || tokens.counts())) throw new NotFound();
    const form = await formOf(c);
    const owner = seesAll ? form.get("owner") || undefined : viewer.principal;
    const refused = await tokens.revoke(form.get("name") ?? "", owner);
    if (refused !== undefined) throw new RefusedError(409, refused.why);
    return `${BASE}/me?done=revoked`;
  }

  async #endSession(c: Asked): Promise<string> {
    const { sessions } = this.#parts;
    if (sessions === undefined) throw new NotFound();
    const id = (await formOf(c)).get("session") ?? "";
    const hasEnded = await sessions(c.get("session").viewer).end(id);
    if (!hasEnded)
      throw new RefusedError(409, "There is no such session of yours; it may have ended before.");
    return `${BASE}/me?done=ended`;
  }

  /** What the viewer does with their own passkeys. */
  async #ownForm(c: Asked): Promise<{ viewer: Viewer; form: URLSearchParams }> {
    if (!c.get("rights").approves) throw new RefusedError(403, "You may not answer questions here.");
    return { viewer: c.get("session").viewer, form: await formOf(c) };
  }

  async #servers(c: Asked): Promise<ConsolePage> {
    const { archive, now, configuration, logins, connect } = this.#parts;
    const { viewer } = c.get("session");
    const sinceMs = now() - OVERVIEW_DAYS * DAY_MS;
    const isAll = c.get("sight").seesAll;
    const isKept = await archive.exists();
    const [catalog, stats, recent, known, frame] = await Promise.all([
      this.#catalog(c),
      isAll ? (isKept ? archive.stats({ sinceMs }) : undefined) : undefined,
      isKept ? recentCalls(archive, { ...this.#own(c), sinceMs }) : { runs: 0, servers: new Map() },
      logins?.(viewer),
      this.#frame(c),
    ]);
    return renderServers({
      ...{ frame, catalog, recent, servers: configuration().servers, days: OVERVIEW_DAYS },
      stats: isAll ? (stats?.tools ?? []) : undefined,
      ...{ logins: known, connects: connect !== undefined, check: this.#checks?.of(viewer) },
      lookingSince: this.#startedAt,
      notice: NOTICES[c.req.query("done") ?? ""],
    });
  }

  async #check(c: Asked): Promise<string> {
    if (this.#checks === undefined) throw new NotFound();
    if (!this.#checks.begin(c.get("session").viewer, this.#closing.signal))
      throw new RefusedError(429, "Others ask the servers just now; try again when they are done.");
    return `${BASE}/servers#check`;
  }

  /** The configured name of the server that a form is about. @throws NotFound */
  #serverOf(c: Asked): string {
    const wanted = c.req.param("server") ?? "";
    const found = this.#parts.configuration().servers.find(({ name }) => name === wanted);
    if (found === undefined) throw new NotFound();
    return found.name;
  }

  /** Begins a login of the viewer. Of two that one viewer begins at a server the later goes on. */
  async #connect(c: Asked): Promise<ConsolePage> {
    const { connect } = this.#parts;
    const server = this.#serverOf(c);
    if (connect === undefined) throw new NotFound();
    const { viewer } = c.get("session");
    const key = JSON.stringify([viewer.principal, server]);
    this.#endLogin(key);
    const [oldest] = this.#logins.keys();
    if (this.#logins.size >= MAX_LOGINS && oldest !== undefined) this.#endLogin(oldest);
    const over = new AbortController();
    this.#logins.set(key, over);
    const signal = AbortSignal.any([over.signal, this.#closing.signal, AbortSignal.timeout(LOGIN_MS)]);
    const begun = await connect(viewer, server, signal);
    if ("why" in begun) throw new RefusedError(409, begun.why);
    const isOfTheWeb = URL.canParse(begun.address) && /^https?:$/.test(new URL(begun.address).protocol);
    if (isOfTheWeb) return renderBegunLogin(server, begun.address);
    this.#endLogin(key);
    throw new RefusedError(409, `Server '${server}' has its login at no address of the web.`);
  }

  #endLogin(key: string): void {
    this.#logins.get(key)?.abort();
    this.#logins.delete(key);
  }

  async #disconnect(c: Asked): Promise<string> {
    const { disconnect } = this.#parts;
    const server = this.#serverOf(c);
    if (disconnect === undefined) throw new NotFound();
    const { viewer } = c.get("session");
    this.#endLogin(JSON.stringify([viewer.principal, server]));
    const said = await disconnect(viewer, server);
    if (said !== undefined) throw new RefusedError(409, said.why);
    return `${BASE}/servers?done=disconnected`;
  }

  async #catalog(c: Asked) {
    const { principal, groups } = c.get("session").viewer;
    return (await this.#parts.tools()).callableFor({
      principal,
      ...(groups === undefined ? {} : { groups }),
    });
  }

  async #tools(c: Asked): Promise<ConsolePage> {
    const catalog = await this.#catalog(c);
    const query = (c.req.query("q") ?? "").trim().slice(0, 500);
    const server = catalog.server(c.req.query("server") ?? "")?.module ?? "";
    if (query === "") {
      const all = catalog.servers
        .filter(({ module }) => server === "" || module === server)
        .flatMap(({ tools }) => tools);
      return renderTools({
        query,
        server,
        catalog,
        tools: all.slice(0, MAX_SHOWN_TOOLS),
        total: all.length,
        fitsPoorly: false,
      });
    }
    const found = await catalog.search(query, {
      limit: MAX_SHOWN_TOOLS,
      server: server === "" ? undefined : server,
    });
    return renderTools({ query, server, catalog, fitsPoorly: false, ...found });
  }

  async #tool(c: Asked): Promise<ConsolePage> {
    const tool = (await this.#catalog(c)).find(c.req.param("name") ?? "");
    if (tool === undefined) throw new NotFound();
    const trial = this.#parts.call && renderTrial(tool, await this.#frame(c));
    return renderTool(tool, await this.#parts.printers(), trial);
  }

  /** Makes a call, and shows its run. A form that says no arguments is shown again as it was sent. */
  async #try(c: Asked): Promise<Response> {
    const tool = (await this.#catalog(c)).find(c.req.param("name") ?? "");
    const { call, printers } = this.#parts;
    if (tool === undefined || call === undefined) return this.#page(c, () => Promise.reject(new NotFound()));
    const form = await formOf(c);
    const read = readTrial(form, tool);
    if (!read.ok)
      return this.#page(c, async () => {
        const trial = renderTrial(tool, await this.#frame(c), form, read.why);
        return { ...(await renderTool(tool, await printers(), trial)), status: 400 };
      });
    return this.#act(c, async () => {
      if (this.#trials >= MAX_TRIALS)
        throw new RefusedError(429, "Other calls are under way; try again when they have ended.");
      this.#trials++;
      try {
        const signal = AbortSignal.any([c.req.raw.signal, this.#closing.signal]);
        const wanted = { tool: tool.namespacedName, arguments: read.args };
        const tried = await call(c.get("session").viewer, wanted, signal);
        if ("why" in tried) throw new RefusedError(409, tried.why);
        return runAddress(tried.runId);
      } finally {
        this.#trials--;
      }
    });
  }

  async #programs(c: Asked): Promise<ConsolePage> {
    const { tools, configuration, archive, test } = this.#parts;
    const { programs = [], problems = new Map() } = (await tools()).programs ?? {};
    const kept = (await archive.exists()) ? archive : undefined;
    return renderPrograms({
      ...{ frame: await this.#frame(c), programs, problems },
      facts: await programFacts(programs, configuration(), kept, this.#own(c)),
      testOf: (name) => this.#tests.get(this.#testKey(c, name)),
      tests: test !== undefined && c.get("rights").replays,
      testedSince: this.#startedAt,
    });
  }

  /** A test goes by what its viewer may call, so that its outcome is theirs alone. */
  #testKey(c: Asked, name: string): string {
    return JSON.stringify([c.get("session").viewer.principal, name]);
  }

  async #test(c: Asked): Promise<string> {
    const { test, tools } = this.#parts;
    const name = c.req.param("name") ?? "";
    const saved = (await tools()).programs?.programs ?? [];
    if (test === undefined || saved.every((each) => each.name !== name)) throw new NotFound();
    if (!c.get("rights").replays) throw new RefusedError(403, "You may not test programs here.");
    const key = this.#testKey(c, name);
    if (this.#tests.get(key) !== "under way") {
      keepNewest(this.#tests, key, "under way");
      void test(c.get("session").viewer, name, this.#closing.signal).then((tested) =>
        tested === undefined ? this.#tests.delete(key) : keepNewest(this.#tests, key, tested),
      );
    }
    return `${BASE}/programs#program-${encodeURIComponent(name)}`;
  }

  async #rules(
    c: Asked,
    supposed?: { text: string; result: WhatIf | { why: string } },
  ): Promise<ConsolePage> {
    const { audit, now, configuration } = this.#parts;
    const whose = await this.#audits(c);
    const search = readAuditSearch(new URLSearchParams({ event: "decision" }));
    const filter = auditFilterOf(search, c.get("session").viewer, whose);
    const counts = await countDecisions(audit.entries({ ...filter, sinceMs: now() - RULE_DAYS * DAY_MS }));
    const { tools, approvals } = configuration();
    const configured = [
      ["tools.allow", tools.allow ?? ["every tool"]],
      ["tools.block", tools.block],
      ["approvals.ask", approvals.ask ?? []],
    ] as const;
    const cases = whose === "all" ? await this.#cases() : undefined;
    const frame = await this.#frame(c);
    return renderRules({ counts, days: RULE_DAYS, configured, whose, frame, cases, supposed });
  }

  /** The cases of the project with their results; `undefined` where there are none. */
  async #cases(): Promise<readonly CaseResult[] | { why: string } | undefined> {
    const configuration = this.#parts.configuration();
    try {
      const text = await readPolicyCases(configuration);
      if (text === undefined) return undefined;
      return await tryPolicyCases(configuration, (await this.#parts.tools()).all, text, POLICY_CASES_FILE);
    } catch (error) {
      if (error instanceof ConfigurationError) return { why: oneLine(error.message, 2_000) };
      throw error;
    }
  }

  /** Decides about archived calls by a rule that is supposed: about the viewer's own, or about everybody's where they see all. */
  async #whatIf(c: Asked): Promise<ConsolePage> {
    const text = ((await formOf(c)).get("rule") ?? "").replaceAll("\r\n", "\n");
    if (this.#supposing >= MAX_SUPPOSING)
      throw new RefusedError(429, "Other rules are tried just now; try again when that has ended.");
    this.#supposing++;
    const { archive, configuration, tools } = this.#parts;
    try {
      const kept = (await archive.exists()) ? archive : undefined;
      const decided = { configuration: configuration(), all: (await tools()).all };
      return await this.#rules(c, { text, result: await whatIf(text, kept, this.#own(c), decided) });
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      const page = await this.#rules(c, { text, result: { why: oneLine(error.message, 2_000) } });
      return { ...page, status: 400 };
    } finally {
      this.#supposing--;
    }
  }

  async #audit(c: Asked, verified?: LogVerification): Promise<ConsolePage> {
    const search = readAuditSearch(new URL(c.req.url).searchParams);
    const whose = verified === undefined ? await this.#audits(c) : "all";
    const filter = auditFilterOf(search, c.get("session").viewer, whose);
    const { lines, total } = await newestLines(this.#parts.audit.entries(filter));
    return renderAudit({ search, lines, total, verified, whose, frame: await this.#frame(c) });
  }

  async #verify(c: Asked): Promise<ConsolePage> {
    if ((await this.#audits(c)) !== "all") throw new RefusedError(403, "You may not verify the whole log.");
    return this.#audit(c, await this.#parts.audit.verify({}));
  }

  async #export(c: Asked): Promise<Response> {
    const search = readAuditSearch(new URL(c.req.url).searchParams);
    const filter = auditFilterOf(search, c.get("session").viewer, await this.#audits(c));
    const lines = this.#parts.audit.entries(filter);
    const iterator = lines[Symbol.asyncIterator]();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(Buffer.from(`${value.line}\n`));
      },
      cancel: async () => void (await iterator.return?.()),
    });
    const headers = {
      "Content-Type": "application/jsonl; charset=utf-8",
      "Content-Disposition": 'attachment; filename="audit.jsonl"',
    };
    return c.body(body, 200, headers);
  }

  #logout(c: Asked): Response {
    c.header("Set-Cookie", this.#sessions.end(c.get("session")), { append: true });
    return this.#bare(c, 401, "You have left", "This browser has no session here any more.");
  }

  /** Tells a browser what happens, until it goes or the session ends. */
  #watch(c: Asked): Response {
    const [session, sight] = [c.get("session"), c.get("sight")];
    if (!this.#feed.hasRoomFor(session.viewer)) return c.body("too many watch", 429, { "Retry-After": "30" });
    const from = { lastId: c.req.header("last-event-id"), runId: c.req.query("run")?.slice(0, 64) };
    return streamSSE(c, async (stream) => {
      const over = new AbortController();
      const signal = AbortSignal.any([over.signal, this.#closing.signal]);
      stream.onAbort(() => over.abort());
      const beat = setInterval(() => {
        if (!this.#sessions.counts(session)) over.abort();
        else void stream.write(": still here\n\n");
      }, HEARTBEAT_MS).unref();
      try {
        await stream.write("retry: 2000\n\n");
        for await (const { event, id, data } of this.#feed.watch(sight, from, signal))
          await stream.writeSSE({ event, id, data: JSON.stringify(data) });
      } finally {
        clearInterval(beat);
      }
    });
  }
}

const NOTICES: Readonly<Record<string, string>> = {
  approved: "Approved.",
  denied: "Denied.",
  before: "It was answered before, and the first answer counts.",
  gone: GONE,
  revoked: "The token is revoked.",
  ended: "The session has ended.",
  alone: "Your other sessions of the console have ended here.",
  disconnected: "Your login at that server is removed.",
  changed: "Nothing was answered: the question is not the one that you saw. Look at it again.",
};

/** Keeps what came of something, and forgets the oldest of too many. */
function keepNewest<T>(outcomes: Map<string, T>, key: string, outcome: T): void {
  outcomes.delete(key);
  outcomes.set(key, outcome);
  const [oldest] = outcomes.keys();
  if (outcomes.size > MAX_OUTCOMES && oldest !== undefined) outcomes.delete(oldest);
}

/** The fields of a form. It is read once for a request. */
async function formOf(c: Asked): Promise<URLSearchParams> {
  return new URLSearchParams(await c.req.text());
}

/** What a form approves. @throws RefusedError for what is no answer. */
function scopeIn(form: URLSearchParams, { request }: PendingApproval): ApprovalScope {
  const decision = form.get("decision");
  if (decision === "denied" || decision === "once") return { decision };
  if (decision !== "run") throw new RefusedError(400, "This is no answer to a question.");
  const calls = form.get("calls") === "all" ? "all" : "like";
  const names = form.getAll("likeName");
  const except =
    calls === "all"
      ? []
      : form.getAll("like").flatMap((pattern, i) => (pattern === "" ? [] : [`${names[i]}=${pattern}`]));
  const read = parseScope({ calls, except, atMost: form.get("atMost") ?? undefined }, request.arguments);
  if (read.ok) return read.scope;
  throw new RefusedError(400, read.why);
}

/** The page that says what is wrong. @throws what is no mistake of a viewer, and nothing of the archive. */
function explain(error: unknown): ConsolePage {
  const page = (title: string, text: string, status: number): ConsolePage => ({
    ...{ title, place: undefined, status, header: renderHeading(title) },
    main: html`<p class="empty">${text}</p><p><a href="${BASE}/">To the overview</a></p>`,
  });
  if (isMissing(error)) return page("Not here", "There is nothing here, or nothing that you may see.", 404);
  if (error instanceof RefusedError) return page("Refused", error.message, error.status);
  if (error instanceof PasskeyError) return page("Refused", oneLine(error.message, 2_000), 403);
  if (READABLE.some((kind) => error instanceof kind) && error instanceof Error)
    return page("Cannot be read", oneLine(error.message, 2_000), 500);
  throw error;
}

function isMissing(error: unknown): boolean {
  return error instanceof NotFound || (error instanceof ArchiveError && error.code === "missing");
}

/** Errors whose message is for whoever uses ptc. */
const READABLE = [PasskeyError, ArchiveError, PendingError, CatalogError, ConfigurationError];

interface Asset {
  /** Changes with its text, so that browsers may keep it for good. */
  name: string;
  text: string;
}

/** Reads style and script, from beside this module in the sources, or as the build has bundled them. */
function readConsoleAssets(): { style: Asset; script: Asset } {
  const shared = readPageAssets();
  const built = import.meta.url.endsWith(".js");
  const folder = join(packageDirectory, built ? "dist" : "", "console/assets");
  const own = (file: string) => readFileSync(join(folder, file), "utf8");
  const library = built
    ? own("webauthn.js")
    : readFileSync(
        join(packageDirectory, "node_modules/@simplewebauthn/browser/dist/bundle/index.umd.min.js"),
        "utf8",
      );
  const named = (text: string, extension: string): Asset => {
    const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
    return { name: `console-${digest}.${extension}`, text };
  };
  return {
    style: named(shared.style + own("console.css"), "css"),
    script: named([shared.script, own("console.js"), library, own("passkeys.js")].join("\n"), "js"),
  };
}
