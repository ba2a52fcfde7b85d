import type { Failure } from "../../../protocol/failure.ts";
import { adviseOnUnwrapped, findFunctions, isTool } from "../../prepare/find-functions.ts";
import type { ModuleSource } from "../../prepare/module-source.ts";
import type { Program } from "../../program.ts";
import { adviseOnCredentials, adviseOnLimits } from "./sandbox-limits.ts";
import { adviseUndefined } from "./undefined-names.ts";

/** V8's message for a name that is not defined. */
const UNDEFINED_NAME = /^ReferenceError: ([\w$]{1,100}) is not defined/;
const OF_UNDEFINED = /^TypeError: Cannot (?:read|destructure) propert.*\b(?:undefined|null)\b/;
const UNAVAILABLE = /^'([^'\n]{1,200})' is not available in execute_program/;
const TOO_SLOW = /^'[^'\n]+' failed: server '[^'\n]+' did not answer within /;
const FUNCTION_RESULT = /^result(?:[.[].*)? is a function/;

function isEmpty(data: unknown): boolean {
  return typeof data !== "object" || data === null || Object.keys(data).length === 0;
}

/** What to call instead of a name that `callTool` was given and that is no tool's. A tool that is forbidden has no other in its place. */
async function adviseOnCalled(called: string, source: ModuleSource): Promise<string | undefined> {
  if (await isTool(called, source)) return undefined;
  const [, tool = called] = /(?:^.*__|[./])([\w-]+)$/.exec(called) ?? [];
  const { functions } = await findFunctions(tool, source);
  const names = functions.map(({ namespacedName }) => `callTool("${namespacedName}", args)`);
  return names.length === 0 ? undefined : `did you mean ${names.join(" or ")}?`;
}

/**
 * Advice on a failure that a program came to by itself, one line each. The failure's message is the program's own text: it
 * selects the advice and is not repeated in it, but for names.
 */
export async function adviseOnFailure(
  { type, message }: Failure,
  { code, data }: Program,
  source: ModuleSource,
): Promise<string[]> {
  const advice: (string | undefined)[] = [];
  if (type === "ScriptError") {
    const [, name] = UNDEFINED_NAME.exec(message) ?? [];
    if (name !== undefined && !name.startsWith("mcp__"))
      advice.push(await adviseUndefined(name, code, source));
    advice.push(adviseOnLimits(message, code, source), await adviseOnUnwrapped(code, source));
    if (OF_UNDEFINED.test(message) && /\bdata\s*[.[]/.test(code) && isEmpty(data))
      advice.push(
        "no data was passed in, so `data` is empty: pass it as the argument `data`, or with --data",
      );
    else if (OF_UNDEFINED.test(message) && /\bmcp__|servers\/|callTool/.test(code))
      advice.push(
        "a tool's function returns its data itself, without `content`; print what it returned with console.log to see its shape",
      );
  }
  if (type === "ToolError" && TOO_SLOW.test(message))
    advice.push(
      "a call gets more time from `call_timeout_seconds` of its server, or `execution.tool_call_timeout_seconds`, in ptc.yaml",
    );
  const [, called] = UNAVAILABLE.exec(type === "ToolError" ? message : "") ?? [];
  if (called !== undefined) advice.push(await adviseOnCalled(called, source));
  if (type === "ScriptError" || type === "ToolError") advice.push(adviseOnCredentials(code));
  if (type === "ResultNotSerializable" && FUNCTION_RESULT.test(message))
    advice.push("call the function, and set globalThis.result to what it returns");
  return advice.filter((each) => each !== undefined);
}
