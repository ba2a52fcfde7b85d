import { matchesPattern } from "../protocol/tool-pattern.ts";

/** Which tools programs may call, and which only with a person's approval. Patterns are of namespaced names. */
export interface Policy {
  /** Undefined: every tool that is not blocked. */
  allow: readonly string[] | undefined;
  block: readonly string[];
  /** Asked for, besides tools that annotate themselves destructive. */
  ask: readonly string[];
  /** Never asked for. */
  neverAsk: readonly string[];
}

export type PolicyDecision = "allow" | "ask" | "unavailable";

/** Decides about a call from the tool alone. */
export function decide(
  policy: Policy,
  tool: { namespacedName: string; destructive: boolean },
): PolicyDecision {
  const matches = (patterns: readonly string[]) =>
    patterns.some((pattern) => matchesPattern(pattern, tool.namespacedName));
  if (policy.allow !== undefined && !matches(policy.allow)) return "unavailable";
  if (matches(policy.block)) return "unavailable";
  if (!tool.destructive && !matches(policy.ask)) return "allow";
  return matches(policy.neverAsk) ? "allow" : "ask";
}
