import { type Authorizer, PolicyAuthorizer } from "../../broker/policy/authorizer.ts";
import type { Policy } from "../../broker/policy/policy.ts";
import { DataFlow } from "../../broker/policy/data-flow.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import { PROGRAMS_MODULE } from "../../protocol/tool-names.ts";
import type { Configuration } from "../configuration.ts";
import { ConfigurationError } from "../configuration-error.ts";
import type { PolicyFile } from "../policy-files.ts";
import { unmatchedPatterns } from "../tool-patterns.ts";

const built = new WeakMap<Configuration, Promise<Authorizer>>();

/**
 * Who may call which tool, as the configuration says. Rules and labels are loaded where there are any, once for a
 * configuration.
 *
 * @throws ConfigurationError for the first rule that is wrong.
 */
export function buildAuthorizer(configuration: Configuration): Promise<Authorizer> {
  const known = built.get(configuration) ?? build(configuration);
  built.set(configuration, known);
  return known;
}

async function build(configuration: Configuration): Promise<Authorizer> {
  const policy = listsOf(configuration);
  const files = rulesOf(configuration);
  const unread = [...files, ...configuration.lists.files].find(({ problem }) => problem !== undefined);
  if (unread?.problem !== undefined) throw new ConfigurationError("invalid", unread.problem);
  if (files.length === 0 && !hasFlow(configuration)) return new PolicyAuthorizer(policy);
  const { buildRuleAuthorizer } = await import("./build-rules.ts");
  return buildRuleAuthorizer(configuration, policy);
}

/** Every file of rules, those of managed settings too. */
function rulesOf({ policy, managed }: Pick<Configuration, "policy" | "managed">): readonly PolicyFile[] {
  return [policy, ...managed.map((each) => each.policy)].flatMap(({ files }) => files);
}

/** Whether data may not flow from everywhere into every tool. */
function hasFlow({ servers }: Pick<Configuration, "servers">): boolean {
  return servers.some(
    ({ flow }) =>
      flow.accepts !== undefined || Object.values(flow.tools).some(({ accepts }) => accepts !== undefined),
  );
}

/** Whether a call may be decided by what its run has called and read before. */
export function isDecidedByRun(
  configuration: Pick<Configuration, "servers" | "policy" | "managed">,
): boolean {
  return hasFlow(configuration) || rulesOf(configuration).some(({ text }) => looksAt(text, "run"));
}

/** Whether the values of calls are followed: somewhere there are labels, or rules look at where values come from. */
export function followsValues({
  servers,
  policy,
  managed,
}: Pick<Configuration, "servers" | "policy" | "managed">): boolean {
  const hasLabels = servers.some(({ flow }) =>
    [flow, ...Object.values(flow.tools)].some(({ labels = [] }) => labels.length > 0),
  );
  return (
    hasLabels ||
    rulesOf({ policy, managed }).some(({ text }) =>
      ["labels", "origins", "said", "conversation"].some((member) => looksAt(text, member)),
    )
  );
}

/** Every label that data may carry, where what a model was shown stays with its conversation. */
export function everyLabel({ servers, labels }: Pick<Configuration, "servers" | "labels">): string[] {
  if (labels.scope !== "conversation") return [];
  const entries = servers.flatMap(({ flow }) => [flow, ...Object.values(flow.tools)]);
  const named = entries.flatMap((entry) => (entry.labels ?? []).map((each) => (typeof each === "string" ? each : each.label)));
  return [...new Set(named)].sort();
}

/** Whether rules look at a member of the context. */
function looksAt(text: string, member: string): boolean {
  return new RegExp(`\\bcontext\\s*(?:\\.\\s*${member}\\b|\\[\\s*"${member}")|\\bcontext\\s+has\\s+"?${member}\\b`).test(text);
}

/** What the configuration says of labels. */
export function flowOf({ servers, labels, lists }: Pick<Configuration, "servers" | "labels" | "lists">): DataFlow {
  // Saved programs have no labels of their own: what they read is read by the calls that they make.
  const programs = [PROGRAMS_MODULE, { tools: {} }] as const;
  return new DataFlow(new Map([programs, ...servers.map(({ name, flow }) => [name, flow] as const)]), {
    lists: lists.values,
    isSticky: labels.scope === "conversation",
    asks: labels.refused === "ask",
  });
}

/** The lists of the configuration. */
export function listsOf({
  tools,
  approvals,
  managed,
}: Pick<Configuration, "tools" | "approvals" | "managed">): Policy {
  return {
    managed: managed.map((each) => ({
      allow: each.tools.allow,
      block: each.tools.block,
      ask: each.approvals.ask,
      neverAsk: each.approvals.allow,
    })),
    allow: tools.allow,
    block: tools.block,
    ask: approvals.ask,
    neverAsk: approvals.allow,
    byDefault: approvals.default,
  };
}

/**
 * @param all every tool, those too that no program may call.
 * @throws ConfigurationError for an entry of `tools` or `approvals` that names no tool of any server.
 */
export function refuseUnmatchedPatterns(configuration: Configuration, all: ToolCatalog): void {
  const listed = new Set(all.servers.map(({ module }) => module));
  const unlisted = all.configured.filter((module) => !listed.has(module));
  const [first] = unmatchedPatterns(configuration, all.names(), unlisted);
  if (first !== undefined) throw new ConfigurationError("invalid", first.message);
}
