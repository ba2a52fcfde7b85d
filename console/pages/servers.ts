/** The servers: whether they answer, how their tools have changed, their logins, and how their calls went. */

import { type ArchiveStore, allRuns } from "../../archive/archive-store.ts";
import type { RunFilter } from "../../archive/listed-run.ts";
import type { ToolStats } from "../../archive/run-stats.ts";
import { answeringMs } from "../../archive/run-summary.ts";
import { countNoun, formatCount, formatDuration, formatShare } from "../../base/quantities.ts";
import { oneLine, visibleLine } from "../../base/visible-text.ts";
import { countTools } from "../../catalog/parse-tool.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { describePlace } from "../../configuration/server-sandbox.ts";
import type { LoginStatus } from "../../logins/logins.ts";
import { html, type Markup, renderSection, renderTable, renderTime } from "../../server/pages/page.ts";
import { type Answers, type Asked, NotFound, RefusedError, type Routes } from "../answers.ts";
import type { KnownServer, LastCheck, ServerDifference } from "../server-checks.ts";
import { ServerChecks } from "../server-checks.ts";
import { BASE, type ConsolePage, type Frame, renderForm, renderHeading, renderNothing } from "../shell.ts";
import { renderDiff } from "./inbox.ts";
import { DAY_MS, OVERVIEW_DAYS, quantiles } from "./overview.ts";

const KINDS = {
  stdio: "command",
  http: "HTTP",
  sse: "HTTP, older form",
  openapi: "HTTP API",
  local: "commands as tools",
  functions: "functions",
  model: "model",
} as const;

const LOGINS: Readonly<Record<LoginStatus["state"], string>> = {
  logged_in: "logged in",
  ended: "has ended",
  none: "none yet",
  machine: "ptc's own",
  caller: "the caller's token",
  configured: "as configured",
};

/** How the calls of one server went in the newest runs. */
interface ServerCalls {
  readonly calls: number;
  readonly failed: number;
  /** Milliseconds of a call, without the time that a person took to answer. */
  readonly p50: number;
  readonly p95: number;
  /** When it last answered without an error, in milliseconds since 1970. */
  readonly answeredAt: number | undefined;
}

/** The calls of some of the newest runs, by the configured name of their server. */
export interface RecentCalls {
  readonly runs: number;
  readonly servers: ReadonlyMap<string, ServerCalls>;
}

const MAX_RUNS = 200;
const BUDGET_MS = 1_000;

/** Looks at each call of the newest matching runs, within bounds of number and time. Runs that cannot be read are left out. */
export async function recentCalls(
  archive: Pick<ArchiveStore, "list" | "read">,
  filter: RunFilter,
): Promise<RecentCalls> {
  const found = new Map<string, { times: number[]; failed: number; answeredAt: number | undefined }>();
  const until = performance.now() + BUDGET_MS;
  let runs = 0;
  for await (const { run_id, source, calls } of allRuns(archive, filter, () => {}, MAX_RUNS)) {
    if (runs >= MAX_RUNS || performance.now() > until) break;
    if (source === "replay" || calls === 0) continue;
    const run = await archive.read(run_id).catch(() => undefined);
    if (run === undefined) continue;
    runs++;
    for (const call of run.record.calls) {
      const known = found.get(call.server) ?? { times: [], failed: 0, answeredAt: undefined };
      found.set(call.server, known);
      known.times.push(answeringMs(call));
      const endedAt = Math.round(run.record.started_at + call.started_ms + call.duration_ms);
      if (!call.ok) known.failed++;
      else known.answeredAt = Math.max(known.answeredAt ?? 0, endedAt);
    }
  }
  const servers = [...found].map(([server, { times, failed, answeredAt }]): [string, ServerCalls] => [
    server,
    { calls: times.length, failed, answeredAt, ...quantiles(times) },
  ]);
  return { runs, servers: new Map(servers) };
}

interface ServersPage {
  frame: Frame;
  servers: Configuration["servers"];
  /** The default for servers whose entries name no sandbox. */
  sandboxes: Configuration["sandbox"]["servers"];
  catalog: ToolCatalog;
  /** Counts of the calls of the last days; `undefined` if the viewer sees only their own runs. */
  stats: readonly ToolStats[] | undefined;
  days: number;
  recent: RecentCalls;
  /** The logins of the viewer; `undefined` if they are not known. */
  logins: readonly LoginStatus[] | undefined;
  /** Whether the viewer logs in and out here. */
  connects: boolean;
  /** `undefined` if this console asks no servers. */
  check: LastCheck | undefined;
  /** When the process that serves this page began to remember checks, in milliseconds since 1970. */
  lookingSince: number;
  /** The outcome of the last form. */
  notice: string | undefined;
}

