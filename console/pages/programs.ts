/** The saved programs: their code, the examples that test them, and who called them. */

import type { ArchiveStore } from "../../archive/archive-store.ts";
import type { RunFilter } from "../../archive/listed-run.ts";
import { countNoun, formatCount } from "../../base/quantities.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { ConfigurationError } from "../../configuration/configuration-error.ts";
import { readExample } from "../../programs/example.ts";
import type { NamedProgram } from "../../programs/saved-programs.ts";
import { html, type Markup, renderTable, renderText, renderTime } from "../../server/pages/page.ts";
import { renderLines } from "../../server/pages/run-page.ts";
import { showJson, splitLines } from "../../server/reports/run-overview.ts";
import { type Answers, type Asked, keepNewest, NotFound, RefusedError, type Routes } from "../answers.ts";
import type { TestedProgram } from "../parts.ts";
import { BASE, type ConsolePage, type Frame, renderForm, renderHeading, renderNothing } from "../shell.ts";
import { renderDiff } from "./inbox.ts";
import { renderStatus, runAddress } from "./runs.ts";

/** The recorded example of a program: the run that its test repeats. */
interface KnownExample {
  /** When it ran, in milliseconds since 1970. */
  readonly at: number;
  readonly run: string;
  readonly ptc: string;
  readonly calls: number;
  /** Whether the program and those that it calls are unchanged since the recording. */
  readonly isOfThisText: boolean;
}

/** Somebody who called a program in the newest runs. */
interface Caller {
  readonly principal: string;
  /** The client that they used, or the command of ptc. */
  readonly client: string;
  readonly runs: number;
  readonly failed: number;
  readonly last: { readonly runId: string; readonly at: number; readonly status: string };
}

interface ProgramFacts {
  /** `undefined` where there is none. */
  readonly example: KnownExample | { readonly why: string } | undefined;
  readonly callers: readonly Caller[];
  /** How many of the newest runs that called it were read. */
  readonly runs: number;
}

const MAX_RUNS = 50;
const BUDGET_MS = 1_500;

/**
 * Reads the examples of programs, and the newest runs that called each, within a time limit. Programs that it does not
 * reach are left out.
 *
 * @param filter selects the runs to read: those that the viewer sees.
 */
async function programFacts(
  programs: readonly NamedProgram[],
  configuration: Pick<Configuration, "directory">,
  archive: Pick<ArchiveStore, "list"> | undefined,
  filter: RunFilter,
): Promise<ReadonlyMap<string, ProgramFacts>> {
  const facts = new Map<string, ProgramFacts>();
  const until = performance.now() + BUDGET_MS;
  for (const program of programs) {
    if (performance.now() > until) break;
    const tool = program.tool.namespacedName;
    const page = await archive?.list({ ...filter, tool, limit: MAX_RUNS });
    const runs = (page?.runs ?? []).filter(({ source }) => source !== "replay");
    const byCaller = Map.groupBy(runs, ({ principal, client }) => JSON.stringify([principal, client]));
    const callers = [...byCaller.values()].flatMap((each): Caller[] => {
      const [last] = each;
      if (last === undefined) return [];
      const { principal, client, source, run_id: runId, started_at: at, status } = last;
      const failed = each.filter((run) => run.status !== "ok").length;
      return [
        { principal, client: client ?? source, runs: each.length, failed, last: { runId, at, status } },
      ];
    });
    facts.set(program.name, { example: exampleOf(program, configuration), callers, runs: runs.length });
  }
  return facts;
}

function exampleOf(
  program: NamedProgram,
  configuration: Pick<Configuration, "directory">,
): ProgramFacts["example"] {
  try {
    const example = readExample(program, configuration);
    return (
      example && {
        at: example.started_ms,
        run: example.run,
        ptc: example.ptc,
        calls: example.calls.length,
        isOfThisText: example.program === program.digest,
      }
    );
  } catch (error) {
    if (error instanceof ConfigurationError) return { why: error.message };
    throw error;
  }
}

