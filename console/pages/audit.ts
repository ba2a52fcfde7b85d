/** The audit log: its lines, and whether they are unchanged. */

import { AUDIT_EVENTS, type AuditFields, isUnwanted } from "../../archive/audit/audit-line.ts";
import type { LogVerification } from "../../archive/audit/chain/verify-log.ts";
import type { AuditEntry, AuditFilter } from "../../archive/audit/reading/read-log.ts";
import { countNoun, formatCount } from "../../base/quantities.ts";
import { html, type Markup, renderTable } from "../../server/pages/page.ts";
import { shortToolName } from "../../server/reports/run-overview.ts";
import { type Answers, type Asked, RefusedError, type Routes } from "../answers.ts";
import { BASE, type ConsolePage, type Frame, renderForm, renderHeading, renderNothing } from "../shell.ts";
import type { Viewer } from "../viewer.ts";
import { runAddress } from "./runs.ts";

export interface AuditSearch {
  event: string;
  tool: string;
  principal: string;
  run: string;
  since: string;
  unwanted: boolean;
}

const MAX_FIELD_CHARS = 200;

export function readAuditSearch(query: URLSearchParams): AuditSearch {
  const field = (name: string) => (query.get(name) ?? "").trim().slice(0, MAX_FIELD_CHARS);
  const event = field("event");
  const since = field("since");
  return {
    event: (AUDIT_EVENTS as readonly string[]).includes(event) ? event : "",
    tool: field("tool"),
    principal: field("principal"),
    run: field("run"),
    since: /^\d{4}-\d\d-\d\d$/.test(since) && Number.isFinite(Date.parse(since)) ? since : "",
    unwanted: query.get("unwanted") === "on",
  };
}

/** The filter of a search, within what a viewer sees. */
export function auditFilterOf(search: AuditSearch, viewer: Viewer, whose: "own" | "all"): AuditFilter {
  const { event, tool, principal, run, since, unwanted } = search;
  const orNone = (text: string) => (text === "" ? undefined : text);
  return {
    events: event === "" ? undefined : [event],
    tool: tool === "" ? undefined : tool.includes("*") ? tool : `*${tool.replaceAll(".", "__")}*`,
    principal: whose === "own" ? viewer.principal : orNone(principal),
    run: orNone(run),
    sinceMs: since === "" ? undefined : Date.parse(`${since}T00:00:00Z`),
    isUnwanted: unwanted,
  };
}

const MAX_LINES = 200;

/** The newest lines that match, the newest first. */
async function newestLines(
  entries: AsyncIterable<AuditEntry>,
): Promise<{ lines: AuditEntry[]; total: number }> {
  let lines: AuditEntry[] = [];
  let total = 0;
  for await (const entry of entries) {
    total++;
    lines.push(entry);
    if (lines.length >= 2 * MAX_LINES) lines = lines.slice(-MAX_LINES);
  }
  return { lines: lines.slice(-MAX_LINES).reverse(), total };
}

interface AuditPage {
  search: AuditSearch;
  lines: readonly AuditEntry[];
  total: number;
  verified: LogVerification | undefined;
  whose: "own" | "all";
  frame: Frame;
}

function renderAudit({ search, lines, total, verified, whose, frame }: AuditPage): ConsolePage {
  const rows = lines.map(({ fields }) => ({ cells: cellsOf(fields) }));
  const field = (name: "tool" | "principal" | "run", label: string) =>
    html`<label><span>${label}</span><input type="search" name="${name}" value="${search[name]}" autocomplete="off" spellcheck="false"></label>`;
  const events = ["", ...AUDIT_EVENTS].map(
    (event) =>
      html`<option value="${event}"${event === search.event ? html` selected` : undefined}>${event === "" ? "any" : event}</option>`,
  );
  const query = new URLSearchParams(
    Object.entries(search).flatMap(([name, value]): [string, string][] =>
      value === "" || value === false ? [] : [[name, value === true ? "on" : String(value)]],
    ),
  ).toString();
  const shown =
    total > lines.length
      ? `the newest ${formatCount(lines.length)} of ${formatCount(total)} lines`
      : `${formatCount(total)} ${total === 1 ? "line" : "lines"}`;
  return {
    title: "Audit",
    place: "audit",
    header: renderHeading("Audit", `${shown}${whose === "own" ? ", of what ran for you" : ""}`),
    main: html`<div class="actions">
${whose === "all" ? renderForm(`${BASE}/audit/verify`, frame, html`<button type="submit" class="primary">Verify the log</button>`) : undefined}
<a class="button" href="${BASE}/audit/export${query === "" ? "" : `?${query}`}" download="audit.jsonl">Export as JSON lines</a></div>
${verified === undefined ? undefined : renderVerified(verified)}
<search><form class="filters" method="get" action="${BASE}/audit">
<label><span>Event</span><select name="event">${events}</select></label>
${field("tool", "Tool")}${whose === "all" ? field("principal", "Principal") : undefined}${field("run", "Run")}
<label><span>Since</span><input type="date" name="since" value="${search.since}"></label>
<label class="choice"><input type="checkbox" name="unwanted"${search.unwanted ? html` checked` : undefined}> <span>Refused or failed only</span></label>
<button type="submit" class="primary">Search</button></form></search>
${rows.length === 0 ? renderNothing("No line matches.") : html`<div class="left">${renderTable(["When", "Event", "What", "Came of it", "Who", "Run"], rows)}</div>`}`,
  };
}

