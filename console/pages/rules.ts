/** The rules: what they decided, what another rule would have decided, and the cases that test them. */

import type { AuditEntry } from "../../archive/audit/reading/read-log.ts";
import { countNoun, formatCount } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import { ConfigurationError } from "../../configuration/configuration-error.ts";
import {
  type CaseResult,
  POLICY_CASES_FILE,
  readPolicyCases,
  tryPolicyCases,
} from "../../configuration/policy/policy-cases.ts";
import { identityOf } from "../../protocol/run-context.ts";
import { matchesPattern } from "../../protocol/tool-names.ts";
import { html, type Markup, renderSection, renderTable, renderTime } from "../../server/pages/page.ts";
import { shortToolName } from "../../server/reports/run-overview.ts";
import { NoTurnError } from "../../system/worker-turns.ts";
import { type Answers, type Asked, formOf, RefusedError, type Routes } from "../answers.ts";
import { BASE, type ConsolePage, type Frame, renderForm, renderHeading, renderNothing } from "../shell.ts";
import type { WhatIf } from "../what-if.ts";
import { whatIf } from "../what-if.ts";
import { auditFilterOf, readAuditSearch } from "./audit.ts";
import { DAY_MS } from "./overview.ts";
import { runAddress } from "./runs.ts";

/** What one rule decided about calls of one tool. */
interface RuleCount {
  rule: string;
  decision: string;
  tool: string;
  calls: number;
}

const MAX_COUNTED = 1_000;

/** Counts the decisions of policy by rule, decision and tool, the most frequent first. */
async function countDecisions(entries: AsyncIterable<AuditEntry>): Promise<RuleCount[]> {
  const counts = new Map<string, RuleCount>();
  for await (const { fields } of entries) {
    const of = (member: string) => (fields[member] === undefined ? "" : String(fields[member]));
    const each = { rule: of("rule"), decision: of("decision"), tool: of("tool") };
    const key = JSON.stringify([each.rule, each.decision, each.tool]);
    const known = counts.get(key);
    if (known !== undefined) known.calls++;
    else if (counts.size < MAX_COUNTED) counts.set(key, { ...each, calls: 1 });
  }
  return [...counts.values()].sort((a, b) => b.calls - a.calls);
}

interface RulesPage {
  counts: readonly RuleCount[];
  days: number;
  /** Where the rules are written, and how many there are of each kind. */
  configured: readonly (readonly [what: string, entries: readonly string[]])[];
  whose: "own" | "all";
  frame: Frame;
  /** The cases of the project, or why they cannot run; `undefined` if there are none for the viewer. */
  cases: readonly CaseResult[] | { readonly why: string } | undefined;
  /** A supposed rule, and what it would have decided, or why it is invalid. */
  supposed: { readonly text: string; readonly result: WhatIf | { readonly why: string } } | undefined;
}

function renderRules(page: RulesPage): ConsolePage {
  const { counts, days, configured, whose, frame, cases, supposed } = page;
  const rows = counts.map(({ rule, decision, tool, calls }) => ({
    cells: [
      rule === "" ? html`<span class="soft">no rule by name</span>` : html`<code>${rule}</code>`,
      html`<span class="${decision === "deny" || decision === "denied" ? "some" : ""}">${decision}</span>`,
      html`<span class="wide"><a href="${BASE}/audit?event=decision&tool=${encodeURIComponent(tool)}">${shortToolName(tool)}</a></span>`,
      formatCount(calls),
    ],
  }));
  const lists = configured.map(
    ([what, entries]) =>
      html`<dt>${what}</dt><dd>${entries.length === 0 ? html`<span class="soft">none</span>` : html`<ul>${entries.slice(0, 100).map((entry) => html`<li><code>${entry}</code></li>`)}</ul>`}</dd>`,
  );
  return {
    title: "Rules",
    place: "rules",
    header: renderHeading(
      "Rules",
      `what policy decided in the last ${days} days${whose === "own" ? ", about your calls" : ""}`,
    ),
    main: html`${rows.length === 0 ? renderNothing("No rule has decided about a call in these days.") : html`<div class="left">${renderTable(["Rule", "Decision", "Tool", "Calls"], rows)}</div>`}
${renderWhatIf(supposed, frame)}
${cases && renderCases(cases)}
<section aria-labelledby="configured"><div class="section-head"><h2 id="configured">As configured</h2></div><dl class="facts-list">${lists}</dl><p class="soft"><code>ptc policy check</code> checks every rule, and <code>ptc policy explain RUN</code> says what decided about each call of a run.</p></section>`,
  };
}