interface ProgramsPage {
  frame: Frame;
  programs: readonly NamedProgram[];
  problems: ReadonlyMap<string, string>;
  facts: ReadonlyMap<string, ProgramFacts>;
  /** The outcome of the last test of a program, if there was one. */
  testOf: (name: string) => TestedProgram | "under way" | undefined;
  /** Whether the viewer tests programs here. */
  tests: boolean;
  /** When this process began to remember outcomes of tests, in milliseconds since 1970. */
  testedSince: number;
}

function renderPrograms(page: ProgramsPage): ConsolePage {
  const { programs, problems, facts } = page;
  const items = programs.map((program) => {
    const { name, manifest, code, language, fileName, tool } = program;
    const known = facts.get(name);
    return html`<article class="saved" id="program-${name}"><h2>${name}</h2><p>${manifest.description}</p>
<p class="where"><span>${fileName}</span><span>${manifest.expose ? "a tool of ptc serve" : "called by programs and ptc run"}</span><a href="${BASE}/runs?tool=${encodeURIComponent(tool.namespacedName)}">Runs that called it</a></p>
${renderTest(name, known, page)}${known && renderCallers(known)}
<details class="fold"><summary>Its text and schemas</summary><figure class="text"><pre class="code" tabindex="0" aria-label="The text of ${name}">${renderLines(splitLines(code), language, new Map(), `${name}-`)}</pre></figure><div class="pair">${renderText("Input", showJson(manifest.input, 50_000))}${manifest.output === undefined ? undefined : renderText("Output", showJson(manifest.output, 50_000))}</div></details></article>`;
  });
  const wrong = [...problems].map(([name, problem]) => html`<p><strong>${name}</strong> ${problem}</p>`);
  return {
    title: "Programs",
    place: "programs",
    header: renderHeading("Programs", "saved under a name"),
    main: html`${wrong.length === 0 ? undefined : html`<div class="failure" role="note">${wrong}</div>`}${
      items.length === 0
        ? renderNothing(
            html`No program is saved. <code>ptc save program.ts --name NAME</code> saves one, and <code>ptc save RUN --name NAME</code> the program of a run.`,
          )
        : html`${page.tests ? html`<p class="soft">What your tests came to is known here since ${renderTime(page.testedSince)}, when this ptc began.</p>` : undefined}${items}`
    }`,
  };
}

const OUTCOMES: Readonly<Record<TestedProgram["outcome"], readonly [name: string, kind: string]>> = {
  same: ["Tested: the same", "same"],
  untested: ["Tested: its types are right, and it has no example", "undecided"],
  changed: ["Tested: changed", "undecided"],
  failed: ["Tested: failed", "diverged"],
  "no-sandbox": ["Not tested", "impossible"],
};

function renderTest(
  name: string,
  known: ProgramFacts | undefined,
  { frame, testOf, tests }: ProgramsPage,
): Markup {
  const tested = testOf(name);
  const result =
    tested === undefined
      ? undefined
      : tested === "under way"
        ? html`<div class="outcome" id="test-${name}" role="status" data-again="1000"><p><strong>The test goes on, or waits for its turn.</strong> <a href="${BASE}/programs#program-${name}">Look again</a></p></div>`
        : html`<div class="outcome ${OUTCOMES[tested.outcome][1]}" id="test-${name}" role="status"><p><strong>${OUTCOMES[tested.outcome][0]}</strong> <span class="soft">${renderTime(tested.at)}</span></p>${
            tested.lines.length === 0
              ? undefined
              : html`<figure class="text">${renderDiff(
                  tested.lines.map((line) => line.replace(/^\s+(?=[+-] )/, "")),
                  `What the test of ${name} found`,
                )}</figure>`
          }</div>`;
  const button =
    tests && tested !== "under way"
      ? html`<div class="actions">${renderForm(`${BASE}/programs/${encodeURIComponent(name)}/test`, frame, html`<button type="submit" aria-label="Test it: ${name}">Test it</button>`)}</div>`
      : undefined;
  return html`${known && renderExample(name, known.example)}${result}${button}`;
}

