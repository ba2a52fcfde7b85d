import type { Clock } from "../../base/clock.ts";
import { RecentlyUsed } from "../../base/recently-used.ts";
import { argumentMembers, lookUpMember, type Members, resultMembers } from "../../catalog/schema-members.ts";
import type { Tool } from "../../catalog/tool.ts";
import { identityKey, type RunContext } from "../../protocol/run-context.ts";
import type { Access, Authorizer, Decision, Viewer } from "./authorizer.ts";
import type { RuledCall, Rules, RuleVerdict } from "./cedar/cedar-rules.ts";
import {
  adviseSources,
  CALL_ENTRY,
  type DataFlow,
  describeRefused,
  describeRefusedCall,
  findForbiddenFlow,
  looksAtFlow,
  type RefusedCall,
  type RefusedValue,
  refusedCall,
  refusedValues,
  ruleOfRefused,
  ruleOfRefusedCall,
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

/** Why a call does not fit what its tool accepts. */
interface Refusal {
  readonly rule: string;
  readonly reason: string;
  /** Whether a person is asked, or the call denied. */
  readonly asks: boolean;
}

const MAX_SEEN = 10_000;

/**
 * Decides by the lists of `ptc.yaml`, then by the labels of what the run has read, then by rules. Each can only restrict further.
 */
export class RuleAuthorizer implements Authorizer {
  readonly #options: RuleAuthorizerOptions;
  readonly #seen = new RecentlyUsed<string, RuleVerdict>({ maxEntries: MAX_SEEN });

  readonly #mistakes = new RecentlyUsed<string, { found: ReturnType<typeof misnamed> | undefined }>({
    maxEntries: MAX_SEEN,
  });

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
    const mistake = this.#mistakeAbout(tool);
    if (mistake !== undefined) return { kind: "deny", ...mistake };
    const looksAtValues = rules !== undefined || looksAtFlow(flow, tool);
    const run = looksAtValues ? await withValues(history) : history;
    const refusal = await this.#findRefusal(tool, args, run);
    if (refusal !== undefined && !refusal.asks)
      return { kind: "deny", rule: refusal.rule, reason: refusal.reason };
    if (rules === undefined)
      return refusal === undefined
        ? { ...listed, kind: listed.kind }
        : { kind: "ask", rule: refusal.rule, reason: refusal.reason };
    const call = { context, tool, arguments: args, run, nowMs: clock.wallMs() };
    const ruled = await decideSettled(rules, call);
    if (ruled.kind === "deny") return denied(ruled);
    if (ruled.kind === "allow" && listed.kind === "allow" && refusal === undefined)
      return { kind: "allow", rule: listed.rule ?? ruled.rule };
    const approving = await rules.decideApproval(call);
    if (approving.kind === "deny") return denied(approving);
    const { rule, reason } =
      ruled.kind === "ask" ? ruled : (refusal ?? { rule: listed.rule, reason: undefined });
    // A reviewer answers what the lists ask. What a rule or a label asks is for a person.
    const isOfLists = ruled.kind === "allow" && refusal === undefined;
    return { kind: "ask", rule, reason, ...(isOfLists ? { reviewer: listed.reviewer } : {}) };
  }

  /** Why nobody knows what the entry of a tool guards: it names what the tool does not have. Servers may be listed after the start. */
  #mistakeAbout(tool: Tool): { rule: string; reason: string } | undefined {
    const key = JSON.stringify([tool.namespacedName, tool.definitionDigest]);
    const known = this.#mistakes.get(key);
    if (known !== undefined) return known.found;
    const names = this.#options.flow.namesOf(tool);
    const isMissing = (members: Members) => (name: string) => typeof lookUpMember(members, name) !== "string";
    const wrong =
      names.arguments.find(isMissing(argumentMembers(tool))) ??
      names.fields.find(isMissing(resultMembers(tool)));
    const found = wrong === undefined ? undefined : misnamed(tool, wrong);
    this.#mistakes.set(key, { found });
    return found;
  }

  /**
   * Why a call does not fit what its tool accepts, and whether a person is asked about that. What is denied comes first: the run as a
   * whole, a value, whether the call is made.
   */
  async #findRefusal(tool: Tool, args: unknown, run: RunHistory): Promise<Refusal | undefined> {
    const { flow } = this.#options;
    const flowing = findForbiddenFlow(flow, tool, run.reads, run.shown);
    if (flowing !== undefined && !flow.asks) return { ...flowing, asks: false };
    const value = await this.#findRefused(tool, args, run);
    const refused: Refusal | undefined = value && {
      rule: ruleOfRefused(value, tool),
      reason: `${describeRefused(value)}${adviseSources(value, flow.sourcesOfPeople)}`,
      asks: flow.asks || value.ambiguous !== undefined,
    };
    if (refused !== undefined && !refused.asks) return refused;
    const call = await this.#findRefusedCall(tool, args, run);
    const control: Refusal | undefined = call && {
      rule: ruleOfRefusedCall(call, tool),
      reason: describeRefusedCall(call),
      asks: flow.asks || !call.isOwn,
    };
    if (control !== undefined && !control.asks) return control;
    return flowing === undefined ? (refused ?? control) : { ...flowing, asks: true };
  }

  /** Finds a value that an argument does not accept. Undecided values are settled by the run as far as possible. */
  async #findRefused(tool: Tool, args: unknown, run: RunHistory): Promise<RefusedValue | undefined> {
    const { flow } = this.#options;
    if (flow.argumentsOf(tool) === undefined) return undefined;
    const call = run.values ?? unfollowed(args, flow.labelsRead(run.reads));
    const refused = refusedValues(flow, tool, call);
    const [first] = refused;
    if (first === undefined || (!first.isUndecided && first.ambiguous === undefined)) return first;
    const settled = await call.settle(refused.map(({ leaf, labels }) => ({ path: leaf.path, labels })));
    return refusedValues(flow, tool, settled)[0];
  }

  /** Finds out whether a call is made because of data on which that must not depend, by an experiment if need be. */
  async #findRefusedCall(tool: Tool, args: unknown, run: RunHistory): Promise<RefusedCall | undefined> {
    const { flow } = this.#options;
    const call = run.values ?? unfollowed(args, flow.labelsRead(run.reads));
    const refused = refusedCall(flow, tool, call);
    if (refused?.isUndecided !== true) return refused;
    const settled = await call.settle([{ path: CALL_ENTRY, labels: refused.labels }]);
    return refusedCall(flow, tool, settled);
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

function misnamed({ server, name }: Tool, wrong: string): { rule: string; reason: string } {
  return {
    rule: `labels and accepts: ${server}.${name} ${wrong}`,
    reason: `the policy names '${wrong}' of it, which it does not have, so that it is not known what is to be guarded; tell the user, who can mend ptc.yaml (\`ptc policy check\`)`,
  };
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
