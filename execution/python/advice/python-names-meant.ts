import { findFunctions } from "../../prepare/find-functions.ts";
import type { ModuleSource } from "../../prepare/module-source.ts";

/** How to write in Python what names of other languages stand for. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ["console", "write `print(...)`"],
  ["null", "write `None`"],
  ["undefined", "write `None`"],
  ["true", "write `True`"],
  ["false", "write `False`"],
  ["callTool", "write `call_tool(...)`"],
  ["JSON", "write `import json`, and `json.dumps(...)` or `json.loads(...)`"],
  ["require", "write `import ...`"],
  ["globalThis", "write `result = ...`"],
]);
/** Modules that programs often use without importing them. */
const STANDARD: ReadonlySet<string> = new Set(
  "asyncio base64 collections csv datetime functools hashlib io itertools json math os random re statistics string sys time uuid".split(
    " ",
  ),
);
/** Names by which other runtimes hand tools to programs. */
const TOOL_OBJECTS: ReadonlySet<string> = new Set(["tools", "tool", "mcp", "client", "server", "api", "ptc"]);

/**
 * What to write instead of a name that is not defined: mostly the import that is missing. `undefined` when nothing is known
 * of the name.
 */
export async function advisePythonName(
  name: string,
  code: string,
  source: ModuleSource,
): Promise<string | undefined> {
  const elsewhere = ELSEWHERE.get(name);
  if (elsewhere !== undefined) return elsewhere;
  if (STANDARD.has(name)) return `write \`import ${name}\` first`;
  const modules = source.modules();
  if (modules.includes(name)) return `write \`from servers import ${name}\` first`;
  const [example] = modules;
  if (TOOL_OBJECTS.has(name) && example !== undefined)
    return `tools are functions of modules: write \`from servers import ${example}\`, or mcp__<server>__<tool>(...) without an import`;
  const { isExact, functions } = await findFunctions(name, source);
  const ways = functions.map(({ module, identifier }) => {
    const alias = new RegExp(`\\bimport[ \\t]+servers\\.${module}[ \\t]+as[ \\t]+(\\w{1,64})`).exec(
      code,
    )?.[1];
    if (alias !== undefined) return `${alias}.${identifier}(...)`;
    return `from servers.${module} import ${identifier}`;
  });
  if (ways.length === 0) return undefined;
  if (isExact) return `write ${ways.join(" or ")}`;
  const names = [...new Set(functions.map(({ identifier }) => `'${identifier}'`))];
  return `did you mean ${names.join(" or ")}? write ${ways.join(" or ")}`;
}
