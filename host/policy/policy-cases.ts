import * as z from "zod";
import type { Decision } from "../../broker/policy/authorizer.ts";
import type { RuleAuthorizer } from "../../broker/policy/rule-authorizer.ts";
import type { RunHistory } from "../../broker/policy/run-history.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { parseNamespacedName } from "../../protocol/tools/tool-name.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { YamlSource } from "../configuration/yaml-source.ts";
import { listsOf } from "../configured-policy.ts";
import { loadProgramTools, type ProgramTools } from "../tools/program-tools.ts";
import { buildRuleAuthorizer } from "./build-rules.ts";

const Name = z.string().min(1);

const PolicyCase = z.strictObject({
  name: Name.optional(),
  principal: Name.default("local"),
  groups: z.array(Name).default([]),
  source: z.enum(["run", "serve", "call"]).default("run"),
  tool: Name,
  arguments: z.unknown().optional(),
  /** What the server says of its tool, for one that is not listed, or to try another claim. */
  annotations: z.record(z.string(), z.unknown()).optional(),
  /** The tools that the run has read before, in that order. */
  read: z.array(Name).default([]),
  /** How many calls the run has made before, if more than it has read, and how many of this tool. */
  calls: z.int().min(0).optional(),
  calls_of_tool: z.int().min(0).default(0),
  time: z.iso.datetime({ offset: true }).optional(),
  expect: z.enum(["allow", "ask", "deny", "hidden", "visible"]),
  /** What is in the name of the entry or rule that decides. */
  rule: Name.optional(),
});
type PolicyCase = z.infer<typeof PolicyCase>;

const PolicyCases = z.strictObject({ cases: z.array(PolicyCase).min(1) });

/** How one case came out. */
export interface CaseResult {
  readonly ok: boolean;
  readonly name: string;
  /** Of the case in its file. */
  readonly line: number;
  readonly expected: string;
  readonly decided: string;
  readonly rule?: string | undefined;
  readonly reason?: string | undefined;
}

/**
 * Tries what the configuration decides about the calls that a text in YAML describes, without any server.
 *
 * @param file how messages name the text.
 * @throws ConfigurationError for a text that describes no cases, and for a configuration whose rules are wrong.
 */
export async function tryPolicyCases(
  configuration: Configuration,
  text: string,
  file: string,
): Promise<CaseResult[]> {
  const source = YamlSource.parse(text);
  if (!(source instanceof YamlSource))
    throw new ConfigurationError("invalid", `${file}:${source.line}: ${source.message}`);
  const parsed = PolicyCases.safeParse(source.value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = issue?.path ?? [];
    const keys = issue?.code === "unrecognized_keys" ? [...path, ...issue.keys.slice(0, 1)] : path;
    const where = keys.map(String).join(".");
    throw new ConfigurationError(
      "invalid",
      `${file}:${source.lineOf(keys)}: ${where === "" ? "the file" : where}: ${issue?.message ?? "is wrong"}`,
    );
  }
  const tools = await loadProgramTools(configuration);
  let nowMs = Date.now();
  const authorizer = await buildRuleAuthorizer(configuration, listsOf(configuration), {
    wallMs: () => nowMs,
  });
  const results: CaseResult[] = [];
  for (const [index, each] of parsed.data.cases.entries()) {
    const line = source.lineOf(["cases", index]);
    nowMs = each.time === undefined ? Date.now() : Date.parse(each.time);
    results.push(await tryCase(each, line, { configuration, tools, authorizer, file }));
  }
  return results;
}

interface CaseSurroundings {
  configuration: Configuration;
  tools: ProgramTools;
  authorizer: RuleAuthorizer;
  file: string;
}

async function tryCase(
  each: PolicyCase,
  line: number,
  { configuration, tools, authorizer, file }: CaseSurroundings,
): Promise<CaseResult> {
  const toolOf = (name: string) => findTool(name, configuration, tools, `${file}:${line}`);
  const known = toolOf(each.tool);
  const tool =
    each.annotations === undefined
      ? known
      : { ...known, annotations: each.annotations as Tool["annotations"] };
  const reads = each.read.map((name, index) => {
    const { namespacedName, server, name: toolName } = toolOf(name);
    return { seq: index + 1, tool: namespacedName, server, name: toolName };
  });
  const context: RunContext = { principal: each.principal, groups: each.groups, source: each.source };
  const calls = Math.max(each.calls ?? 0, reads.length, each.calls_of_tool);
  const run: RunHistory = { calls, callsOfTool: each.calls_of_tool, reads };
  const decision = await authorizer.authorize(context, tool, each.arguments ?? {}, run);
  const isVisible = authorizer.isVisible(context, tool);
  const decided = isAboutSight(each) ? (isVisible ? "visible" : "hidden") : namedDecision(decision);
  const { rule, reason } = decision;
  const isRule = each.rule === undefined || (rule ?? "").includes(each.rule);
  return {
    ok: decided === each.expect && isRule,
    name: each.name ?? `${each.tool} by ${each.principal}`,
    line,
    expected: each.rule === undefined ? each.expect : `${each.expect} by ${each.rule}`,
    decided,
    ...(rule === undefined ? {} : { rule }),
    ...(reason === undefined ? {} : { reason }),
  };
}

function isAboutSight({ expect }: PolicyCase): boolean {
  return expect === "hidden" || expect === "visible";
}

/** A call of a tool that is hidden is denied. */
function namedDecision({ kind }: Decision): string {
  return kind === "unavailable" ? "deny" : kind;
}

/** A tool as it was listed, or what is known of it by its name. @throws ConfigurationError for a name of no server. */
function findTool(name: string, { servers }: Configuration, { all }: ProgramTools, place: string): Tool {
  const listed = all.get(name);
  if (listed !== undefined) return listed;
  const parsed = parseNamespacedName(name);
  const server = servers.find(({ module }) => module === parsed?.module);
  if (parsed === undefined || server === undefined)
    throw new ConfigurationError("invalid", `${place}: '${name}' is a tool of no server in ptc.yaml`);
  if (all.server(server.name) !== undefined)
    throw new ConfigurationError("invalid", `${place}: server '${server.name}' has no tool '${parsed.tool}'`);
  const isMethod = /^(?:resources|prompts)\//.test(parsed.tool);
  return {
    namespacedName: name,
    server: server.name,
    module: server.module,
    name: parsed.tool,
    identifier: parsed.tool,
    inputSchema: {},
    definitionDigest: "",
    method: isMethod ? parsed.tool : undefined,
  };
}
