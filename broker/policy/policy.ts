import type { Tool } from "../../catalog/tool.ts";
import { matchesPattern } from "../../protocol/tool-names.ts";

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
  /** The setting by which tools need an approval that do not say that they only read; `undefined` if there is none. */
  asksUnlessReadOnly?: string | undefined;
  /** What may answer questions about calls in the place of a person. */
  reviewer?: Reviewer | undefined;
  /** The lists of managed settings. Each can only restrict. */
  managed?: readonly ManagedLists[];
}

/** What may answer questions about calls in the place of a person. */
export interface Reviewer {
  /** A check of others, as the audit log calls it. */
  readonly by: string;
  /** Patterns of the tools about which it may answer. One that counts as destructive has to be named without `*`. */
  readonly tools: readonly string[];
}

/** Lists that `ptc.yaml` cannot override. */
interface ManagedLists {
  /** The only tools that `ptc.yaml` may allow; `undefined` for all. */
  allow?: readonly string[] | undefined;
  block: readonly string[];
  ask: readonly string[];
  /** The only tools that `ptc.yaml` may exempt from approvals; `undefined` for all. */
  neverAsk?: readonly string[] | undefined;
  /** What may answer where these lists and those of `ptc.yaml` ask. */
  reviewer?: Reviewer | undefined;
}

/** `unavailable`: programs are told that the tool does not exist. `rule`: the entry that decided, if one did. */
export interface PolicyDecision {
  kind: "allow" | "ask" | "unavailable";
  rule?: string;
  /** With `ask`: the check that may answer in the place of a person. */
  reviewer?: string;
}

/** Decides about a tool, independent of caller and arguments. */
export function decide(policy: Policy, tool: Pick<Tool, "namespacedName" | "annotations">): PolicyDecision {
  const find = (key: string, patterns: readonly string[]) => {
    const pattern = patterns.find((each) => matchesPattern(each, tool.namespacedName));
    return pattern === undefined ? undefined : `${key}: ${pattern}`;
  };
  const { managed = [] } = policy;
  for (const { allow, block } of managed) {
    if (allow !== undefined && find("", allow) === undefined)
      return { kind: "unavailable", rule: "managed tools.allow: no entry" };
    const rule = find("managed tools.block", block);
    if (rule !== undefined) return { kind: "unavailable", rule };
  }
  const allowed = policy.allow && find("tools.allow", policy.allow);
  if (policy.allow !== undefined && allowed === undefined)
    return { kind: "unavailable", rule: "tools.allow: no entry" };
  const blocked = find("tools.block", policy.block);
  if (blocked !== undefined) return { kind: "unavailable", rule: blocked };
  for (const { ask } of managed) {
    const rule = find("managed approvals.ask", ask);
    if (rule !== undefined) return { kind: "ask", rule, ...reviewerOf(policy, tool) };
  }
  const asked =
    find("approvals.ask", policy.ask) ??
    (isDestructive(tool.annotations, policy.byDefault)
      ? `approvals.default: ${policy.byDefault}`
      : isReadOnly(tool.annotations)
        ? undefined
        : policy.asksUnlessReadOnly);
  if (asked === undefined)
    return allowed === undefined ? { kind: "allow" } : { kind: "allow", rule: allowed };
  const unasked = find("approvals.allow", policy.neverAsk);
  const mayBeUnasked = managed.every(
    ({ neverAsk }) => neverAsk === undefined || find("", neverAsk) !== undefined,
  );
  return unasked === undefined || !mayBeUnasked
    ? { kind: "ask", rule: asked, ...reviewerOf(policy, tool) }
    : { kind: "allow", rule: unasked };
}

/**
 * The first reviewer that may answer about a tool. Managed settings that ask about it, or that do not let `ptc.yaml` exempt it, want a
 * person, unless the reviewer is their own.
 */
function reviewerOf(
  { reviewer: own, managed = [] }: Policy,
  tool: Pick<Tool, "namespacedName" | "annotations">,
): { reviewer?: string } {
  const matches = (patterns: readonly string[]) =>
    patterns.some((each) => matchesPattern(each, tool.namespacedName));
  const wantsPerson = ({ ask, neverAsk }: ManagedLists) =>
    matches(ask) || (neverAsk !== undefined && !matches(neverAsk));
  const covers = ({ tools }: Reviewer) =>
    tools.some((each) => each === tool.namespacedName && !each.includes("*")) ||
    (matches(tools) && !isDestructive(tool.annotations, "destructive"));
  const candidates = [...managed.map((lists) => ({ ...lists, lists })), { reviewer: own, lists: undefined }];
  const found = candidates.find(
    ({ reviewer, lists }) =>
      reviewer !== undefined &&
      covers(reviewer) &&
      !managed.some((other) => other !== lists && wantsPerson(other)),
  );
  return found?.reviewer === undefined ? {} : { reviewer: found.reviewer.by };
}

/**
 * Which tools count as destructive. `annotated`: those with the hint. `destructive`: also those without the hint, unless
 * they are annotated as read-only, which is how MCP reads annotations (2025-11-25, "ToolAnnotations").
 */
type DefaultApproval = "annotated" | "destructive";

/** Whether a tool says that it only reads. */
function isReadOnly(annotations: Readonly<Record<string, unknown>> | undefined): boolean {
  return (
    annotations !== undefined &&
    Object.hasOwn(annotations, "readOnlyHint") &&
    annotations.readOnlyHint === true
  );
}

/** Whether a tool with these annotations counts as destructive. A hint that is not a boolean is not trusted. */
export function isDestructive(
  annotations: Readonly<Record<string, unknown>> | undefined,
  byDefault: DefaultApproval,
): boolean {
  const hint = (name: string): unknown =>
    annotations !== undefined && Object.hasOwn(annotations, name) ? annotations[name] : undefined;
  const destructive = hint("destructiveHint");
  const readOnly = hint("readOnlyHint");
  if ([destructive, readOnly].some((value) => value !== undefined && typeof value !== "boolean")) return true;
  if (destructive === true) return true;
  return byDefault === "destructive" && destructive !== false && readOnly !== true;
}
