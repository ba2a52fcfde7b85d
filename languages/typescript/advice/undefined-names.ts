import { findFunctions, type MeantFunctions } from "../../find-functions.ts";
import type { ModuleSource } from "../../module-source.ts";

/** How to write what names of other module systems and platforms stand for. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ...["module", "exports"].map((name): [string, string] => [
    name,
    "a program is an ES module and exports nothing: write `globalThis.result = ...`",
  ]),
  ...["__dirname", "__filename"].map((name): [string, string] => [
    name,
    "a program is an ES module without a file of its own; it may write files in /workspace",
  ]),
  ...["Deno", "Bun", "window"].map((name): [string, string] => [
    name,
    "programs run in Node.js: import its modules, and write `globalThis.result = ...` for the value",
  ]),
  ["print", "write `console.log(...)`"],
  ["None", "write `null`"],
  ["True", "write `true`"],
  ["False", "write `false`"],
]);
/** Names by which other runtimes hand tools to programs. */
const TOOL_OBJECTS: ReadonlySet<string> = new Set([
  "tools",
  "tool",
  "mcp",
  "client",
  "server",
  "servers",
  "api",
  "codemode",
  "ptc",
]);

/**
 * What to write instead of a name that is not defined: mostly the import that is missing. `undefined` when nothing is known
 * of the name.
 */
export async function adviseUndefined(
  name: string,
  code: string,
  source: ModuleSource,
): Promise<string | undefined> {
  const elsewhere = ELSEWHERE.get(name);
  if (elsewhere !== undefined) return elsewhere;
  const modules = source.modules();
  if (modules.includes(name)) return `write ${importAll(name)}`;
  const [example] = modules;
  if (TOOL_OBJECTS.has(name) && example !== undefined)
    return `tools are functions of modules: write ${importAll(example)}, or mcp__<server>__<tool>(args) without an import`;
  return adviseImport(await findFunctions(name, source), code);
}

function adviseImport({ isExact, functions }: MeantFunctions, code: string): string | undefined {
  const ways = functions.map(({ module, identifier }) => {
    const alias = new RegExp(
      `\\bimport\\s*\\*\\s*as\\s+([\\w$]{1,64})\\s+from\\s*["'][^"']*servers/${module}["'/]`,
    ).exec(code);
    return alias === null
      ? `import { ${identifier} } from "./servers/${module}/index.js"`
      : `${alias[1]}.${identifier}(...)`;
  });
  if (ways.length === 0) return undefined;
  if (isExact) return `write ${ways.join(" or ")}`;
  const names = [...new Set(functions.map(({ identifier }) => `'${identifier}'`))];
  return `did you mean ${names.join(" or ")}? write ${ways.join(" or ")}`;
}

function importAll(module: string): string {
  return `import * as ${module} from "./servers/${module}/index.js"`;
}
