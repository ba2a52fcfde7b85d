/** The page of one run, and the difference of two. */
import type { ArchivedRun } from "../../archive/archived-run.ts";
import { formatBytes, formatCount, formatDuration } from "../../base/quantities.ts";
import { diffLines } from "../../configuration/diff-lines.ts";
import { wholeValueOf } from "../../execution/output/archived-output.ts";
import {
  html,
  type Markup,
  type PageParts,
  renderSection,
  renderTable,
  renderText,
  renderTime,
} from "../../server/pages/page.ts";
import { overviewOf, shortToolName, showJson, splitLines } from "../../server/reports/run-overview.ts";
import { BASE, type ConsolePage, type Frame, renderForm, renderHeading } from "../shell.ts";
import { renderDiff } from "./inbox.ts";
import { renderStatus, runAddress } from "./runs.ts";

/** What came of a replay. */
export interface ReplayOutcome {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The same: every call and the result are as they were recorded. */
  readonly kind: "same" | "diverged" | "undecided" | "impossible";
  /** One line, in ptc's words. */
  readonly message: string;
  /** What the program gave this time; `undefined` where it ran to no end. */
  readonly result?: { readonly value: unknown } | undefined;
}

interface RunPageOptions {
  run: ArchivedRun;
  /** As `runParts` makes them. */
  parts: Required<PageParts>;
  frame: Frame;
  replay: ReplayOutcome | "under way" | undefined;
  replays: boolean;
  /** What came of saving its program, where the viewer may save it. */
  saving:
    | {
        readonly saved: { readonly name: string; readonly notes: readonly string[] } | undefined;
        readonly refused: { readonly form: URLSearchParams; readonly why: string } | undefined;
      }
    | undefined;
  /** Earlier runs of the same program with the same data, the newest first. */
  alike: readonly { readonly run_id: string; readonly started_at: number; readonly status: string }[];
}

export function renderRun(options: RunPageOptions): ConsolePage {
  const { run, parts, frame, replay, replays, saving, alike } = options;
  const { run_id: id } = run.record;
  const actions = html`<div class="actions">
${replays ? renderForm(`${runAddress(id)}/replay`, frame, html`<button type="submit" class="primary">Replay</button>`) : undefined}
${renderCompare(id, alike)}
</div>`;
  return {
    title: parts.title,
    place: "runs",
    header: html`<p class="crumbs"><a href="${BASE}/runs">Runs</a></p>${parts.header}`,
    main: html`${actions}${renderSave(id, frame, saving)}${renderReplay(run, replay)}${parts.main}`,
    footer: parts.footer,
    rules: parts.rules,
  };
}

/** What the program is to be called, and what came of it. */
function renderSave(id: string, frame: Frame, saving: RunPageOptions["saving"]): Markup | undefined {
  if (saving === undefined) return undefined;
  const { saved, refused } = saving;
  const said =
    refused !== undefined
      ? html`<p class="outcome impossible" role="alert">${refused.why}</p>`
      : saved === undefined
        ? undefined
        : html`<div class="outcome same" role="status"><p><strong>Saved as <a href="${BASE}/programs">${saved.name}</a></strong>: <code>ptc run ${saved.name}</code> runs it, and other programs call it.</p>${saved.notes.map((note) => html`<p class="soft">${note}</p>`)}</div>`;
  const given = (name: string) => refused?.form.get(name) ?? "";
  const isForced = refused !== undefined && refused.form.get("force") !== null;
  return html`<div id="save">${said}<details class="fold"${refused === undefined ? undefined : html` open`}><summary>Save as program</summary>${renderForm(
    `${runAddress(id)}/save`,
    frame,
    html`<label><span>Name</span><input type="text" name="name" value="${given("name")}" placeholder="weekly-report" required maxlength="48" autocomplete="off" spellcheck="false"></label>
<label class="grow"><span>What it does</span><input type="text" name="description" value="${given("description")}" placeholder="what its first comment says" maxlength="300" autocomplete="off"></label>
<label class="choice"><input type="checkbox" name="force" value="yes"${isForced ? html` checked` : undefined}> Replace one of this name</label>
<button type="submit">Save</button>`,
    html` class="filters"`,
  )}</details></div>`;
}

