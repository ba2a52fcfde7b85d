/** The list of runs: those in progress, those that have ended, and the search. */
import type { ListedRun, PageFilter, RunFilter, RunPage } from "../../archive/listed-run.ts";
import { formatBytes, formatCount, formatDuration } from "../../base/quantities.ts";
import { html, type Markup, renderSection, renderTable, renderTime } from "../../server/pages/page.ts";
import { shortToolName } from "../../server/reports/run-overview.ts";
import type { Answers, Asked, Routes } from "../answers.ts";
import type { LiveRun } from "../live-runs.ts";
import { BASE, type ConsolePage, renderHeading, renderNothing } from "../shell.ts";
import type { Sight } from "../sight.ts";
import type { Rights } from "../viewer.ts";

/** The fields of the search, as in the address. */
interface RunSearch {
  text: string;
  tool: string;
  principal: string;
  status: string;
  since: string;
  until: string;
}

const MAX_FIELD_CHARS = 200;
const DATE = /^\d{4}-\d\d-\d\d$/;
const DAY_MS = 86_400_000;

/** Whose runs a search is for, if the viewer searches those of everybody. */
const EVERYBODY = "*";

/** Reads the search in an address. An invalid value of a field counts as no value. */
function readRunSearch(query: URLSearchParams): RunSearch {
  const field = (name: string) => (query.get(name) ?? "").trim().slice(0, MAX_FIELD_CHARS);
  const date = (name: string) => (Number.isFinite(dayIn(field(name))) ? field(name) : "");
  return {
    text: field("text"),
    tool: field("tool"),
    principal: field("principal"),
    status: field("status"),
    since: date("since"),
    until: date("until"),
  };
}

function dayIn(text: string): number {
  return DATE.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
}

/** The filter of a search, within what a viewer sees. */
function filterOf(
  search: RunSearch,
  principal: string,
  { seesAll, seesOthers }: Pick<Sight, "seesAll" | "seesOthers">,
): RunFilter {
  const { text, tool, status, since, until } = search;
  const named = search.principal === EVERYBODY ? "" : search.principal;
  const of = seesAll ? named : seesOthers && search.principal !== "" ? named : principal;
  return {
    ...(text === "" ? {} : { text }),
    ...(tool === "" ? {} : { tool: tool.includes("*") ? tool : `*${tool.replaceAll(".", "__")}*` }),
    ...(of === "" ? {} : { principal: of }),
    ...(status === "" ? {} : { status }),
    ...(since === "" ? {} : { sinceMs: dayIn(since) }),
    // The whole of that day.
    ...(until === "" ? {} : { untilMs: dayIn(until) + DAY_MS }),
  };
}

interface RunsPage {
  page: RunPage;
  search: RunSearch;
  live: readonly LiveRun[];
  sight: Sight;
  /** Whether the page begins with the newest run. */
  isFirst: boolean;
  /** Whether the page shows runs in progress of the process that serves it. */
  isFollowed: boolean;
  nowMs: number;
}

const FOLLOWED =
  "This page shows the runs in progress of the ptc that serves it. Runs of other processes and replicas are listed when they have ended.";
const UNFOLLOWED =
  "Runs are listed when they have ended. The console of ptc serve --http also shows its own runs in progress.";

function renderRuns(options: RunsPage): ConsolePage {
  const { page, search, live, sight, isFirst, isFollowed, nowMs } = options;
  const isSearch = Object.values(search).some((value) => value !== "");
  const whose = sight.seesOthers && search.principal !== "" ? "all" : sight.rights.runs;
  const rows = page.runs.map((run) => runRow(run, { runs: whose }));
  const columns = ["Run", "Started", "Status", "Program", "Calls", "Time", "Kept out"];
  const nothing = isSearch
    ? renderNothing(html`No run matches. <a href="${BASE}/runs">Show all runs</a>.`)
    : renderNothing(
        html`No run is archived yet. <code>ptc run program.ts</code> makes one, and so does a model behind <code>ptc serve</code>.`,
      );
  const next = page.next === undefined ? undefined : addressOf(search, page.next);
  const pages = html`<nav class="pages" aria-label="Pages">${isFirst ? undefined : html`<a class="button" href="${addressOf(search)}">Newest</a>`}${next === undefined ? undefined : html`<a class="button" rel="next" href="${next}">Older</a>`}</nav>`;
  const damaged =
    page.damaged.length === 0
      ? undefined
      : html`<div class="failure" role="note"><p><strong>${formatCount(page.damaged.length)} damaged</strong></p><pre>${page.damaged.map(({ message }) => message).join("\n")}</pre></div>`;
  const list = rows.length === 0 ? nothing : html`${renderTable(columns, rows)}${pages}`;
  return {
    title: "Runs",
    place: "runs",
    header: renderHeading(
      "Runs",
      sight.seesAll
        ? "of everybody, the newest first"
        : whose === "all"
          ? "as far as a rule lets you read them, the newest first"
          : "yours, the newest first",
    ),
    main: html`${renderSearch(search, sight)}
<div data-live="live runs">${live.length === 0 ? undefined : renderLive(live, nowMs)}</div>
${damaged}
<div data-live="${isFirst ? "runs" : ""}" id="list">${list}</div>
${isFirst ? html`<p class="notes">${isFollowed ? FOLLOWED : UNFOLLOWED}</p>` : undefined}`,
  };
}

const STATUSES = ["ok", "failed"];

