/**
 * Decides archived calls with and without a supposed rule. People and programs choose the rule and the arguments, and
 * parsing or comparing them may take any time, so this runs in its own thread.
 */

import { readJson } from "../base/json.ts";
import type { Authorizer, Decision } from "../broker/policy/authorizer.ts";
import { loadCedar } from "../broker/policy/cedar/cedar-engine.ts";
import type { DataFlow } from "../broker/policy/data-flow.ts";
import { RunState } from "../broker/policy/run-history.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { flowOf } from "../configuration/policy/configured-flow.ts";
import { type Supposed, supposeRule } from "../configuration/policy/supposed-rule.ts";
import type { CallDecision } from "../protocol/call-decision.ts";
import type { RunContext } from "../protocol/run-context.ts";
import { serveTurns } from "../system/serve-turns.ts";
import type { CallToJudge, Judged, JudgedCall, WhatIfAnswer, WhatIfQuestion } from "./what-if.ts";

interface Opened {
  readonly supposed: Supposed;
  readonly labels: DataFlow;
}

let nowMs = 0;
let opened: Opened | undefined;
let state = new RunState();
let context: RunContext | undefined;

// The time limit of a turn is for the rule alone.
await loadCedar().catch(() => {});

serveTurns<WhatIfQuestion, WhatIfAnswer>(async (question) => {
  if (question.kind === "suppose") return open(question);
  if (question.kind === "run") {
    context = question.context;
    state = new RunState();
    return { kind: "judged", calls: [] };
  }
  const calls: JudgedCall[] = [];
  for (const call of question.calls) calls.push(await judge(call));
  return { kind: "judged", calls };
});

async function open({
  configuration,
  names,
  text,
}: Extract<WhatIfQuestion, { kind: "suppose" }>): Promise<WhatIfAnswer> {
  const clock = { wallMs: () => nowMs };
  try {
    const supposed = await supposeRule(configuration, { names: () => [...names] }, text, clock, {
      isApart: true,
    });
    opened = { supposed, labels: flowOf(configuration) };
    return { kind: "supposed", notes: supposed.notes };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { kind: "wrong", message: error.message };
  }
}

async function judge(call: CallToJudge): Promise<JudgedCall> {
  if (opened === undefined || context === undefined) throw new Error("no rule or no run was given");
  const { history } = state.begin({ namespacedName: call.name }, call.seq);
  const { tool } = call;
  if (tool === undefined || call.json === undefined) return undefined;
  const { supposed, labels } = opened;
  nowMs = call.at;
  const args: unknown = readJson(call.json);
  const asked = { ...history, reads: history.reads };
  const by = async (each: Authorizer) =>
    judged(await each.authorize(context as RunContext, tool, args, asked));
  const result = { before: await by(supposed.before), after: await by(supposed.after) };
  if (ANSWERED.has(call.decision)) {
    const own = labels.labelsOf(tool, { arguments: args }) ?? [];
    state.read(tool, call.seq, labels.isConditional(tool) ? own : undefined);
  }
  return result;
}

/** Decisions after which the server's answer reached the program. */
const ANSWERED: ReadonlySet<string> = new Set<CallDecision>(["allowed", "approved-once", "approved-for-run"]);

function judged({ kind, rule, reason }: Decision): Judged {
  return { kind: kind === "unavailable" ? "deny" : kind, rule, reason };
}
