/** Cases of a policy: calls, conversations and accesses with what is to be decided about each, without any server. */

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { decodeFile } from "../../base/file-text.ts";
import { jsonLine } from "../../base/json.ts";
import { Conversation } from "../../broker/flow/conversation.ts";
import { RunFlow } from "../../broker/flow/run-flow.ts";
import { type Access, type Decision, mayAccess } from "../../broker/policy/authorizer.ts";
import type { RuleAuthorizer } from "../../broker/policy/rule-authorizer.ts";
import { type RunHistory, RunState } from "../../broker/policy/run-history.ts";
import { isListed } from "../../broker/policy/value-lists.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { parseNamespacedName } from "../../protocol/tool-names.ts";
import type { Configuration } from "../configuration.ts";
import { ConfigurationError } from "../configuration-error.ts";
import { YamlSource } from "../yaml-source.ts";
import { buildRuleAuthorizer } from "./build-rules.ts";
import { flowOf } from "./configured-flow.ts";
import { listsOf } from "./configured-policy.ts";

const Name = z.string().min(1);

const PolicyCase = z.strictObject({
  name: Name.optional(),
  principal: Name.default("local"),
  groups: z.array(Name).default([]),
  source: z.enum(["run", "serve", "call", "library"]).default("run"),
  tool: Name,
  arguments: z.unknown().optional(),
  /** The server's claims about the tool, for a tool that is not listed, or to try other claims. */
  annotations: z.record(z.string(), z.unknown()).optional(),
  /** The tools that the run has read before, in that order. */
  read: z.array(Name).default([]),
  /** How many calls the run has made before, if more than it has read, and how many of this tool. */
  calls: z.int().min(0).optional(),
  calls_of_tool: z.int().min(0).default(0),
  time: z.iso.datetime({ offset: true }).optional(),
  expect: z.enum(["allow", "ask", "deny", "hidden", "visible"]),
  /** A part of the name of the entry or rule that must decide. */
  rule: Name.optional(),
});
type PolicyCase = z.infer<typeof PolicyCase>;

/** A call of a conversation, with its answer if it is allowed. */
const ConversationCall = z.strictObject({
  tool: Name,
  arguments: z.unknown().optional(),
  answers: z.unknown().optional(),
  expect: z.enum(["allow", "ask", "deny"]).default("allow"),
  rule: Name.optional(),
});

const ConversationRun = z.strictObject({
  /** What the user says before the run. */
  said: z.string().optional(),
  /** The program that the model writes, and its data. */
  program: z.string().default(""),
  data: z.unknown().optional(),
  calls: z.array(ConversationCall).default([]),
  /** The output of the run that the model is shown. */
  shows: z.unknown().optional(),
});

const ConversationCase = z.strictObject({
  name: Name,
  principal: Name.default("local"),
  runs: z.array(ConversationRun).min(1),
});
type ConversationCase = z.infer<typeof ConversationCase>;

/** Whether somebody may have what is another's. */
const AccessCase = z
  .strictObject({
    name: Name.optional(),
    principal: Name.default("local"),
    groups: z.array(Name).default([]),
    action: z.enum(["read_runs", "approve", "audit"]),
    of: Name.optional(),
    of_groups: z.array(Name).default([]),
    /** Of the question that `approve` is about. */
    tool: Name.optional(),
    expect: z.enum(["allow", "deny"]),
    rule: Name.optional(),
  })
  .refine(({ action, of }) => (action === "audit") === (of === undefined), {
    error: "`of` says whose runs or questions; the audit log is nobody's",
  })
  .refine(({ action, tool }) => (action === "approve") === (tool !== undefined), {
    error: "`tool` says which tool an approval is of, and goes with `approve`",
  });
type AccessCase = z.infer<typeof AccessCase>;

const PolicyCases = z
  .strictObject({
    cases: z.array(PolicyCase).default([]),
    access: z.array(AccessCase).default([]),
    conversations: z.array(ConversationCase).default([]),
  })
  .refine(({ cases, access, conversations }) => cases.length + access.length + conversations.length > 0, {
    error: "has neither cases nor conversations",
  });

