import type { Tool } from "../../catalog/tool.ts";
import { matchesPattern } from "../../protocol/tools/tool-pattern.ts";
import { type DefaultApproval, isDestructive } from "./destructive.ts";

/**
 * The lists of `ptc.yaml`: the tools that programs may call, and those that need an approval. Patterns match namespaced
 * names.
 */
export interface Policy {
  /** `undefined` allows every tool that is not blocked. */
  allow: readonly string[] | undefined;
  block: readonly string[];
  /** Tools that need an approval, in addition to destructive ones. */
  ask: readonly string[];
  /** Tools that never need an approval. */
  neverAsk: readonly string[];
  /** Which tools count as destructive. */
  byDefault: DefaultApproval;
}

/** `unavailable`: programs are told that the tool does not exist. `rule`: the entry that decided, if one did. */
export interface PolicyDecision {
  kind: "allow" | "ask" | "unavailable";
  rule?: string;
}

/** Decides about a tool, independent of caller and arguments. */
export function decide(policy: Policy, tool: Pick<Tool, "namespacedName" | "annotations">): PolicyDecision {
  const find = (key: string, patterns: readonly string[]) => {
    const pattern = patterns.find((each) => matchesPattern(each, tool.namespacedName));
    return pattern === undefined ? undefined : `${key}: ${pattern}`;
  };
  const allowed = policy.allow && find("tools.allow", policy.allow);
  if (policy.allow !== undefined && allowed === undefined)
    return { kind: "unavailable", rule: "tools.allow: no entry" };
  const blocked = find("tools.block", policy.block);
  if (blocked !== undefined) return { kind: "unavailable", rule: blocked };
  const asked =
    find("approvals.ask", policy.ask) ??
    (isDestructive(tool.annotations, policy.byDefault)
      ? `approvals.default: ${policy.byDefault}`
      : undefined);
  if (asked === undefined)
    return allowed === undefined ? { kind: "allow" } : { kind: "allow", rule: allowed };
  const unasked = find("approvals.allow", policy.neverAsk);
  return unasked === undefined ? { kind: "ask", rule: asked } : { kind: "allow", rule: unasked };
}
