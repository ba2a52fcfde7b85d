import { isObject } from "../base/json.ts";
import { findSchemaProblem } from "../base/json-schema.ts";
import { oneLine } from "../base/visible-text.ts";
import { similarNames } from "../catalog/search/similar-names.ts";
import type { FunctionServerConfiguration } from "../configuration/configuration.ts";
import { OWN_USE } from "../configuration/configured-servers.ts";
import {
  FUNCTION_SERVER,
  type FunctionContext,
  type HostFunction,
} from "../upstream/functions/function-connection.ts";
import {
  type FunctionTool,
  type JsonSchema,
  PtcError,
  type Schema,
  type SdkTool,
  type StandardResult,
  type StandardSchema,
  type ToolContext,
} from "./api.ts";
import { functionToolOf, UnusableToolError } from "./sdk-tools.ts";

/** Names that are valid for a tool in every language and client. */
const NAME = /^[A-Za-z0-9._-]{1,64}$/;
const NO_ARGUMENTS: JsonSchema = { type: "object", properties: {}, additionalProperties: false };
const MAX_ISSUES = 5;

/** A connection to functions is an object in memory. */
const MAX_PRINCIPALS = 10_000;

/** The members of a tool. */
const MEMBERS: Readonly<Record<keyof FunctionTool, true>> = {
  description: true,
  title: true,
  input: true,
  output: true,
  annotations: true,
  labels: true,
  accepts: true,
  timeoutMs: true,
  execute: true,
};

/**
 * The tools of a program. Tools of other SDKs become tools of ptc.
 *
 * @throws PtcError for a tool that no program could call, or that has a member unknown to ptc.
 */
export async function readTools(
  tools: Readonly<Record<string, FunctionTool | SdkTool>>,
): Promise<Readonly<Record<string, FunctionTool>>> {
  const read = await Promise.all(
    Object.entries(tools).map(async ([name, given]) => {
      const wrong = wrongTool(name);
      try {
        const own = await functionToolOf(given);
        const unknown = Object.keys(Object(own)).find((key) => !Object.hasOwn(MEMBERS, key));
        if (unknown !== undefined) throw wrong(unknownMember(unknown));
        return [name, own] as const;
      } catch (error) {
        throw error instanceof UnusableToolError ? wrong(error.message) : error;
      }
    }),
  );
  return Object.fromEntries(read);
}

function unknownMember(member: string): string {
  const [nearest] = similarNames(member, Object.keys(MEMBERS), 1);
  const advice =
    nearest === undefined ? `a tool has ${Object.keys(MEMBERS).join(", ")}` : `did you mean '${nearest}'?`;
  return `a tool has no '${oneLine(member, 80)}'; ${advice}`;
}

function wrongTool(name: string): (why: string) => PtcError {
  return (why) => new PtcError("invalid", `tools.${oneLine(name, 80)}: ${why}`);
}

/**
 * The server of the functions of a program; `undefined` where there are none.
 *
 * @param callTimeoutMs the time limit of a call of a function without one.
 * @throws PtcError for a function that no program could call.
 */
