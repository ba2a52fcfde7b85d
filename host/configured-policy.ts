import { type Authorizer, PolicyAuthorizer } from "../broker/policy/authorizer.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { ConfigurationError } from "./configuration/configuration-error.ts";
import { unmatchedPatterns } from "./configuration/unmatched-patterns.ts";

/** Who may call which tool, as the configuration says. */
export function buildAuthorizer({ tools, approvals }: Configuration): Authorizer {
  return new PolicyAuthorizer({
    allow: tools.allow,
    block: tools.block,
    ask: approvals.ask,
    neverAsk: approvals.allow,
    byDefault: approvals.default,
  });
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