function renderCompare(id: string, alike: RunPageOptions["alike"]): Markup | undefined {
  if (alike.length === 0) return undefined;
  const options = alike.map(
    (each) =>
      html`<option value="${each.run_id}">${each.run_id.slice(0, 8)}, ${each.status}, ${new Date(each.started_at).toISOString().slice(0, 16).replace("T", " ")}</option>`,
  );
  return html`<form method="get" action="${BASE}/diff"><input type="hidden" name="b" value="${id}"><label><span>Compare with</span><select name="a">${options}</select></label><button type="submit">Compare</button></form>`;
}

const NAMES = {
  same: "Replayed: the same",
  diverged: "Replayed: diverged",
  undecided: "Replayed: undecided",
  impossible: "Not replayed",
} as const;

function renderReplay(run: ArchivedRun, replay: RunPageOptions["replay"]): Markup | undefined {
  if (replay === undefined) return undefined;
  if (replay === "under way")
    return html`<div class="outcome" id="replay" role="status" data-again="1000"><p><strong>The replay goes on, or waits for its turn.</strong> <a href="${runAddress(run.record.run_id)}#replay">Look again</a></p></div>`;
  const { kind, message, result, at } = replay;
  const { result: recorded } = run.envelope;
  const both =
    kind !== "diverged" || result === undefined || !recorded.ok
      ? undefined
      : html`<div class="pair">${renderText("Recorded", showJson(wholeValueOf(run), 50_000))}${renderText("This time", showJson(result.value, 50_000))}</div>`;
  return html`<div class="outcome ${kind}" id="replay" role="status"><p><strong>${NAMES[kind]}</strong> <span class="soft">${renderTime(at)}</span></p><p>${message}</p>${both}</div>`;
}

const MAX_CALLS = 1_000;
const MAX_CHARS = 200_000;

/** Two runs side by side: the facts, the calls in their order, and the lines that differ of programs and results. */
export function renderDifference(a: ArchivedRun, b: ArchivedRun): ConsolePage {
  const [left, right] = [overviewOf(a), overviewOf(b)];
  const fact = (name: string, of: (run: ArchivedRun, overview: typeof left) => Markup | string) => ({
    cells: [name, of(a, left), of(b, right)],
  });
  const facts = [
    fact(
      "Run",
      ({ record: { run_id } }) =>
        html`<a href="${runAddress(run_id)}"><code>${run_id.slice(0, 8)}</code></a>`,
    ),
    fact("Started", ({ record }) => renderTime(record.started_at)),
    fact("Status", (_, { status }) => renderStatus(status)),
    fact("Took", (_, { durationMs }) => formatDuration(durationMs)),
    fact("Calls", ({ record }) => formatCount(record.calls.length)),
    fact("Tools answered", (_, { resultBytes }) => formatBytes(resultBytes)),
    fact("Kept out of context", (_, { keptBytes }) => formatBytes(keptBytes)),
  ];
  const lines = (run: ArchivedRun, of: (run: ArchivedRun) => string) => splitLines(of(run));
  const part = (id: string, name: string, of: (run: ArchivedRun) => string) => {
    const found = diffLines(lines(a, of), lines(b, of));
    return renderSection(
      id,
      name,
      found.length === 0
        ? html`<p class="soft">The same in both.</p>`
        : html`<figure class="text">${renderDiff(found, `Differences: ${name}`)}</figure>`,
    );
  };
  const called = ({ record }: ArchivedRun) =>
    record.calls
      .slice(0, MAX_CALLS)
      .map(
        ({ tool, ok, arguments: args, outcome }) =>
          `${shortToolName(tool)} ${ok ? "ok" : "failed"} ${args.slice(7, 15)} ${outcome.slice(7, 15)}`,
      )
      .join("\n");
  const valued = (run: ArchivedRun) => {
    const { result } = run.envelope;
    return result.ok
      ? showJson(wholeValueOf(run), MAX_CHARS).text
      : `${result.error.type}: ${result.error.message}`;
  };
  return {
    title: "Two runs",
    place: "runs",
    header: html`<p class="crumbs"><a href="${BASE}/runs">Runs</a></p>${renderHeading("Two runs side by side")}`,
    main: html`${renderSection("facts", "Facts", renderTable(["Fact", "First", "Second"], facts))}
${part("calls-diff", "Calls, with the digests of arguments and outcome", called)}
${part("program-diff", "Program", ({ code }) => code)}
${part("data-diff", "Data given", ({ data }) => showJson(data, MAX_CHARS).text)}
${part("result-diff", "Result", valued)}
${part("console-diff", "Console", ({ consoleText }) => consoleText)}`,
  };
}
