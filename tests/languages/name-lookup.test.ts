import { describe, expect, it } from "vitest";
import { readModule } from "../../codegen/typescript/read-module.ts";
import type { ModuleSource } from "../../languages/module-source.ts";
import { findFunctions } from "../../languages/name-lookup.ts";

const declare = (server: string, names: Record<string, string>) =>
  Object.entries(names)
    .map(([name, tool]) => `export const ${name} = tool<Input, any>("mcp__${server}__${tool}");\n`)
    .join("");

const TEXTS: Readonly<Record<string, string>> = {
  files: declare("files", { readFile: "read_file", readFiles: "read_files", stat: "stat" }),
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
          new Set(["mcp__files__read_file", "mcp__files__read_files", "mcp__mail__read"]),
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