const EXAMPLE = `forbid (principal, action == Action::"call", resource in Server::"mail");

or, as in ptc.yaml:

approvals:
  ask: ["mcp__mail__*"]`;

const MAX_OTHERWISE = 200;

function renderWhatIf(supposed: RulesPage["supposed"], frame: Frame): Markup {
  const form = renderForm(
    `${BASE}/rules/what-if#what-if`,
    frame,
    html`<label><span>A rule of Cedar, or <code>tools</code> and <code>approvals</code> as in ptc.yaml, which is added to those that there are</span><textarea name="rule" rows="6" spellcheck="false" autocomplete="off" placeholder="${EXAMPLE}">${supposed?.text ?? ""}</textarea></label><div class="actions"><button type="submit" class="primary">See what it would have decided</button></div>`,
    html` class="trial"`,
  );
  return renderSection("what-if", "What if", html`${form}${supposed && renderSupposed(supposed.result)}`);
}

function renderSupposed(result: WhatIf | { readonly why: string }): Markup {
  if ("why" in result) return html`<p class="notice" role="alert">${result.why}</p>`;
  const { calls, runs, otherwise, skipped, endedBy, notes } = result;
  const bound = {
    calls: "There are older ones.",
    time: "The time for looking at them ended there.",
  } as const;
  const said = [
    `Of the newest ${countNoun(calls, "call")}, in ${countNoun(runs, "run")}, it would have decided ${otherwise.length === 0 ? "none" : formatCount(otherwise.length)} otherwise.`,
    skipped === 0
      ? ""
      : `Left out: ${formatCount(skipped)}, of tools that no longer exist, or with arguments that were not kept.`,
    endedBy === undefined ? "" : bound[endedBy],
  ].filter((part) => part !== "");
  const rows = otherwise.slice(0, MAX_OTHERWISE).map((each) => ({
    cells: [
      html`<a href="${runAddress(each.runId)}"><code>${each.runId.slice(0, 8)}</code></a>, call ${each.call}`,
      renderTime(each.at),
      html`<span class="wide">${shortToolName(each.tool)}</span>`,
      html`<span class="wide">${each.principal}</span>`,
      JUDGED[each.before.kind],
      html`<span class="${each.after.kind === "allow" ? "" : "some"}">${JUDGED[each.after.kind]}</span>`,
      html`<span class="wide">${oneLine([each.after.rule, each.after.reason].filter((part) => part !== undefined).join(": "), 300)}</span>`,
      each.recorded,
    ],
  }));
  const cut =
    otherwise.length > MAX_OTHERWISE
      ? html`<p class="cut">The newest ${formatCount(MAX_OTHERWISE)} of them.</p>`
      : undefined;
  return html`<div class="outcome ${otherwise.length === 0 ? "same" : "undecided"}" role="status" id="supposed"><p><strong>${said[0]}</strong> ${said.slice(1).join(" ")}</p>${notes.slice(0, 20).map((note) => html`<p>${note}</p>`)}<p class="soft">Nothing was called, and nothing is saved. Where values came from is not followed again: each counts as having every label of what its run had read.</p></div>${rows.length === 0 ? undefined : html`${cut}<div class="left">${renderTable(["Call", "When", "Tool", "Who", "Now", "With the rule", "By", "Decided then"], rows)}</div>`}`;
}

const JUDGED = { allow: "allowed", ask: "asks a person", deny: "denied" } as const;

const MAX_CASES = 500;