export function functionServer(
  tools: Readonly<Record<string, FunctionTool>>,
  callTimeoutMs: number,
): FunctionServerConfiguration | undefined {
  const entries = Object.entries(tools);
  if (entries.length === 0) return undefined;
  const functions = entries.map(([name, each]) => describeFunction(name, each));
  return {
    transport: "functions",
    name: FUNCTION_SERVER,
    module: FUNCTION_SERVER,
    description: undefined,
    functions,
    env: {},
    secretSources: {},
    callTimeoutMs: Math.max(...functions.map(({ timeoutMs = callTimeoutMs }) => timeoutMs)),
    connectTimeoutMs: callTimeoutMs,
    flow: {
      tools: Object.fromEntries(entries.map(([name, { labels, accepts }]) => [name, { labels, accepts }])),
    },
    piiAllowed: [],
    // A function receives the principal on whose behalf it is called.
    shared: false,
    use: { ...OWN_USE.use, maxConnections: MAX_PRINCIPALS },
    off: undefined,
  };

  function describeFunction(name: string, given: FunctionTool): HostFunction {
    const wrong = wrongTool(name);
    if (!NAME.test(name)) throw wrong("the name must be 1 to 64 letters, digits, `.`, `_` or `-`");
    if (!isObject(given) || typeof given.execute !== "function")
      throw wrong("is not a tool; make one with tool({ description, input, output, execute })");
    const { title, description, input, output, annotations, timeoutMs, execute } = given;
    if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= 86_400_000))
      throw wrong("timeoutMs must be more than 0 and at most 86400000 milliseconds");
    const inputSchema = schemaOf(input ?? NO_ARGUMENTS, "input", wrong);
    if (inputSchema.type !== undefined && inputSchema.type !== "object")
      throw wrong("input must describe an object: arguments have names");
    return {
      name,
      title,
      description,
      annotations,
      inputSchema: { ...inputSchema, type: "object" },
      outputSchema: output && schemaOf(output, "output", wrong),
      timeoutMs: timeoutMs ?? callTimeoutMs,
      async call(args, { principal, signal, onProgress }: FunctionContext) {
        const context: ToolContext = { principal, signal, onProgress };
        const value = await execute((await pass(input, args ?? {}, "the arguments")) as never, context);
        return pass(output, value, "what it returned");
      },
    };
  }
}

/** The JSON Schema of a schema, without the member that names its draft. */
function schemaOf(schema: Schema, side: "input" | "output", wrong: (why: string) => PtcError): JsonSchema {
  const shape = Object(schema) as Record<string, unknown>;
  const field = isStandard(schema)
    ? undefined
    : Object.keys(shape).find((key) => isStandard(Object(shape[key])));
  if (field !== undefined)
    throw wrong(
      `${side} holds schemas by name (${oneLine(field, 80)}); make one of them, as z.object({ ... }) does`,
    );
  const { $schema: _, ...json } = isStandard(schema) ? standardSchemaOf(schema, side, wrong) : schema;
  const problem = findSchemaProblem(json, [side]);
  if (problem !== undefined) throw wrong(`${problem.path.join(".")} ${problem.message}`);
  return json;
}

function standardSchemaOf(
  schema: StandardSchema,
  side: "input" | "output",
  wrong: (why: string) => PtcError,
): JsonSchema {
  const { vendor, jsonSchema } = schema["~standard"];
  if (jsonSchema === undefined) {
    const how =
      vendor === "valibot"
        ? "wrap it in toStandardJsonSchema of @valibot/to-json-schema"
        : "use a newer version of it, or give a JSON Schema";
    throw wrong(`${side} is a schema of ${vendor} that does not provide its JSON Schema; ${how}`);
  }
  try {
    return jsonSchema[side]({ target: "draft-2020-12" });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw wrong(`${side} has no JSON Schema: ${oneLine(why, 300)}`);
  }
}

/** A schema of arktype is a function. */
function isStandard(schema: Schema): schema is StandardSchema {
  return (typeof schema === "object" || typeof schema === "function") && "~standard" in schema;
}

/** Parses a value with a schema, which may fill in defaults and drop members that it does not name. A JSON Schema changes nothing. */
async function pass(schema: Schema | undefined, value: unknown, what: string): Promise<unknown> {
  if (schema === undefined || !isStandard(schema)) return value;
  const result: StandardResult<unknown> = await schema["~standard"].validate(value);
  if (result.issues === undefined) return result.value;
  const issues = result.issues.slice(0, MAX_ISSUES).map(({ message, path = [] }) => {
    const keys = path.map((each) => String(typeof each === "object" ? each.key : each));
    return keys.length === 0 ? message : `${keys.join(".")}: ${message}`;
  });
  throw new Error(`${what} did not pass its schema: ${issues.join("; ")}`);
}
