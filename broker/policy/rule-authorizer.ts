import type { Clock } from "../../base/clock.ts";
import { RecentlyUsed } from "../../base/recently-used.ts";
import type { Tool } from "../../catalog/tool.ts";
import { identityKey, type RunContext } from "../../protocol/run-context.ts";
import type { Access, Authorizer, Decision, Viewer } from "./authorizer.ts";
import type { RuledCall, Rules, RuleVerdict } from "./cedar/cedar-rules.ts";
import {
  type DataFlow,
  describeRefused,
  findForbiddenFlow,
  type RefusedValue,
  refusedValues,
  ruleOfRefused,
  unfollowed,
} from "./data-flow.ts";
import { decide, type Policy } from "./policy.ts";
import type { RunHistory } from "./run-history.ts";

export interface RuleAuthorizerOptions {
  policy: Policy;
  flow: DataFlow;
  /** `undefined` if the configuration names no rule files. */
  rules: DecidingRules | undefined;
  clock: Pick<Clock, "wallMs">;
}

/** What rules decide. */
type DecidingRules = Pick<
  Rules,
  "decide" | "decideApproval" | "decideVisibility" | "decideAccess" | "groupsOfLogins"
>;

/** Several sets of rules. A call, and what is another's, needs the permission of every set. */
export function everyRules(sets: readonly DecidingRules[]): DecidingRules | undefined {
  const [only, ...others] = sets;
  if (only === undefined || others.length === 0) return only;
  const strictest = (verdicts: readonly RuleVerdict[]): RuleVerdict =>
    verdicts.find(({ kind }) => kind === "deny") ??
    verdicts.find(({ kind }) => kind === "ask") ??
    verdicts[0] ?? { kind: "deny" };
  return {
    decide: async (call) => strictest(await Promise.all(sets.map((rules) => rules.decide(call)))),
    decideApproval: async (call) =>
      strictest(await Promise.all(sets.map((rules) => rules.decideApproval(call)))),
    decideVisibility: (viewer, tool) => strictest(sets.map((rules) => rules.decideVisibility(viewer, tool))),
    decideAccess: (viewer, access) => strictest(sets.map((rules) => rules.decideAccess(viewer, access))),
    groupsOfLogins: () => [...new Set(sets.flatMap((rules) => rules.groupsOfLogins()))],
  };
}

const MAX_SEEN = 10_000;

/**
 * Decides by the lists of `ptc.yaml`, then by the labels of what the run has read, then by rules. Each can only restrict further.
 */
export class RuleAuthorizer implements Authorizer {
  readonly #options: RuleAuthorizerOptions;
  readonly #seen = new RecentlyUsed<string, RuleVerdict>({ maxEntries: MAX_SEEN });

  constructor(options: RuleAuthorizerOptions) {
    this.#options = options;
  }

  async authorize(context: RunContext, tool: Tool, args: unknown, history: RunHistory): Promise<Decision> {
    const { policy, flow, rules, clock } = this.#options;
    const listed = decide(policy, tool);
    if (listed.kind === "unavailable") return { kind: "unavailable", rule: listed.rule };
    const seen = this.#visibility(context, tool);
    if (seen.isUndecided === true) return denied(seen);
    if (seen.kind === "deny")
      return { kind: "unavailable", rule: seen.rule, reason: seen.reason, isTold: seen.isSaid === true };
    const flowing = findForbiddenFlow(flow, tool, history.reads, history.shown);
    if (flowing !== undefined) return { kind: "deny", ...flowing };
    const run = rules === undefined && flow.argumentsOf(tool) === undefined ? history : await withValues(history);
    const refused = await this.#findRefused(tool, args, run);
    const refusal = refused && { rule: ruleOfRefused(refused, tool), reason: describeRefused(refused) };
    if (refusal !== undefined && !flow.asks) return { kind: "deny", ...refusal };
    if (rules === undefined)
      return refusal === undefined ? { kind: listed.kind, rule: listed.rule } : { kind: "ask", ...refusal };
    const call = { context, tool, arguments: args, run, nowMs: clock.wallMs() };
    const ruled = await decideSettled(rules, call);
    if (ruled.kind === "deny") return denied(ruled);
    if (ruled.kind === "allow" && listed.kind === "allow" && refusal === undefined)
      return { kind: "allow", rule: listed.rule ?? ruled.rule };
    const approving = await rules.decideApproval(call);
    if (approving.kind === "deny") return denied(approving);
    const { rule, reason } =
      ruled.kind === "ask" ? ruled : (refusal ?? { rule: listed.rule, reason: undefined });
    return { kind: "ask", rule, reason };
  }

  /** Finds a value that an argument does not accept. Undecided values are settled by the run as far as possible. */
  async #findRefused(tool: Tool, args: unknown, run: RunHistory): Promise<RefusedValue | undefined> {
    const { flow } = this.#options;
    if (flow.argumentsOf(tool) === undefined) return undefined;
    const call = run.values ?? unfollowed(args, flow.labelsRead(run.reads));
    const refused = refusedValues(flow, tool, call);
    const [first] = refused;
    if (first === undefined || !first.isUndecided) return first;
    const settled = await call.settle(refused.map(({ leaf, labels }) => ({ path: leaf.path, labels })));
    return refusedValues(flow, tool, settled)[0];
  }

  isVisible(viewer: Viewer, tool: Tool): boolean {
    if (decide(this.#options.policy, tool).kind === "unavailable") return false;
    return this.#visibility(viewer, tool).kind !== "deny";
  }

  whyHidden(viewer: Viewer, tool: Tool): string | undefined {
    if (decide(this.#options.policy, tool).kind === "unavailable") return undefined;
    const { isSaid, reason } = this.#visibility(viewer, tool);
    return isSaid === true ? reason : undefined;
  }

  decideAccess(viewer: Viewer, access: Access): RuleVerdict {
    return this.#options.rules?.decideAccess(viewer, access) ?? { kind: "deny" };
  }

  groupsOfLogins(): readonly string[] {
    return this.#options.rules?.groupsOfLogins() ?? [];
  }

  #visibility(viewer: Viewer, tool: Tool): RuleVerdict {
    const { rules } = this.#options;
    if (rules === undefined) return { kind: "allow" };
    const key = JSON.stringify([identityKey(viewer), tool.namespacedName, tool.definitionDigest]);
    const known = this.#seen.get(key);
    if (known !== undefined) return known;
    const decided = rules.decideVisibility(viewer, tool);
    this.#seen.set(key, decided);
    return decided;
  }
}

/** Decides by rules. If they look at labels of values and do not allow the call, settles undecided values and decides again. */
async function decideSettled(rules: DecidingRules, call: RuledCall): Promise<RuleVerdict> {
  const ruled = await rules.decide(call);
  const { values } = call.run;
  if (ruled.kind === "allow" || ruled.looksAtFlow !== true || values === undefined) return ruled;
  const open = values.leaves.filter(({ undecided }) => undecided.length > 0);
  if (open.length === 0) return ruled;
  const settled = await values.settle(open.map(({ path, undecided }) => ({ path, labels: undecided })));
  return rules.decide({ ...call, run: { ...call.run, values: settled } });
}

/** The same with the origins of the call's values. */
async function withValues(run: RunHistory): Promise<RunHistory> {
  const values = await run.flow?.();
  return values === undefined ? run : { ...run, reads: run.reads, values };
}

function denied({ rule, reason = "it is not permitted" }: RuleVerdict): Decision {
  return { kind: "deny", rule, reason };
}
