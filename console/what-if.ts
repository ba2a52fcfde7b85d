/**
 * What a rule would have decided about archived calls. Each call is decided twice, with the rule and without it, by what its run had
 * done before and at the time at which it was made. Nothing is called, and nothing is kept.
 *
 * Where values came from is not followed again: a value counts as having every label of what its run had read, for both decisions.
 */

import { type ArchiveStore, allRuns } from "../archive/archive-store.ts";
import type { RunFilter } from "../archive/listed-run.ts";
import type { Authorizer, Decision } from "../broker/policy/authorizer.ts";
import { RunState } from "../broker/policy/run-history.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { flowOf } from "../configuration/policy/configured-flow.ts";
import { supposeRule } from "../configuration/policy/supposed-rule.ts";
import type { CallDecision } from "../protocol/call-decision.ts";
import { identityOf } from "../protocol/run-context.ts";

/** What is decided about a call. A tool that programs do not see counts as denied. */
interface Judged {
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

const MAX_CALLS = 1_000;
const BUDGET_MS = 5_000;
const PAGE = 200;

/**
 * @param all every tool, including those that no program may call.
 * @param filter the runs that are looked at, which are those that the viewer sees.
 * @throws ConfigurationError for a text that is no rule, in one line.
 */
export async function whatIf(
  text: string,
  archive: Pick<ArchiveStore, "list" | "read"> | undefined,
  filter: RunFilter,
  { configuration, all }: { configuration: Configuration; all: ToolCatalog },
  { maxCalls = MAX_CALLS, budgetMs = BUDGET_MS } = {},
): Promise<WhatIf> {
  let nowMs = 0;
  const { before, after, notes } = await supposeRule(configuration, all, text, { wallMs: () => nowMs });
  const labels = flowOf(configuration);
  const until = performance.now() + budgetMs;
  const otherwise: DecidedOtherwise[] = [];
  let [calls, runs, skipped] = [0, 0, 0];
  let endedBy: WhatIf["endedBy"];
  const runsOf = archive === undefined ? [] : allRuns(archive, filter, () => {}, PAGE);
  for await (const listed of runsOf) {
    if (listed.source === "replay" || listed.calls === 0) continue;
    endedBy = calls + skipped >= maxCalls ? "calls" : performance.now() > until ? "time" : undefined;
    if (endedBy !== undefined) break;
    const run = await archive?.read(listed.run_id).catch(() => undefined);
    if (run === undefined) continue;
    runs++;
    const { run_id: runId, principal, groups, bound_groups, source, started_at: startedAt } = run.record;
    const context = { ...identityOf({ principal, groups, boundGroups: bound_groups }), source };
    const state = new RunState();
    for (const call of run.record.calls) {
      endedBy = calls + skipped >= maxCalls ? "calls" : performance.now() > until ? "time" : undefined;
      if (endedBy !== undefined) break;
      const seq = call.seq + 1;
      const tool = all.get(call.tool);
      const { history } = state.begin({ namespacedName: call.tool }, seq);
      if (tool === undefined || call.unkept !== undefined) {
        skipped++;
        continue;
      }
      calls++;
      nowMs = Math.round(startedAt + call.started_ms);
      const args = await run.argumentsOf(call);
      const asked = { ...history, reads: history.reads };
      const judge = async (by: Authorizer) => judged(await by.authorize(context, tool, args, asked));
      const [was, would] = [await judge(before), await judge(after)];
      if (was.kind !== would.kind)
        otherwise.push({
          ...{ runId, call: seq, at: nowMs, tool: call.tool, principal, recorded: call.decision },
          ...{ before: was, after: would },
        });
      if (!ANSWERED.has(call.decision)) continue;
      const own = labels.labelsOf(tool, { arguments: args }) ?? [];
      state.read(tool, seq, labels.isConditional(tool) ? own : undefined);
    }
  }
  return { calls, runs, otherwise, skipped, endedBy, notes };
}

/** Decisions after which the server's answer reached the program. */
const ANSWERED: ReadonlySet<string> = new Set<CallDecision>(["allowed", "approved-once", "approved-for-run"]);

function judged({ kind, rule, reason }: Decision): Judged {
  return { kind: kind === "unavailable" ? "deny" : kind, rule, reason };
}
