import type { RequiredProof } from "../../broker/approvals/approvals.ts";
import { type Authorizer, PolicyAuthorizer } from "../../broker/policy/authorizer.ts";
import type { Policy, Reviewer } from "../../broker/policy/policy.ts";
import { ToolsetAuthorizer } from "../../broker/policy/toolset-authorizer.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { Configuration } from "../configuration.ts";
import { ConfigurationError } from "../configuration-error.ts";
import { unknownFlowNames } from "../flow-names.ts";
import { interceptorRule } from "../interceptor-settings.ts";
import { unmatchedPatterns } from "../tool-patterns.ts";
import { hasFlow, rulesOf } from "./configured-flow.ts";

const built = new WeakMap<Configuration, Promise<Authorizer>>();

/**
 * Decides who may call which tool under the configuration. Rules and labels are loaded only if there are any, once for each
 * configuration.
 *
 * @throws ConfigurationError for the first invalid rule.
 */
export function buildAuthorizer(configuration: Configuration): Promise<Authorizer> {
  const known = built.get(configuration) ?? build(configuration);
  built.set(configuration, known);
  return known;
}

async function build(configuration: Configuration): Promise<Authorizer> {
  return new ToolsetAuthorizer(await buildWhole(configuration), configuration.toolsets);
}

/** Decides for those who are narrowed to no toolset. */
async function buildWhole(configuration: Configuration): Promise<Authorizer> {
  const policy = listsOf(configuration);
  const files = rulesOf(configuration);
  const unread = [...files, ...configuration.lists.files].find(({ problem }) => problem !== undefined);
  if (unread?.problem !== undefined) throw new ConfigurationError("invalid", unread.problem);
  if (files.length === 0 && !hasFlow(configuration)) return new PolicyAuthorizer(policy);
  const { buildRuleAuthorizer } = await import("./build-rules.ts");
  return buildRuleAuthorizer(configuration, policy);
}

/** The lists of the configuration. */
export function listsOf({
  tools,
  approvals,
  managed,
  sandbox,
}: Pick<Configuration, "tools" | "approvals" | "managed" | "sandbox">): Policy {
  return {
    managed: managed.map((each) => ({
      allow: each.tools.allow,
      block: each.tools.block,
      ask: each.approvals.ask,
      neverAsk: each.approvals.allow,
      reviewer: reviewerBy(each.approvals.reviewer, true, approvals.require),
    })),
    allow: tools.allow,
    block: tools.block,
    ask: approvals.ask,
    neverAsk: approvals.allow,
    reviewer: reviewerBy(approvals.reviewer, false, approvals.require),
    byDefault: approvals.default,
    asksUnlessReadOnly:
      sandbox.engine === "wasm" && sandbox.wasm.tools === "read_only"
        ? "sandbox.wasm.tools: read_only"
        : undefined,
  };
}

/** Nobody answers in the place of a person where approvals have to be proven. */
function reviewerBy(
  reviewer: Configuration["approvals"]["reviewer"],
  isManaged: boolean,
  required: RequiredProof,
): Reviewer | undefined {
  if (reviewer === undefined || required !== "any") return undefined;
  return { by: interceptorRule(reviewer.by, isManaged), tools: reviewer.tools };
}

/**
 * @param all every tool, including those that no program may call.
 * @throws ConfigurationError for an entry of `tools` or `approvals` that names no tool of any server, and for an argument or a field of
 * labels and `accepts` that none of its tools has.
 */
export function refuseUnmatchedPatterns(configuration: Configuration, all: ToolCatalog): void {
  const listed = new Set(all.servers.map(({ module }) => module));
  const unlisted = all.configured.filter((module) => !listed.has(module));
  const [first] = unmatchedPatterns(configuration, all.names(), unlisted);
  if (first !== undefined) throw new ConfigurationError("invalid", first.message);
  const [unknown] = unknownFlowNames(configuration, all);
  if (unknown !== undefined)
    throw new ConfigurationError("invalid", `${unknown.file}:${unknown.line}: ${unknown.message}`);
}
