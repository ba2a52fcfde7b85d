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

/** `unavailable`: programs are told that the tool does not exist. */
export type PolicyDecision = "allow" | "ask" | "unavailable";

/** Decides about a tool, independent of caller and arguments. */
export function decide(policy: Policy, tool: Pick<Tool, "namespacedName" | "annotations">): PolicyDecision {
  const matches = (patterns: readonly string[]) =>
    patterns.some((pattern) => matchesPattern(pattern, tool.namespacedName));
  if (policy.allow !== undefined && !matches(policy.allow)) return "unavailable";
  if (matches(policy.block)) return "unavailable";
  if (!isDestructive(tool.annotations, policy.byDefault) && !matches(policy.ask)) return "allow";
  return matches(policy.neverAsk) ? "allow" : "ask";
}