/** The result of one case. */
export interface CaseResult {
  readonly ok: boolean;
  readonly name: string;
  /** The line of the case in its file. */
  readonly line: number;
  readonly expected: string;
  readonly decided: string;
  readonly rule?: string | undefined;
  readonly reason?: string | undefined;
  /** Whether a run would have made an experiment, so that it may allow the call. Cases make none. */
  readonly isUnsettled?: true;
}

/**
 * Decides about the calls that a YAML text describes, without any server.
 *
 * @param all every tool, including those that no program may call.
 * @param file the name of the text in messages.
 * @throws ConfigurationError for a text that describes no cases, and for a configuration with invalid rules.
 */
export async function tryPolicyCases(
  configuration: Configuration,
  all: ToolCatalog,
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
  let nowMs = Date.now();
  const authorizer = await buildRuleAuthorizer(configuration, listsOf(configuration), {
    wallMs: () => nowMs,
  });
  const results: CaseResult[] = [];
  for (const [index, each] of parsed.data.cases.entries()) {
    const line = source.lineOf(["cases", index]);
    nowMs = each.time === undefined ? Date.now() : Date.parse(each.time);
    results.push(await tryCase(each, line, { configuration, all, authorizer, file }));
  }
  for (const [index, each] of parsed.data.access.entries()) {
    const line = source.lineOf(["access", index]);
    results.push(tryAccess(each, line, { configuration, all, authorizer, file }));
  }
  for (const [index, each] of parsed.data.conversations.entries()) {
    const lineOf = (run: number, call: number) =>
      source.lineOf(["conversations", index, "runs", run, "calls", call]);
    nowMs = Date.now();
    results.push(...(await tryConversation(each, lineOf, { configuration, all, authorizer, file })));
  }
  return results;
}

interface CaseSurroundings {
  configuration: Configuration;
  all: ToolCatalog;
  authorizer: RuleAuthorizer;
  file: string;
}

