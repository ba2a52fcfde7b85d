import type { Failure } from "../../../protocol/failure.ts";
import { adviseOnUnwrapped, findFunctions, isTool } from "../../prepare/find-functions.ts";
import type { ModuleSource } from "../../prepare/module-source.ts";
import { nearestNames } from "../../prepare/nearest-names.ts";
import type { Program } from "../../program.ts";
import { mayBePython } from "../python-signs.ts";
import { advisePythonCredentials, advisePythonLimits } from "./python-limits.ts";
import { advisePythonName } from "./python-names-meant.ts";

const UNDEFINED_NAME = /^NameError: name '(\w{1,100})' is not defined/;
const NO_ATTRIBUTE = /^AttributeError: module 'servers\.(\w{1,128})' has no attribute '(\w{1,200})'/;
const NO_FUNCTION = /^ImportError: cannot import name '(\w{1,200})' from 'servers\.(\w{1,128})'/;
const NO_SERVER = /^ModuleNotFoundError: No module named 'servers\.(\w{1,128})'/;
const NOT_AWAITED =
  /^(?:TypeError|AttributeError): '?(?:coroutine|Future|Task|_asyncio\.Future|_asyncio\.Task|_GatheringFuture)\b/;
const WRONG_SHAPE =
  /^(?:KeyError: '(?:content|structuredContent|data|result|text)'|AttributeError: '(?:dict|list|str)' object has no attribute)/;
const UNAVAILABLE = /^(?:ToolError: )?'([^'\n]{1,200})' is not available in execute_program/;
const TOO_SLOW = /^(?:ToolError: )?'[^'\n]+' failed: server '[^'\n]+' did not answer within /;
const FUNCTION_RESULT = /^result(?:[.[].*)? is a (?:function|builtin_function_or_method|coroutine|Future)/;
/** Where data is looked into that was not passed. */
const EMPTY_DATA = /^(?:KeyError|IndexError|TypeError|AttributeError)\b/;

function isEmpty(data: unknown): boolean {
  return typeof data !== "object" || data === null || Object.keys(data).length === 0;
}

/** The line of a failure that names the error, which in a traceback is the first that is not indented after its head. */
function errorLine(message: string): string {
  const lines = message.split("\n");
  const head = lines.findLastIndex((line) => line.startsWith("Traceback (most recent call last)"));
  const after = lines.slice(head + 1);
  return after.find((line) => line !== "" && !/^\s/.test(line)) ?? lines[0] ?? "";
}

/** What to call instead of a name that `call_tool` was given and that is no tool's. A tool that is forbidden has no other in its place. */
async function adviseOnCalled(called: string, source: ModuleSource): Promise<string | undefined> {
  if (await isTool(called, source)) return undefined;
  const [, tool = called] = /(?:^.*__|[./])([\w-]+)$/.exec(called) ?? [];
  const { functions } = await findFunctions(tool, source);
  const names = functions.map(({ module, identifier }) => `servers.${module}.${identifier}`);
  return names.length === 0 ? undefined : `did you mean ${names.join(" or ")}?`;
}

/** What a server's module has instead of a name that it has not. */
async function adviseOnFunction(
  module: string,
  name: string,
  source: ModuleSource,
): Promise<string | undefined> {
  const tools = (await source.load(module))?.tools ?? [];
  const near = nearestNames(
    name,
    tools.map(({ identifier }) => identifier),
  );
  if (near.length > 0) return `did you mean ${near.map((each) => `servers.${module}.${each}`).join(" or ")}?`;
  const { functions } = await findFunctions(name, source);
  const elsewhere = functions.map((each) => `servers.${each.module}.${each.identifier}`);
  return elsewhere.length === 0 ? undefined : `did you mean ${elsewhere.join(" or ")}?`;
}

/**
 * Advice on a failure that a program came to by itself, one line each. The failure's message is the program's own text: it
 * selects the advice and is not repeated in it, but for names.
 */
export async function advisePythonFailure(
  { type, message }: Failure,
  { code, data }: Program,
  source: ModuleSource,
): Promise<string[]> {
  const line = errorLine(message);
  const advice: (string | undefined)[] = [];
  if (type === "ScriptError") {
    const [, name] = UNDEFINED_NAME.exec(line) ?? [];
    if (name !== undefined && !name.startsWith("mcp__"))
      advice.push(await advisePythonName(name, code, source));
    const [, inModule, attribute] = NO_ATTRIBUTE.exec(line) ?? [];
    if (inModule !== undefined && attribute !== undefined)
      advice.push(await adviseOnFunction(inModule, attribute, source));
    const [, imported, fromModule] = NO_FUNCTION.exec(line) ?? [];
    if (imported !== undefined && fromModule !== undefined)
      advice.push(await adviseOnFunction(fromModule, imported, source));
    const [, server] = NO_SERVER.exec(line) ?? [];
    if (server !== undefined) {
      const near = nearestNames(server, source.modules());
      if (near.length > 0) advice.push(`did you mean ${near.map((each) => `servers.${each}`).join(" or ")}?`);
    }
    advice.push(advisePythonLimits(line, code, source), await adviseOnUnwrapped(code, source));
    if (/^(?:Syntax|Indentation|Tab)Error\b/.test(line) && !mayBePython(code))
      advice.push(
        "if this is not Python, say so: give the argument `language`, a file name that ends in .ts, or --language",
      );
    if (NOT_AWAITED.test(line))
      advice.push("a call gives something to await: write `await` before it, or `await asyncio.gather(...)`");
    if (EMPTY_DATA.test(line) && /\bdata\s*[.[]/.test(code) && isEmpty(data))
      advice.push(
        "no data was passed in, so `data` is empty: pass it as the argument `data`, or with --data",
      );
    else if (WRONG_SHAPE.test(line) && /\bmcp__|\bservers\b|\bcall_tool\b/.test(code))
      advice.push("a tool's function returns its data itself; print what it returned to see its shape");
  }
  if (type === "ToolError" && TOO_SLOW.test(line))
    advice.push(
      "a call gets more time from `call_timeout_seconds` of its server, or `execution.tool_call_timeout_seconds`, in ptc.yaml",
    );
  const [, called] = UNAVAILABLE.exec(type === "ToolError" ? line : "") ?? [];
  if (called !== undefined) advice.push(await adviseOnCalled(called, source));
  if (type === "ScriptError" || type === "ToolError") advice.push(advisePythonCredentials(code));
  if (type === "ResultNotSerializable" && FUNCTION_RESULT.test(message))
    advice.push("call the function, and set result to what it returns");
  return advice.filter((each) => each !== undefined);
}