function renderCases(cases: NonNullable<RulesPage["cases"]>): Markup {
  if ("why" in cases)
    return renderSection("cases", "Cases", html`<p class="notice" role="alert">${cases.why}</p>`);
  const failed = cases.filter(({ ok }) => !ok).length;
  const rows = cases.slice(0, MAX_CASES).map(({ ok, name, line, expected, decided, rule, reason }) => ({
    cells: [
      html`<span class="wide">${name}</span>`,
      ok ? html`<span class="status good">ok</span>` : html`<span class="status bad">failed</span>`,
      html`<span class="wide">${expected}</span>`,
      decided,
      html`<span class="wide">${oneLine([rule, reason].filter((part) => part !== undefined).join(": "), 300)}</span>`,
      formatCount(line),
    ],
  }));
  return renderSection(
    "cases",
    "Cases",
    html`<p class="soft">Of ${POLICY_CASES_FILE}, as <code>ptc policy test</code> decides them: ${formatCount(cases.length - failed)} of ${formatCount(cases.length)} as expected.</p><div class="left">${renderTable(["Case", "Result", "Expected", "Decided", "By", "Line"], rows)}</div>`,
  );
}

const RULE_DAYS = 7;

/** Registers the routes of the rules and of supposed rules. */
export function rulesRoutes(app: Routes, answers: Answers): void {
  app.get("/rules", (c) => answers.page(c, () => showRules(c)));
  app.post("/rules/what-if", (c) => answers.page(c, () => suppose(c)));

  async function showRules(
    c: Asked,
    supposed?: { text: string; result: WhatIf | { why: string } },
  ): Promise<ConsolePage> {
    const { audit, now, configuration } = answers.parts;
    const whose = await answers.audits(c);
    const search = readAuditSearch(new URLSearchParams({ event: "decision" }));
    const filter = auditFilterOf(search, c.get("session").viewer, whose);
    const counts = await countDecisions(audit.entries({ ...filter, sinceMs: now() - RULE_DAYS * DAY_MS }));
    const { tools, approvals } = configuration();
    const names = c.get("sight").seesAll ? undefined : (await toolsSeenBy(c)).names();
    // An entry about tools that the viewer does not see would reveal them.
    const shown = (patterns: readonly string[]) =>
      patterns.filter(
        (pattern) => names === undefined || names.some((name) => matchesPattern(pattern, name)),
      );
    const configured = [
      ["tools.allow", tools.allow === undefined ? ["every tool"] : shown(tools.allow)],
      ["tools.block", shown(tools.block)],
      ["approvals.ask", shown(approvals.ask ?? [])],
    ] as const;
    const cases = whose === "all" ? await casesOfProject() : undefined;
    const frame = await answers.frame(c);
    return renderRules({ counts, days: RULE_DAYS, configured, whose, frame, cases, supposed });
  }

  /** The cases of the project with their results; `undefined` where there are none. */
  async function casesOfProject(): Promise<readonly CaseResult[] | { why: string } | undefined> {
    const configuration = answers.parts.configuration();
    try {
      const text = await readPolicyCases(configuration);
      if (text === undefined) return undefined;
      return await tryPolicyCases(configuration, (await answers.parts.tools()).all, text, POLICY_CASES_FILE);
    } catch (error) {
      if (error instanceof ConfigurationError) return { why: oneLine(error.message, 2_000) };
      throw error;
    }
  }

  /** The tools that the viewer may know: all of them if the viewer sees the whole project, else those that their programs see. */
  async function toolsSeenBy(c: Asked): Promise<ToolCatalog> {
    const { viewer, seesAll } = c.get("sight");
    const tools = await answers.parts.tools();
    return seesAll ? tools.all : tools.callableFor(identityOf(viewer));
  }

  /** Decides archived calls by a supposed rule: the viewer's own, or everybody's if the viewer sees all. */
  async function suppose(c: Asked): Promise<ConsolePage> {
    const text = ((await formOf(c)).get("rule") ?? "").replaceAll("\r\n", "\n");
    const { archive, configuration } = answers.parts;
    try {
      const kept = (await archive.exists()) ? archive : undefined;
      const { principal } = c.get("session").viewer;
      const decided = { configuration: configuration(), all: await toolsSeenBy(c) };
      const result = await whatIf(principal, text, kept, answers.own(c), decided);
      return await showRules(c, { text, result });
    } catch (error) {
      if (error instanceof NoTurnError)
        throw new RefusedError(429, "Other rules are being tried; try again when that has ended.");
      if (!(error instanceof ConfigurationError)) throw error;
      const page = await showRules(c, { text, result: { why: oneLine(error.message, 2_000) } });
      return { ...page, status: 400 };
    }
  }
}
