/**
 * What a rule would have decided about archived calls. Each call is decided twice, with the rule and without it, by what its run had
 * done before and at the time at which it was made. Nothing is called, and nothing is kept.
 *
 * Where values came from is not followed again: a value counts as having every label of what its run had read, for both decisions.
 *
 * This thread reads the archive alone. The rule is read, and every decision is made, in a thread that is ended when its time is over
 * (`what-if-worker.ts`). People take turns there.
 */

import { type ArchiveStore, allRuns } from "../archive/archive-store.ts";
import type { RunFilter } from "../archive/listed-run.ts";
import type { Tool } from "../catalog/tool.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { resolveGroups } from "../configuration/policy/local-groups.ts";
import type { DecidingConfiguration } from "../configuration/policy/supposed-rule.ts";
import { identityOf, type RunContext } from "../protocol/run-context.ts";
import { moduleUrl } from "../system/package.ts";
import { type Ask, NoTurnError, WorkerTurns } from "../system/worker-turns.ts";

/** What is decided about a call. A tool that programs do not see counts as denied. */
export interface Judged {
  readonly kind: "allow" | "ask" | "deny";
  readonly rule?: string | undefined;
  readonly reason?: string | undefined;
}

/** A call about which the rule decides otherwise. */
interface DecidedOtherwise {
  readonly runId: string;
  /** The number of the call within its run, from 1. */
  readonly call: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly tool: string;
  readonly principal: string;
  /** What was decided when it was made. */
  readonly recorded: string;
  readonly before: Judged;
  readonly after: Judged;
}

export interface WhatIf {
  readonly calls: number;
  readonly runs: number;
  /** The newest runs first. */
  readonly otherwise: readonly DecidedOtherwise[];
  /** Calls of tools that are known no more, or whose arguments were not kept. */
  readonly skipped: number;
  /** What ended the search before the archive did. */
  readonly endedBy: "calls" | "time" | undefined;
  readonly notes: readonly string[];
}

/** What the thread is asked: what to suppose, whose calls come next, and about these, in the order in which they were made. */
export type WhatIfQuestion =
  | {
      readonly kind: "suppose";
      readonly configuration: DecidingConfiguration;
      /** The names of all tools. */
      readonly names: readonly string[];
      readonly text: string;
    }
  | { readonly kind: "run"; readonly context: RunContext }
  | { readonly kind: "calls"; readonly calls: readonly CallToJudge[] };

