/** ptc as an MCP server of the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`). */
import type { CanUseTool, McpSdkServerConfigWithInstance } from "@anthropic-ai/claude-agent-sdk";
import { isObject } from "../../base/json.ts";
import type { CallOptions, Ptc } from "../api.ts";
import { inMemoryServer } from "./in-memory-server.ts";
import { answerQuestion, describeGoingOn, questionOf } from "./waiting.ts";

/**
 * ptc for `query({ options: { mcpServers: { ptc: ptcServer(ptc) }, allowedTools: ["mcp__ptc"] } })`. It runs in this process. Aborting a
 * query cancels its programs.
 *
 * @param options for whom, and who is asked. What is left out is as `createPtc` was given it.
 */
export function ptcServer(
  ptc: Ptc,
  options: Pick<CallOptions, "principal" | "approve" | "onElicit"> = {},
): McpSdkServerConfigWithInstance {
  const instance = inMemoryServer(ptc, options, (reply) => {
    const waiting = reply._meta?.["ptc/waiting"];
    if (waiting === undefined || !asking.has(ptc)) return reply;
    const [, ...rest] = reply.content;
    return { ...reply, content: [{ type: "text", text: describeGoingOn(waiting) }, ...rest] };
  });
  return { type: "sdk", name: "ptc", instance: instance as never };
}

const PREFIX = "mcp__ptc__";

/** The instances whose SDK has asked `ptcPermission` about a tool. Such an SDK also asks about the call that continues a program. */
const asking = new WeakSet<Ptc>();

/**
 * The `canUseTool` of a query that has `ptcServer` as `ptc`. A program whose call needs an approval, and that nobody else is asked
 * about, waits. When the model lets it go on, `decide` is asked as if the model made that call: with its name, such as
 * `mcp__billing__refund`, and its arguments. A no is an error of that call in the program, unless it interrupts the query. Programs
 * themselves, and ptc's other tools, need no decision; tools of others are put to `decide` as they are. `allowedTools` must not name
 * ptc, since the SDK asks about nothing that they allow.
 *
 * @param options as those of `ptcServer`.
 */
export function ptcPermission(
  ptc: Ptc,
  decide: CanUseTool,
  options: Pick<CallOptions, "principal"> = {},
): CanUseTool {
  return async (toolName, input, context) => {
    if (!toolName.startsWith(PREFIX)) return decide(toolName, input, context);
    asking.add(ptc);
    const allowed = { behavior: "allow", updatedInput: input } as const;
    const waiting = await questionOf(ptc, toolName.slice(PREFIX.length), input, options);
    if (waiting === undefined) return allowed;
    const { tool, arguments: args, reason } = waiting.question;
    const about = reason === undefined ? context : { ...context, decisionReason: reason };
    const decision = await decide(tool, isObject(args) ? { ...args } : {}, about);
    if (decision === null) return null;
    const by = "Claude Agent SDK";
    const isAllowed = decision.behavior === "allow";
    const answer = isAllowed ? { allow: true, by } : { allow: false, by, reason: decision.message };
    await answerQuestion(ptc, waiting, answer, options);
    return isAllowed || decision.interrupt !== true ? allowed : decision;
  };
}