function renderServers(page: ServersPage): ConsolePage {
  const { frame, servers, catalog, stats, days, recent, logins, check, notice } = page;
  const rows = servers.map((server) => {
    const { name, module, transport, off, description } = server;
    const listed = catalog.server(module);
    const checked = check?.servers.get(name);
    const about = off ?? checked?.why ?? catalog.unlisted.get(module) ?? description ?? "";
    const { name: says = "", version = "" } = listed?.implementation ?? {};
    const place = describePlace(server, page.sandboxes) ?? "";
    const kind = [KINDS[transport], oneLine(`${says} ${version}`.trim(), 120), place].filter(
      (part) => part !== "",
    );
    return {
      cells: [
        html`<a href="${BASE}/tools?server=${encodeURIComponent(module)}">${name}</a><span class="who">${kind.join(", ")}</span>`,
        off !== undefined
          ? html`<span class="status bad">off</span>`
          : renderState(checked, listed !== undefined, catalog.unlisted.has(module)),
        about === "" ? "" : html`<span class="wide about">${oneLine(about, 300)}</span>`,
        listed === undefined ? "" : formatCount(countTools(listed.tools)),
        ...(logins === undefined
          ? []
          : [
              renderLogin(
                logins.find((each) => each.server === name),
                page.connects ? frame : undefined,
              ),
            ]),
        ...callCells(
          stats?.filter(({ server }) => server === name),
          recent.servers.get(name),
        ),
      ],
    };
  });
  const columns = [
    ...["Server", "State", "About", "Tools"],
    ...(logins === undefined ? [] : ["Your login"]),
    ...["Calls", "A call takes"],
  ];
  const lead = [
    "as ptc generate saw them",
    stats === undefined
      ? `calls of your newest ${countNoun(recent.runs, "run")}`
      : `calls of the last ${days} days; times of the newest ${countNoun(recent.runs, "run")}`,
  ].join("; ");
  return {
    title: "Servers",
    place: "servers",
    header: renderHeading("Servers", lead),
    main:
      rows.length === 0
        ? renderNothing(html`No server is configured. <code>ptc add NAME -- COMMAND</code> adds one.`)
        : html`${notice === undefined ? undefined : html`<p class="notice" role="status">${notice}</p>`}${check && renderCheck(check, page)}<div class="left">${renderTable(columns, rows)}</div>${check && renderDifferences(check)}`,
  };
}

function renderState(checked: KnownServer | undefined, isListed: boolean, hasFailed: boolean): Markup {
  if (checked === undefined && isListed) return html`<span class="status good">known</span>`;
  if (checked === undefined) {
    const why = hasFailed
      ? html`it could not be listed`
      : html`<code>ptc generate</code> has not listed it yet`;
    return html`<span class="status bad">not known</span><span class="who">${why}</span>`;
  }
  const state =
    checked.why === undefined
      ? html`<span class="status good">answers</span>`
      : html`<span class="status bad">does not answer</span>`;
  const changed =
    checked.difference === undefined ? undefined : html` <a class="some" href="#changed">has changed</a>`;
  return html`${state}${changed}<span class="who">since ${renderTime(checked.since)}</span>`;
}

function callCells(stats: readonly ToolStats[] | undefined, recent: ServerCalls | undefined) {
  const sum = (of: (each: ToolStats) => number) => (stats ?? []).reduce((total, each) => total + of(each), 0);
  const calls = stats === undefined ? (recent?.calls ?? 0) : sum((each) => each.calls);
  const failed = stats === undefined ? (recent?.failed ?? 0) : sum((each) => each.failed_calls);
  const answered =
    recent?.answeredAt === undefined
      ? undefined
      : html`<span class="who">last answer ${renderTime(recent.answeredAt)}</span>`;
  return [
    failed > 0
      ? html`${formatCount(calls)}<span class="who some">${formatShare(failed, calls)} failed</span>`
      : formatCount(calls),
    recent === undefined
      ? ""
      : html`p50 ${formatDuration(recent.p50)}, p95 ${formatDuration(recent.p95)}${answered}`,
  ];
}

function renderLogin(login: LoginStatus | undefined, frame: Frame | undefined): Markup | string {
  if (login === undefined) return "";
  const { state, server, issuer } = login;
  const text = [LOGINS[state], state === "logged_in" && issuer !== undefined ? `at ${issuer}` : ""]
    .join(" ")
    .trim();
  const shown = html`<span class="wide${state === "ended" ? " some" : ""}">${oneLine(text, 200)}</span>`;
  if (frame === undefined)
    return state === "ended" ? html`${shown}, <code>ptc auth login ${server}</code>` : shown;
  return html`${shown}${renderLoginForms(login, frame)}`;
}

