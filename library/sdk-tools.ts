/**
 * Makes tools of the AI SDK, LangChain and the OpenAI Agents SDK functions of ptc. The shape of a tool identifies its SDK,
 * so this module loads none. The rules of the SDK still apply to its tools: where the SDK would ask its user, ptc asks,
 * and ptc refuses a tool with a rule that only its SDK can apply.
 */
import { isObject, readJson } from "../base/json.ts";
import type { FunctionTool, JsonSchema, Schema, SdkTool, ToolContext } from "./api.ts";

/** Why ptc cannot use a tool, as a predicate of the tool. */
export class UnusableToolError extends Error {
  override readonly name = "UnusableToolError";
}

type Shape = Readonly<Record<string, unknown>>;
type Execute = (this: unknown, input: unknown, options: unknown) => unknown;

/**
 * A tool of ptc, made from one of an SDK; the tool itself if it is of no SDK.
 *
 * @throws UnusableToolError if only its SDK can run it, or apply its rules.
 */
export async function functionToolOf(given: FunctionTool | SdkTool): Promise<FunctionTool> {
  const shape: Shape = Object(given);
  if (isObject(shape.input) || typeof shape.input === "function") return given as FunctionTool;
  if (shape.type === "function" && typeof shape.invoke === "function") return ofOpenAiAgents(shape);
  if (typeof shape.invoke === "function" && "schema" in shape) return ofLangChain(shape);
  if (typeof shape.handler === "function" && "inputSchema" in shape)
    throw new UnusableToolError(
      "is a tool of the Claude Agent SDK, whose handler answers in blocks of MCP; give ptc its function with tool({ description, input, execute })",
    );
  if ("inputSchema" in shape || "parameters" in shape) return ofAiSdk(shape);
  return given as FunctionTool;
}

/** `tool` and `dynamicTool` of `ai`. An input schema is a Standard Schema, one of `jsonSchema`, or a function that gives one of these. */
async function ofAiSdk(shape: Shape): Promise<FunctionTool> {
  const { execute, title, needsApproval } = shape;
  if (typeof execute !== "function")
    throw new UnusableToolError("has no execute: its client or its provider would run it, and ptc cannot");
  return {
    ...described(shape, typeof title === "string" ? title : undefined),
    ...askedIf(needsApproval !== undefined && needsApproval !== false),
    input: await aiSdkSchema(shape.inputSchema ?? shape.parameters),
    output: shape.outputSchema === undefined ? undefined : await aiSdkSchema(shape.outputSchema),
    async execute(input: unknown, { signal }: ToolContext) {
      const options = { toolCallId: crypto.randomUUID(), messages: [], abortSignal: signal, context: {} };
      return lastOf(await (execute as Execute).call(shape, input, options));
    },
  };
}

async function aiSdkSchema(given: unknown): Promise<Schema> {
  const schema: unknown = typeof given === "function" && !("~standard" in given) ? given() : given;
  return isObject(schema) && "jsonSchema" in schema
    ? ((await schema.jsonSchema) as JsonSchema)
    : (schema as Schema);
}

/** The last value that a generator of the AI SDK yields is its result. Earlier values are progress. */
async function lastOf(result: unknown): Promise<unknown> {
  if (!isObject(result) || !(Symbol.asyncIterator in result)) return result;
  let last: unknown;
  for await (const each of result as unknown as AsyncIterable<unknown>) last = each;
  return last;
}

/** `tool` and subclasses of `StructuredTool` of `@langchain/core`. */
function ofLangChain(shape: Shape): FunctionTool {
  return {
    ...described(shape),
    input: shape.schema as Schema,
    async execute(input: unknown, { signal }: ToolContext) {
      const result = await (shape.invoke as Execute).call(shape, input, { signal });
      const { content, status } = Object(result) as { content?: unknown; status?: unknown };
      if (!isToolMessage(result)) return result;
      if (status === "error")
        throw new Error(typeof content === "string" ? content : JSON.stringify(content));
      return content;
    },
  };
}

function isToolMessage(result: unknown): boolean {
  return isObject(result) && "tool_call_id" in result && "content" in result;
}

/** The answer of the OpenAI Agents SDK for a tool that throws and names no answer for that case. */
const HIDDEN_FAILURE = "An error occurred while running the tool. Please try again.";

/** `tool` of `@openai/agents`. */
async function ofOpenAiAgents(shape: Shape): Promise<FunctionTool> {
  for (const guardrails of ["inputGuardrails", "outputGuardrails"])
    if (Array.isArray(shape[guardrails]) && shape[guardrails].length > 0)
      throw new UnusableToolError(
        `has ${guardrails}, which only the OpenAI Agents SDK applies; check arguments and results in its execute instead`,
      );
  const { needsApproval, timeoutMs, outputSchema, invoke } = shape;
  const context = { context: {} };
  const asks = async (input: unknown) =>
    typeof needsApproval === "function" &&
    (await (needsApproval as Execute).call(shape, context, input)) === true;
  const alwaysAsks = await asks({}).catch(() => true);
  return {
    ...described(shape),
    ...askedIf(alwaysAsks),
    input: shape.parameters as Schema,
    output: isObject(outputSchema) ? (outputSchema as Schema) : undefined,
    timeoutMs: typeof timeoutMs === "number" ? timeoutMs : undefined,
    async execute(input: unknown, { signal }: ToolContext) {
      if (!alwaysAsks && (await asks(input)))
        throw new Error(
          "needs an approval for these arguments, which ptc learned too late; name it in approvals.ask",
        );
      const result = await (invoke as (...args: unknown[]) => unknown).call(
        shape,
        context,
        JSON.stringify(input),
        { signal },
      );
      if (result === HIDDEN_FAILURE)
        throw new Error("failed; its SDK tells why where the tool has `errorFunction: null`");
      return typeof result === "string" && isObject(outputSchema) ? readJson(result) : result;
    },
  };
}

function described(
  { description, name }: Shape,
  title?: string,
): Pick<FunctionTool, "description" | "title"> {
  const text = typeof description === "string" ? description : typeof name === "string" ? name : "";
  return { description: text, title };
}

/** A tool whose SDK would ask its user needs approval by default, as a destructive one does. */
function askedIf(asks: boolean): Pick<FunctionTool, "annotations"> {
  return asks ? { annotations: { destructiveHint: true } } : {};
}
