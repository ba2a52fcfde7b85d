import { describe, expect, it } from "vitest";
import { readModule } from "../../codegen/typescript/read-module.ts";
import type { ModuleSource } from "../../languages/module-source.ts";
import { adviseOnUnwrapped, findFunctions } from "../../languages/name-lookup.ts";

const declare = (server: string, names: Record<string, string>) =>
  Object.entries(names)
    .map(([name, tool]) => `export const ${name} = tool<Input, any>("mcp__${server}__${tool}");\n`)
    .join("");

/** As no printer writes it: an archive may hold anything. */
const UNREADABLE = 'export const odd = tool<Input, any>("mcp__odd");\n';

const TEXTS: Readonly<Record<string, string>> = {
  files: `${declare("files", { readFile: "read_file", readFiles: "read_files", stat: "stat" })}${UNREADABLE}`,
  mail: declare("mail", { readMail: "read", stat: "stat" }),
};

/** Two modules, a third that was edited and cannot be read, and which of them were loaded. */
function modules() {
  const loaded: string[] = [];
  const read = (module: string) => {
    const text = TEXTS[module];
    return text === undefined
      ? undefined
      : readModule(
          module,
          text,
          new Set(["mcp__files__read_file", "mcp__files__read_files", "mcp__mail__read", "mcp__odd"]),
        );
  };
  const source: ModuleSource = {
    modules: () => ["edited", "files", "mail"],
    load: async (module) => {
      loaded.push(module);
      return read(module);
    },
    peek: async (module) => read(module),
  };
  return { source, loaded };
}

describe("the functions that an undefined name may mean", () => {
  it.each<[string, boolean, string[], string[]]>([
    ["readFile", true, ["readFile"], ["files"]],
    ["read_file", true, ["readFile"], ["files"]],
    ["read", true, ["readMail"], ["mail"]],
    ["readFil", false, ["readFile", "readFiles"], ["files"]],
    ["odd", true, ["odd"], ["files"]],
    ["stat", false, [], []],
    ["somethingElse", false, [], []],
  ])("are, for %s, those that may be called: exact %s, %j", async (name, isExact, identifiers, used) => {
    const { source, loaded } = modules();
    const found = await findFunctions(name, source);
    expect(found.isExact).toBe(isExact);
    expect(found.functions.map(({ identifier }) => identifier)).toEqual(identifiers);
    expect(loaded).toEqual(used);
  });
});

describe("a program that failed and reads `result`", () => {
  const text = [
    'export const list = tool<Input, any>("mcp__crm__list_all"); // unwrapped\n',
    'export const get = tool<Input, any>("mcp__crm__get");\n',
    'export const drop = tool<Input, any>("mcp__crm__drop"); // unwrapped\n',
  ].join("");
  const source: ModuleSource = {
    modules: () => ["crm", "gone"],
    load: async (module) =>
      module === "crm"
        ? readModule(module, text, new Set(["mcp__crm__list_all", "mcp__crm__get"]))
        : undefined,
  };
  const advice =
    "list returns the value itself, which its server wraps as {result: ...}: leave out the 'result'";

  it.each<[string, string | undefined]>([
    ["(await crm.list()).result", advice],
    ["x['result'] = callTool('mcp__crm__list_all')", advice],
    ["const { result } = await crm.list()", advice],
    ["gone.x().result; crm.list()", advice],
    ["crm.list().results", undefined],
    ["crm.get().result", undefined],
    ["crm.drop().result", undefined],
    ["list().result", undefined],
    ["gone.list().result", undefined],
  ])("is advised where the value of a tool that it names has none: %s", async (code, wanted) => {
    expect(await adviseOnUnwrapped(code, source)).toBe(wanted);
  });
});