/** The forms with which the viewer logs in and out at a server. Empty for a server without logins of people. */
export function renderLoginForms({ server, state }: LoginStatus, frame: Frame): Markup | undefined {
  if (state !== "logged_in" && state !== "ended" && state !== "none") return undefined;
  const form = (act: string, name: string) =>
    renderForm(
      `${BASE}/servers/${encodeURIComponent(server)}/${act}`,
      frame,
      html`<button type="submit" aria-label="${name}: ${server}">${name}</button>`,
    );
  return html`<div class="in-cell">${state === "logged_in" ? undefined : form("connect", state === "ended" ? "Connect again" : "Connect")}${state === "none" ? undefined : form("disconnect", "Disconnect")}</div>`;
}

function renderCheck({ isUnderWay, at, why }: LastCheck, { frame, lookingSince }: ServersPage): Markup {
  if (isUnderWay)
    return html`<div class="outcome" id="check" role="status" data-again="1000"><p><strong>The servers are asked for their tools.</strong> <a href="${BASE}/servers">Look again</a></p></div>`;
  const said =
    at === undefined
      ? html`<p class="soft">Whether they answer, and whether their tools have changed, is known once they are asked; that starts servers that are commands.</p>`
      : why === undefined
        ? html`<p class="soft">Asked at ${renderTime(at)}, with your logins. Since when a server answers is what this ptc has seen from ${renderTime(lookingSince)} on.</p>`
        : html`<p class="notice" role="alert">No server was asked: ${why}</p>`;
  return html`<div id="check">${said}<div class="actions">${renderForm(`${BASE}/servers/check`, frame, html`<button type="submit" class="primary">Ask them now</button>`)}</div></div>`;
}

const MAX_SHOWN = 100;

/** How the tools of servers differ from the generated ones, which calls are checked against. */
function renderDifferences({ servers }: LastCheck): Markup | undefined {
  const changed = [...servers.values()].flatMap(({ server, difference }) =>
    difference === undefined ? [] : [renderDifference(server, difference)],
  );
  if (changed.length === 0) return undefined;
  return renderSection(
    "changed",
    "Changed since they were generated",
    html`<p class="soft">A call of a changed tool is refused until <code>ptc generate</code> has taken the change over, which <code>ptc serve</code> does by itself.</p><div class="stack">${changed}</div>`,
  );
}

function renderDifference(server: string, { added, removed, changed }: ServerDifference): Markup {
  const names = [
    ...removed.slice(0, MAX_SHOWN).map((tool) => `- ${visibleLine(tool)}`),
    ...added.slice(0, MAX_SHOWN).map((tool) => `+ ${visibleLine(tool)}`),
  ];
  const texts = changed
    .slice(0, MAX_SHOWN)
    .map(
      ({ tool, diff }) =>
        html`<figure class="text"><figcaption><span>${tool}</span></figcaption>${renderDiff(diff.slice(0, 500).map(visibleLine), `What changed of ${tool}`)}</figure>`,
    );
  const counts = [
    added.length > 0 ? `${formatCount(added.length)} new` : "",
    removed.length > 0 ? `${formatCount(removed.length)} gone` : "",
    changed.length > 0 ? `${formatCount(changed.length)} changed` : "",
  ].filter((part) => part !== "");
  return html`<article class="saved"><h2>${server}</h2><p>${countNoun(added.length + removed.length + changed.length, "tool")}: ${counts.join(", ")}</p>
${names.length === 0 ? undefined : html`<figure class="text"><figcaption><span>Tools</span></figcaption>${renderDiff(names, `New tools of ${server}, and those that are gone`)}</figure>`}${texts}</article>`;
}

/** The page that links to the address of a login, because a form of the console can redirect only within the console. */
function renderBegunLogin(server: string, address: string): ConsolePage {
  return {
    title: "Log in",
    place: "servers",
    header: html`<p class="crumbs"><a href="${BASE}/servers">Servers</a></p>${renderHeading(`Log in at ${server}`)}`,
    main: html`<p>The login goes on at <code>${new URL(address).host}</code>, within ten minutes.</p>
<div class="actions"><a class="button primary" href="${address}">Go on to ${new URL(address).host}</a></div>
<p class="soft">Your login is kept for you alone. It counts for your programs as soon as you have logged in; then <a href="${BASE}/servers">look at the servers again</a>.</p>`,
  };
}