export interface CallToJudge {
  /** The number of the call within its run, from 1. */
  readonly seq: number;
  readonly name: string;
  /** `undefined` for a tool that is known no more. */
  readonly tool: Tool | undefined;
  /** The text of its arguments; `undefined` where they were not kept. */
  readonly json: string | undefined;
  /** What was decided when it was made. */
  readonly decision: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** `undefined` for a call that cannot be decided about again. */
export type JudgedCall = { readonly before: Judged; readonly after: Judged } | undefined;

export type WhatIfAnswer =
  | { readonly kind: "supposed"; readonly notes: readonly string[] }
  /** The text is no rule. One line. */
  | { readonly kind: "wrong"; readonly message: string }
  | { readonly kind: "judged"; readonly calls: readonly JudgedCall[] };

const MAX_CALLS = 1_000;
/** For reading the rule and deciding, from when its thread is ready. */
const BUDGET_MS = 5_000;
const PAGE = 200;
/** How many calls, and how many characters of their arguments, are sent to the thread at once. */
const SENT_CALLS = 50;
const SENT_CHARS = 256 * 1024;
const THREADS = 2;
/** How many rules one person, and everybody, may have tried or waiting. */
const MAX_OF_ONE = 3;
const MAX_OF_ALL = 50;

let turns: WorkerTurns<WhatIfQuestion, WhatIfAnswer> | undefined;

/**
 * @param who the person who asks, who waits behind their own questions.
 * @param all every tool of which the viewer may know. Another counts as one that is known no more.
 * @param filter the runs that are looked at, which are those that the viewer sees.
 * @throws ConfigurationError for a text that is no rule, or cannot be read in time, in one line. NoTurnError with `too_many`.
 */
export async function whatIf(
  who: string,
  text: string,
  archive: Pick<ArchiveStore, "list" | "read"> | undefined,
  filter: RunFilter,
  { configuration, all }: { configuration: Configuration; all: ToolCatalog },
  { maxCalls = MAX_CALLS, budgetMs = BUDGET_MS } = {},
): Promise<WhatIf> {
  // A rule may leave a thread in which nothing can be decided any more, so that each has a new one.
  turns ??= new WorkerTurns(moduleUrl("console/what-if-worker"), {
    threads: THREADS,
    maxOfOne: MAX_OF_ONE,
    maxOfAll: MAX_OF_ALL,
    idleMs: 0,
  });
  const found = { calls: 0, runs: 0, otherwise: [] as DecidedOtherwise[], skipped: 0 };
  let notes: readonly string[] | undefined;
  let endedBy: WhatIf["endedBy"];
  try {
    await turns.use(who, budgetMs, async (ask) => {
      const configured = decidingOf(configuration);
      const supposed = await ask({ kind: "suppose", configuration: configured, names: all.names(), text });
      if (supposed.kind === "wrong") throw new ConfigurationError("invalid", supposed.message);
      notes = supposed.kind === "supposed" ? supposed.notes : [];
      if (archive !== undefined) endedBy = await judgeRuns(ask, { archive, filter, all, maxCalls, found });
    });
  } catch (error) {
    if (!(error instanceof NoTurnError) || error.code === "too_many" || error.code === "closed") throw error;
    if (notes === undefined || error.code === "died")
      throw new ConfigurationError("invalid", `the rule ${error.message}`, { cause: error });
    endedBy = "time";
  }
  return { ...found, endedBy, notes: notes ?? [] };
}

/** Decides about the calls of runs, the newest runs first, and notes what it finds as it goes on. */
async function judgeRuns(
  ask: Ask<WhatIfQuestion, WhatIfAnswer>,
  {
    archive,
    filter,
    all,
    maxCalls,
    found,
  }: {
    archive: Pick<ArchiveStore, "list" | "read">;
    filter: RunFilter;
    all: ToolCatalog;
    maxCalls: number;
    found: { calls: number; runs: number; otherwise: DecidedOtherwise[]; skipped: number };
  },
): Promise<WhatIf["endedBy"]> {
  for await (const listed of allRuns(archive, filter, () => {}, PAGE)) {
    if (listed.source === "replay" || listed.calls === 0) continue;
    if (found.calls + found.skipped >= maxCalls) return "calls";
    const run = await archive.read(listed.run_id).catch(() => undefined);
    if (run === undefined) continue;
    found.runs++;
    const { run_id: runId, principal, groups, bound_groups, source, started_at: startedAt } = run.record;
    const who = identityOf({ principal, groups, boundGroups: bound_groups });
    await ask({ kind: "run", context: { ...who, source } });
    const room = maxCalls - found.calls - found.skipped;
    const calls = run.record.calls.slice(0, room);
    let sent: CallToJudge[] = [];
    let chars = 0;
    for (const [index, call] of calls.entries()) {
      const tool = all.get(call.tool);
      const isKept = tool !== undefined && call.unkept === undefined;
      const json = isKept ? await run.textOf(call.arguments) : undefined;
      const { seq, decision } = call;
      const at = Math.round(startedAt + call.started_ms);
      sent.push({ seq: seq + 1, name: call.tool, tool: tool && ruledOf(tool), json, decision, at });
      chars += json?.length ?? 0;
      if (index < calls.length - 1 && sent.length < SENT_CALLS && chars < SENT_CHARS) continue;
      const answer = await ask({ kind: "calls", calls: sent });
      const judged = answer.kind === "judged" ? answer.calls : [];
      for (const [place, each] of judged.entries()) {
        const of = sent[place];
        if (each === undefined || of === undefined) {
          found.skipped++;
          continue;
        }
        found.calls++;
        if (each.before.kind !== each.after.kind)
          found.otherwise.push({
            runId,
            call: of.seq,
            at: of.at,
            tool: of.name,
            principal,
            recorded: of.decision,
            ...each,
          });
      }
      sent = [];
      chars = 0;
    }
    if (calls.length < run.record.calls.length) return "calls";
  }
  return undefined;
}

/** What decides about calls, as data alone. */
function decidingOf({
  file,
  directory,
  servers,
  tools,
  approvals,
  labels,
  lists,
  policy,
  managed,
  sandbox,
}: Configuration): DecidingConfiguration {
  const resolved = <Rules extends Configuration["policy"]>(rules: Rules) => ({
    ...rules,
    groups: resolveGroups(rules.groups),
  });
  return {
    file,
    directory,
    tools,
    approvals,
    labels,
    lists,
    sandbox,
    policy: resolved(policy),
    servers: servers.map(({ name, flow }) => ({ name, flow })),
    managed: managed.map((each) => ({ ...each, policy: resolved(each.policy) })),
  };
}

/** A tool without its schemas, which no rule looks at. */
function ruledOf(tool: Tool): Tool {
  const { outputSchema: _, ...rest } = tool;
  return { ...rest, inputSchema: {} };
}