function renderSearch(search: RunSearch, { seesAll, seesOthers }: Sight): Markup {
  const options = [["", "any"], ...STATUSES.map((status) => [status, status])] as const;
  const own =
    STATUSES.includes(search.status) || search.status === "" ? [] : [[search.status, search.status] as const];
  const statuses = [...options, ...own].map(
    ([value, name]) =>
      html`<option value="${value}"${value === search.status ? html` selected` : undefined}>${name}</option>`,
  );
  const field = (name: keyof RunSearch, label: string, type: string, placeholder = "") =>
    html`<label><span>${label}</span><input type="${type}" name="${name}" value="${search[name]}" placeholder="${placeholder}" autocomplete="off" spellcheck="false"></label>`;
  return html`<search><form class="filters" method="get" action="${BASE}/runs">
${field("text", "Program", "search", "first line or file")}
${field("tool", "Tool", "search", "docs.get or mcp__docs__*")}
${seesOthers ? field("principal", "Principal", "search", seesAll ? "" : "you; * for everybody") : undefined}
<label><span>Status</span><select name="status">${statuses}</select></label>
${field("since", "Since", "date")}
${field("until", "Until", "date")}
<button type="submit" class="primary">Search</button>
</form></search>`;
}

function addressOf(search: RunSearch, before?: string): string {
  const query = new URLSearchParams(Object.entries(search).filter(([, value]) => value !== ""));
  if (before !== undefined) query.set("before", before);
  const text = query.toString();
  return `${BASE}/runs${text === "" ? "" : `?${text}`}`;
}

const SHORT_ID_CHARS = 8;

/** A row of a table of runs. */
export function runRow(run: ListedRun, rights: Pick<Rights, "runs">) {
  const who = rights.runs === "all" ? html` <span class="who">${whoOf(run)}</span>` : undefined;
  return {
    cells: [
      html`<a class="run-id" href="${runAddress(run.run_id)}"><code>${run.run_id.slice(0, SHORT_ID_CHARS)}</code></a>`,
      renderTime(run.started_at),
      renderStatus(run.status),
      html`<span class="program" title="${run.title}">${run.title}</span>${who}`,
      html`${formatCount(run.calls)}${run.failed_calls > 0 ? html` <span class="some">${formatCount(run.failed_calls)} failed</span>` : undefined}`,
      formatDuration(run.duration_ms),
      formatBytes(Math.max(0, run.result_bytes - run.returned_bytes)),
    ],
  };
}

function whoOf({ principal, client, source }: ListedRun): string {
  return [principal, client ?? `ptc ${source}`].join(" · ");
}

export function renderStatus(status: string): Markup {
  return html`<span class="status ${status === "ok" ? "good" : "bad"}">${status}</span>`;
}

export function runAddress(runId: string): string {
  return `${BASE}/runs/${encodeURIComponent(runId)}`;
}

const SHOWN_CALLS = 6;

function renderLive(live: readonly LiveRun[], nowMs: number): Markup {
  const items = live.map((run) => {
    const more = run.called - Math.min(run.called, SHOWN_CALLS);
    const calls = run.calls.slice(-SHOWN_CALLS).map((call) => {
      const state =
        call.durationMs === undefined
          ? html`<span class="going">${formatDuration(Math.max(0, nowMs - call.startedAt))} so far</span>`
          : html`<span class="${call.failure === undefined ? "done" : "some"}">${call.failure ?? "ok"}, ${formatDuration(call.durationMs)}</span>`;
      return html`<li value="${call.seq}"><code>${shortToolName(call.tool)}</code> ${state}</li>`;
    });
    const asked =
      run.asked === undefined
        ? undefined
        : html`<p class="asked"><em class="mark">waits for a person</em> about <code>${shortToolName(run.asked)}</code></p>`;
    return html`<li class="live-run"><p><a href="${runAddress(run.runId)}"><code class="run-id">${run.runId.slice(0, SHORT_ID_CHARS)}</code></a> ${run.program?.fileName} <span class="soft">${run.client ?? run.source}, ${formatDuration(Math.max(0, nowMs - run.startedAt))}, ${formatCount(run.called)} ${run.called === 1 ? "call" : "calls"}</span></p>${more > 0 ? html`<p class="soft">${formatCount(more)} earlier</p>` : undefined}<ol>${calls}</ol>${asked}</li>`;
  });
  return renderSection(
    "live",
    html`Running now <span class="count">${formatCount(live.length)}</span>`,
    html`<ul class="live">${items}</ul>`,
  );
}

const RUNS_ON_A_PAGE = 50;
/** How many runs are examined for those that a viewer may read, if rules decide it. */
const MAX_LOOKED_THROUGH = 500;

/** Registers the routes of the list of runs. */
export function runsRoutes(app: Routes, answers: Answers): void {
  app.get("/runs", (c) => answers.page(c, () => listRuns(c)));

  async function listRuns(c: Asked): Promise<ConsolePage> {
    const { archive, now } = answers.parts;
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
        : await permittedPage(sight, filter);
    if (before === undefined) await answers.live?.look();
    const live = before === undefined ? ((await answers.live?.runsFor(sight)) ?? []) : [];
    // The owner of a damaged run is unknown.
    const damaged = rights.runs === "all" ? page.damaged : [];
    return renderRuns({
      page: { ...page, damaged },
      search,
      live,
      sight,
      isFirst: before === undefined,
      isFollowed: answers.live !== undefined,
      nowMs: now(),
    });
  }

  /** A page of the runs that rules permit the viewer to read. It does not reveal that other runs exist. */
  async function permittedPage(sight: Sight, filter: PageFilter): Promise<RunPage> {
    const { archive } = answers.parts;
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
}
