/** The page of one run, and the comparison of two. */

import type { ArchivedRun } from "../../archive/archived-run.ts";
import type { ListedRun } from "../../archive/listed-run.ts";
import { formatBytes, formatCount, formatDuration } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import { whyNoName } from "../../catalog/program-name.ts";
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
import { runParts } from "../../server/pages/run-page.ts";
import { overviewOf, shortToolName, showJson, splitLines } from "../../server/reports/run-overview.ts";
import {
  type Answers,
  type Asked,
  formOf,
  isMissing,
  keepNewest,
  NotFound,
  RefusedError,
  type Routes,
} from "../answers.ts";
import type { ReplayOutcome } from "../parts.ts";
import { BASE, type ConsolePage, type Frame, renderForm, renderHeading } from "../shell.ts";
import { ownerOf } from "../sight.ts";
import { renderDiff } from "./inbox.ts";
import { renderLiveRun } from "./live-run.ts";
import { renderStatus, runAddress } from "./runs.ts";

interface RunPageOptions {
  run: ArchivedRun;
  /** As `runParts` makes them. */
  parts: Required<PageParts>;
  frame: Frame;
  replay: ReplayOutcome | "under way" | undefined;
  replays: boolean;
  /** The outcome of saving its program, if the viewer may save it. */
  saving:
    | {
        readonly saved: { readonly name: string; readonly notes: readonly string[] } | undefined;
        readonly refused: { readonly form: URLSearchParams; readonly why: string } | undefined;
      }
    | undefined;
  /** Earlier runs of the same program with the same data, the newest first. */
  alike: readonly { readonly run_id: string; readonly started_at: number; readonly status: string }[];
}

function renderRun(options: RunPageOptions): ConsolePage {
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

/** The name for the program, and the outcome of saving it. */
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

/** Two runs side by side: the facts, the calls in order, and the lines in which programs and results differ. */
function renderDifference(a: ArchivedRun, b: ArchivedRun): ConsolePage {
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

const MAX_ALIKE = 20;
const MAX_DESCRIPTION_CHARS = 300;

/** Registers the routes of the page of a run and of its forms. */
export function runRoutes(app: Routes, answers: Answers): void {
  const replays = new Map<string, ReplayOutcome | "under way">();
  /** By run, the programs that were saved from it. */
  const savedOf = new Map<string, { name: string; notes: readonly string[] }>();
  let isSaving = false;
  app.get("/runs/:id", (c) => answers.page(c, () => showRun(c)));
  app.post("/runs/:id/replay", (c) => answers.act(c, () => beginReplay(c)));
  app.post("/runs/:id/save", (c) => saveProgram(c));
  app.get("/diff", (c) => answers.page(c, () => showDifference(c)));

  /** A run that the viewer sees. @throws NotFound for any other, whether it exists or not. */
  async function seenRun(c: Asked, runId: string): Promise<{ run: ArchivedRun; listed: ListedRun }> {
    const { archive } = answers.parts;
    if (!/^[\w-]{1,64}$/.test(runId) || !(await archive.exists())) throw new NotFound();
    const [listed] = (await archive.list({ runId, limit: 1 })).runs;
    const sight = c.get("sight");
    if (listed === undefined || !(sight.isOwn(listed) || sight.seesOthers)) throw new NotFound();
    const run = await archive.read(runId);
    if (!(await sight.mayRead(ownerOf(run), runId))) throw new NotFound();
    return { run, listed };
  }

  async function showRun(c: Asked): Promise<ConsolePage> {
    const wanted = c.req.param("id") ?? "";
    const seen = await seenRun(c, wanted).catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      await answers.live?.look();
      const live = await answers.live?.runFor(c.get("sight"), wanted);
      if (live === undefined) throw error;
      return renderLiveRun(live, answers.parts.now());
    });
    return "run" in seen ? renderSeen(c, seen.run) : seen;
  }

  /** @param refused the form that saved nothing, and why, in one line. */
  async function renderSeen(
    c: Asked,
    run: ArchivedRun,
    refused?: { form: URLSearchParams; why: string },
  ): Promise<ConsolePage> {
    const { run_id: id, input_digest: inputDigest } = run.record;
    const { archive } = answers.parts;
    const { principal } = run.record;
    const whose = c.get("sight").seesAll ? {} : { principal };
    const { runs } = await archive.list({ ...whose, inputDigest, limit: MAX_ALIKE + 1 });
    const alike: ListedRun[] = [];
    for (const each of runs)
      if (each.run_id !== id && (await c.get("sight").mayList(each, archive))) alike.push(each);
    return renderRun({
      run,
      parts: await runParts(run),
      frame: await answers.frame(c),
      replay: replays.get(id),
      replays: answers.parts.replay !== undefined && c.get("rights").replays,
      saving:
        answers.parts.save !== undefined && c.get("rights").saves && run.envelope.result.ok
          ? { saved: savedOf.get(id), refused }
          : undefined,
      alike: alike.slice(0, MAX_ALIKE),
    });
  }

  async function beginReplay(c: Asked): Promise<string> {
    const { replay } = answers.parts;
    const { run } = await seenRun(c, c.req.param("id") ?? "");
    const { run_id: id } = run.record;
    if (replay === undefined || !c.get("rights").replays)
      throw new RefusedError(403, "You may not replay runs here.");
    if (replays.get(id) !== "under way") {
      keepNewest(replays, id, "under way");
      void replay(c.get("session").viewer, id, answers.closing).then((outcome) =>
        keepNewest(replays, id, outcome),
      );
    }
    return `${runAddress(id)}#replay`;
  }

  /** Saves the program of a run. A refused form is shown again as it was sent. */
  async function saveProgram(c: Asked): Promise<Response> {
    const form = await formOf(c);
    const name = (form.get("name") ?? "").trim();
    const saved = await trySave(c, form, name).catch((error: unknown) => ({ error }));
    if ("error" in saved) return answers.page(c, () => Promise.reject(saved.error));
    if ("why" in saved)
      return answers.page(c, async () => {
        const { run } = await seenRun(c, c.req.param("id") ?? "");
        return { ...(await renderSeen(c, run, { form, why: saved.why })), status: 400 };
      });
    return c.redirect(`${saved.to}#save`, 303);
  }

  async function trySave(
    c: Asked,
    form: URLSearchParams,
    name: string,
  ): Promise<{ to: string } | { why: string }> {
    const { save } = answers.parts;
    const { run } = await seenRun(c, c.req.param("id") ?? "");
    if (save === undefined || !c.get("rights").saves)
      throw new RefusedError(403, "You may not save programs here.");
    const reason = name === "" ? "needs a name: lower-case words with - between them" : whyNoName(name);
    if (reason !== undefined)
      return { why: name === "" ? `The program ${reason}.` : `'${oneLine(name, 80)}' ${reason}.` };
    if (isSaving) return { why: "Another program is being saved; try again in a moment." };
    isSaving = true;
    try {
      const { run_id: runId } = run.record;
      const description = oneLine(form.get("description") ?? "", MAX_DESCRIPTION_CHARS).trim();
      const saved = await save({ runId, name, description, force: form.get("force") !== null });
      if ("why" in saved) return saved;
      keepNewest(savedOf, runId, { name, notes: saved.notes });
      return { to: runAddress(runId) };
    } finally {
      isSaving = false;
    }
  }

  async function showDifference(c: Asked): Promise<ConsolePage> {
    const { run: a } = await seenRun(c, c.req.query("a") ?? "");
    const { run: b } = await seenRun(c, c.req.query("b") ?? "");
    return renderDifference(a, b);
  }
}