async function tryCase(
  each: PolicyCase,
  line: number,
  { configuration, all, authorizer, file }: CaseSurroundings,
): Promise<CaseResult> {
  const toolOf = (name: string) => findTool(name, configuration, all, `${file}:${line}`);
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

function tryAccess(
  { name, principal, groups, action, of = "", of_groups, tool: wanted = "", expect, rule }: AccessCase,
  line: number,
  { configuration, all, authorizer, file }: CaseSurroundings,
): CaseResult {
  const owner = { principal: of, groups: of_groups };
  const questionOf = () => {
    const { namespacedName: tool, server } = findTool(wanted, configuration, all, `${file}:${line}`);
    return { tool, server };
  };
  const access: Access =
    action === "audit"
      ? { action }
      : action === "read_runs"
        ? { action, of: owner }
        : { action, of: owner, ...questionOf() };
  const viewer = { principal, groups };
  const decided = authorizer.decideAccess(viewer, access);
  const may = mayAccess(authorizer, viewer, access) ? "allow" : "deny";
  const isRule = rule === undefined || (decided.rule ?? "").includes(rule);
  return {
    ok: may === expect && isRule,
    name: name ?? `${action}${of === "" ? "" : ` of ${of}`} by ${principal}`,
    line,
    expected: rule === undefined ? expect : `${expect} by ${rule}`,
    decided: may,
    rule: decided.rule,
    ...(decided.reason === undefined ? {} : { reason: decided.reason }),
  };
}

/** Tries the calls of a conversation's runs in order. Allowed calls get the answers of the case. */
async function tryConversation(
  { name, principal, runs }: ConversationCase,
  lineOf: (run: number, call: number) => number,
  { configuration, all, authorizer, file }: CaseSurroundings,
): Promise<CaseResult[]> {
  const labels = flowOf(configuration);
  const conversation = new Conversation();
  const context: RunContext = { principal, source: "run" };
  const results: CaseResult[] = [];
  for (const [index, { said, program, data, calls, shows }] of runs.entries()) {
    if (said !== undefined) conversation.say(said);
    const flow = new RunFlow({
      conversation,
      runId: String(index),
      isSticky: labels.isSticky,
      program: [program],
      data,
      isPlain: (value) => configuration.labels.plain.some((list) => isListed(labels.lists, list, value)),
    });
    const state = new RunState();
    for (const [number, call] of calls.entries()) {
      const line = lineOf(index, number);
      const tool = findTool(call.tool, configuration, all, `${file}:${line}`);
      const args = call.arguments ?? {};
      const { seq, history } = state.begin(tool);
      const values = await flow.follow({
        tool: call.tool,
        seq,
        arguments: args,
        schema: tool.inputSchema,
      });
      let isUnsettled = false;
      const asked: RunHistory = {
        ...history,
        reads: history.reads,
        flow: () => ({
          ...values,
          settle: async (open) => {
            isUnsettled = true;
            return values.settle(open);
          },
        }),
        shown: flow.conversationLabels,
      };
      const decision = await authorizer.authorize(context, tool, args, asked);
      const decided = namedDecision(decision);
      const { rule, reason } = decision;
      if (decided !== "deny") {
        const own = labels.labelsOf(tool, { arguments: args }) ?? [];
        state.read(tool, seq, labels.isConditional(tool) ? own : undefined);
        flow.answered(
          { tool: call.tool, server: tool.server, seq },
          own,
          values,
          [call.answers],
          labels.partsOf(tool, { arguments: args }),
        );
      }
      const where = runs.length === 1 ? `call ${number + 1}` : `run ${index + 1}, call ${number + 1}`;
      results.push({
        ok: decided === call.expect && (call.rule === undefined || (rule ?? "").includes(call.rule)),
        name: `${name} (${where}: ${shortName(call.tool)})`,
        line,
        expected: call.rule === undefined ? call.expect : `${call.expect} by ${call.rule}`,
        decided,
        ...(rule === undefined ? {} : { rule }),
        ...(reason === undefined ? {} : { reason }),
        ...(isUnsettled && decided !== "allow" ? { isUnsettled } : {}),
      });
    }
    if (shows !== undefined) await flow.show([typeof shows === "string" ? shows : jsonLine(shows)]);
  }
  return results;
}

function isAboutSight({ expect }: PolicyCase): boolean {
  return expect === "hidden" || expect === "visible";
}

/** The name of a decision. A call of a hidden tool counts as denied. */
function namedDecision({ kind }: Decision): string {
  return kind === "unavailable" ? "deny" : kind;
}

/** The listed tool, or a tool made from the name alone. @throws ConfigurationError for a name without a known server. */
function findTool(name: string, { servers }: Configuration, all: ToolCatalog, place: string): Tool {
  const listed = all.get(name);
  if (listed !== undefined) return listed;
  const parsed = parseNamespacedName(name);
  const server = servers.find(({ module }) => module === parsed?.module);
  if (parsed === undefined || server === undefined)
    throw new ConfigurationError("invalid", `${place}: '${name}' is a tool of no server in ptc.yaml`);
  if (all.server(server.name) !== undefined)
    throw new ConfigurationError("invalid", `${place}: server '${server.name}' has no tool '${parsed.tool}'`);
  const isMethod = /^(?:resources|prompts|skills)\//.test(parsed.tool);
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

function shortName(tool: string): string {
  const parsed = parseNamespacedName(tool);
  return parsed === undefined ? tool : `${parsed.module}.${parsed.tool}`;
}

/** The cases that belong to a project, beside its configuration. */
export const POLICY_CASES_FILE = "policy-tests.yaml";
const MAX_CASES_BYTES = 256 * 1024;

/** The text of `policy-tests.yaml`; `undefined` where there is none. @throws ConfigurationError where it cannot be read. */
export async function readPolicyCases({
  directory,
}: Pick<Configuration, "directory">): Promise<string | undefined> {
  const path = join(directory, POLICY_CASES_FILE);
  const refuse = (why: string) => new ConfigurationError("invalid", `${POLICY_CASES_FILE} ${why}`);
  try {
    const { size } = await stat(path);
    if (size > MAX_CASES_BYTES) throw refuse(`is larger than ${MAX_CASES_BYTES / 1024} KiB`);
    return decodeFile(await readFile(path));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw refuse(
      error instanceof TypeError ? "is not text in UTF-8; save it as UTF-8" : `cannot be read: ${code}`,
    );
  }
}