function cellsOf(fields: AuditFields): (Markup | string)[] {
  const of = (member: string) => (fields[member] === undefined ? "" : String(fields[member]));
  const first = (...members: string[]) => members.map(of).find((text) => text !== "") ?? "";
  const tool = of("tool");
  const came = [
    first("decision", "outcome", "login", "what"),
    of("scope") && `for ${of("scope")}`,
    of("approver") && `by ${of("approver")}`,
    of("rule") && `rule ${of("rule")}`,
    of("reason"),
  ].filter((part) => part !== "");
  const run = of("run_id");
  const called = of("calls") === "" ? "" : countNoun(Number(of("calls")), "call");
  const state = isUnwanted(fields) ? html`<span class="some">${came.join(", ")}</span>` : came.join(", ");
  return [
    html`<time datetime="${of("time")}">${of("time")
      .replace("T", " ")
      .replace(/\.\d+Z$/, "Z")}</time>`,
    of("event"),
    html`<span class="wide">${tool === "" ? of("server") || called : shortToolName(tool)}</span>`,
    html`<span class="wide">${state}</span>`,
    html`<span class="wide">${[of("principal"), of("client")].filter((part) => part !== "").join(", ")}</span>`,
    run === "" ? "" : html`<a href="${runAddress(run)}"><code>${run.slice(0, 8)}</code></a>`,
  ];
}

function renderVerified({ lines, problems, notes, head }: LogVerification): Markup {
  const isGood = problems.length === 0;
  const said = isGood
    ? head === undefined
      ? "Nothing is audited yet."
      : `All ${formatCount(lines)} lines are as they were written.`
    : `Not all of the ${formatCount(lines)} lines are as they were written: do not trust the log.`;
  return html`<div class="outcome ${isGood ? "same" : "diverged"}" role="status" id="verified"><p><strong>${said}</strong></p>${head === undefined ? undefined : html`<p class="soft">The last is <code>${head}</code>. A copy kept elsewhere proves later that nothing before it was rewritten.</p>`}${problems.length === 0 ? undefined : html`<ul>${problems.slice(0, 100).map((problem) => html`<li>${problem}</li>`)}</ul>`}${notes.length === 0 ? undefined : html`<ul class="soft">${notes.slice(0, 20).map((note) => html`<li>${note}</li>`)}</ul>`}</div>`;
}

/** Registers the routes of the audit log. */
export function auditRoutes(app: Routes, answers: Answers): void {
  app.get("/audit", (c) => answers.page(c, () => showAudit(c)));
  app.post("/audit/verify", (c) => answers.page(c, () => verifyLog(c)));
  app.get("/audit/export", (c) => exportLines(c));

  async function showAudit(c: Asked, verified?: LogVerification): Promise<ConsolePage> {
    const search = readAuditSearch(new URL(c.req.url).searchParams);
    const whose = verified === undefined ? await answers.audits(c) : "all";
    const filter = auditFilterOf(search, c.get("session").viewer, whose);
    const { lines, total } = await newestLines(answers.parts.audit.entries(filter));
    return renderAudit({ search, lines, total, verified, whose, frame: await answers.frame(c) });
  }

  async function verifyLog(c: Asked): Promise<ConsolePage> {
    if ((await answers.audits(c)) !== "all") throw new RefusedError(403, "You may not verify the whole log.");
    return showAudit(c, await answers.parts.audit.verify({}));
  }

  async function exportLines(c: Asked): Promise<Response> {
    const search = readAuditSearch(new URL(c.req.url).searchParams);
    const filter = auditFilterOf(search, c.get("session").viewer, await answers.audits(c));
    const lines = answers.parts.audit.entries(filter);
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
}