/** The most logins in progress. */
const MAX_LOGINS = 50;
const LOGIN_MS = 10 * 60_000;

const NOTICES: Readonly<Record<string, string>> = {
  disconnected: "Your login at that server is removed.",
};

/** Registers the routes of the servers and of logins at them. */
export function serversRoutes(app: Routes, answers: Answers): void {
  const { check: ask, now: clock } = answers.parts;
  const checks = ask && new ServerChecks(ask, clock);
  /** Logins in progress, by viewer and server. */
  const begunLogins = new Map<string, AbortController>();
  app.get("/servers", (c) => answers.page(c, () => showServers(c)));
  app.post("/servers/check", (c) => answers.act(c, () => beginCheck(c)));
  app.post("/servers/:server/connect", (c) => answers.page(c, () => beginLogin(c)));
  app.post("/servers/:server/disconnect", (c) => answers.act(c, () => removeLogin(c)));

  async function showServers(c: Asked): Promise<ConsolePage> {
    const { archive, now, configuration, logins, connect } = answers.parts;
    const { viewer } = c.get("session");
    const sinceMs = now() - OVERVIEW_DAYS * DAY_MS;
    const isAll = c.get("sight").seesAll;
    const isKept = await archive.exists();
    const [catalog, stats, recent, known, frame] = await Promise.all([
      answers.catalog(c),
      isAll ? (isKept ? archive.stats({ sinceMs }) : undefined) : undefined,
      isKept ? recentCalls(archive, { ...answers.own(c), sinceMs }) : { runs: 0, servers: new Map() },
      logins?.(viewer),
      answers.frame(c),
    ]);
    const { servers, sandbox } = configuration();
    return renderServers({
      frame,
      catalog,
      recent,
      servers,
      sandboxes: sandbox.servers,
      days: OVERVIEW_DAYS,
      stats: isAll ? (stats?.tools ?? []) : undefined,
      logins: known,
      connects: connect !== undefined,
      check: checks?.of(viewer),
      lookingSince: answers.startedAt,
      notice: NOTICES[c.req.query("done") ?? ""],
    });
  }

  async function beginCheck(c: Asked): Promise<string> {
    if (checks === undefined) throw new NotFound();
    if (!checks.begin(c.get("session").viewer, answers.closing))
      throw new RefusedError(
        429,
        "Other checks of the servers are in progress; try again when they have ended.",
      );
    return `${BASE}/servers#check`;
  }

  /** The configured name of the server that a form is about. @throws NotFound */
  function serverOf(c: Asked): string {
    const wanted = c.req.param("server") ?? "";
    const found = answers.parts.configuration().servers.find(({ name }) => name === wanted);
    if (found === undefined) throw new NotFound();
    return found.name;
  }

  /** Begins a login of the viewer. A second login of the same viewer at a server replaces the first. */
  async function beginLogin(c: Asked): Promise<ConsolePage> {
    const { connect } = answers.parts;
    const server = serverOf(c);
    if (connect === undefined) throw new NotFound();
    const { viewer } = c.get("session");
    const key = JSON.stringify([viewer.principal, server]);
    endLogin(key);
    const [oldest] = begunLogins.keys();
    if (begunLogins.size >= MAX_LOGINS && oldest !== undefined) endLogin(oldest);
    const over = new AbortController();
    begunLogins.set(key, over);
    const signal = AbortSignal.any([over.signal, answers.closing, AbortSignal.timeout(LOGIN_MS)]);
    const begun = await connect(viewer, server, signal);
    if ("why" in begun) throw new RefusedError(409, begun.why);
    const isOfTheWeb = URL.canParse(begun.address) && /^https?:$/.test(new URL(begun.address).protocol);
    if (isOfTheWeb) return renderBegunLogin(server, begun.address);
    endLogin(key);
    throw new RefusedError(409, `The login of server '${server}' is not at an http or https address.`);
  }

  function endLogin(key: string): void {
    begunLogins.get(key)?.abort();
    begunLogins.delete(key);
  }

  async function removeLogin(c: Asked): Promise<string> {
    const { disconnect } = answers.parts;
    const server = serverOf(c);
    if (disconnect === undefined) throw new NotFound();
    const { viewer } = c.get("session");
    endLogin(JSON.stringify([viewer.principal, server]));
    const said = await disconnect(viewer, server);
    if (said !== undefined) throw new RefusedError(409, said.why);
    return `${BASE}/servers?done=disconnected`;
  }
}
