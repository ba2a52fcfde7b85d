import { type Authorizer, PolicyAuthorizer } from "../../broker/policy/authorizer.ts";
import type { Policy } from "../../broker/policy/policy.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { Configuration } from "../configuration.ts";
import { ConfigurationError } from "../configuration-error.ts";
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
  const unread = files.find(({ problem }) => problem !== undefined);
  if (unread?.problem !== undefined) throw new ConfigurationError("invalid", unread.problem);
  if (files.length === 0 && !hasFlow(configuration)) return new PolicyAuthorizer(policy);
  const { buildRuleAuthorizer } = await import("./build-rules.ts");
  return buildRuleAuthorizer(configuration, policy);
}

/** Every file of rules, those of managed settings too. */
function rulesOf({ policy, managed }: Pick<Configuration, "policy" | "managed">) {
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
  const isAbout = ({ text }: { text: string }) =>
    /\bcontext\s*(?:\.\s*run\b|\[\s*"run")|\bcontext\s+has\s+"?run\b/.test(text);
  return hasFlow(configuration) || rulesOf(configuration).some(isAbout);
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