function renderExample(name: string, example: ProgramFacts["example"]): Markup {
  if (example === undefined)
    return html`<p class="soft">It has no example to be tested by; <code>ptc save RUN --name ${name} --force</code>, with a run of it, adds one.</p>`;
  if ("why" in example) return html`<p class="notice" role="alert">${example.why}</p>`;
  const text = example.isOfThisText ? "" : " The program has changed since.";
  return html`<p>Tested by the run <a href="${runAddress(example.run)}"><code>${example.run.slice(0, 8)}</code></a> of ${renderTime(example.at)}, with ${countNoun(example.calls, "call")}, recorded by ptc ${example.ptc}.${text}</p>`;
}

function renderCallers({ callers, runs }: ProgramFacts): Markup {
  if (callers.length === 0) return html`<p class="soft">No run that you see has called it.</p>`;
  const rows = callers.map(({ principal, client, runs: called, failed, last }) => ({
    cells: [
      html`<span class="wide">${principal}</span>`,
      html`<span class="wide">${client}</span>`,
      formatCount(called),
      failed > 0 ? html`<span class="some">${formatCount(failed)}</span>` : "0",
      html`<a href="${runAddress(last.runId)}"><code>${last.runId.slice(0, 8)}</code></a> ${renderStatus(last.status)}`,
      renderTime(last.at),
    ],
  }));
  return html`<p class="soft">Who called it, in the newest ${countNoun(runs, "run")} that did.</p><div class="left">${renderTable(["Who", "With", "Runs", "Failed", "Last run", "When"], rows)}</div>`;
}

/** Registers the routes of the saved programs and of their tests. */
export function programsRoutes(app: Routes, answers: Answers): void {
  /** Tests of saved programs, by viewer and name. */
  const outcomes = new Map<string, TestedProgram | "under way">();
  app.get("/programs", (c) => answers.page(c, () => showPrograms(c)));
  app.post("/programs/:name/test", (c) => answers.act(c, () => beginTest(c)));

  async function showPrograms(c: Asked): Promise<ConsolePage> {
    const { tools, configuration, archive, test } = answers.parts;
    const { programs = [], problems = new Map() } = (await tools()).programs ?? {};
    const kept = (await archive.exists()) ? archive : undefined;
    return renderPrograms({
      frame: await answers.frame(c),
      programs,
      problems,
      facts: await programFacts(programs, configuration(), kept, answers.own(c)),
      testOf: (name) => outcomes.get(testKey(c, name)),
      tests: test !== undefined && c.get("rights").replays,
      testedSince: answers.startedAt,
    });
  }

  /** A test depends on what its viewer may call, so only that viewer sees its outcome. */
  function testKey(c: Asked, name: string): string {
    return JSON.stringify([c.get("session").viewer.principal, name]);
  }

  async function beginTest(c: Asked): Promise<string> {
    const { test, tools } = answers.parts;
    const name = c.req.param("name") ?? "";
    const saved = (await tools()).programs?.programs ?? [];
    if (test === undefined || saved.every((each) => each.name !== name)) throw new NotFound();
    if (!c.get("rights").replays) throw new RefusedError(403, "You may not test programs here.");
    const key = testKey(c, name);
    if (outcomes.get(key) !== "under way") {
      keepNewest(outcomes, key, "under way");
      void test(c.get("session").viewer, name, answers.closing).then((tested) =>
        tested === undefined ? outcomes.delete(key) : keepNewest(outcomes, key, tested),
      );
    }
    return `${BASE}/programs#program-${encodeURIComponent(name)}`;
  }
}
