import { describe, expect, it } from "vitest";
import { type ModuleSource, type SavedProgram, UsedModules } from "../../languages/module-source.ts";
import { modulesOf } from "./module-texts.ts";

const TEXTS = { a: "// the module a\n", b: "// the module b\n" };
const SAVED: SavedProgram = {
  tool: "mcp__programs__report",
  fileName: "programs/report.ts",
  language: "typescript",
  code: "result = 1;",
  output: '{"type":"number"}',
};

/** The modules that a program uses, and which were loaded for it. */
function used(more: Partial<ModuleSource> = {}) {
  const loaded: string[] = [];
  const texts = modulesOf(TEXTS);
  const modules = new UsedModules({
    ...texts,
    load: async (module) => {
      loaded.push(module);
      return texts.load(module);
    },
    ...more,
  });
  return { modules, loaded };
}

describe("the modules that a program uses", () => {
  it("are those that were loaded, each once, and none that was only looked at", async () => {
    const { modules, loaded } = used();
    expect(modules.modules()).toEqual(["a", "b"]);
    expect((await modules.peek("b"))?.text).toBe(TEXTS.b);
    expect((await modules.load("a"))?.text).toBe(TEXTS.a);
    expect(await modules.load("a")).toBe(await modules.peek("a"));
    expect(await modules.load("c")).toBeUndefined();
    expect(loaded).toEqual(["b", "a", "c"]);
    expect([...modules.archived()]).toEqual([["a", TEXTS.a]]);
    expect(modules.savedTexts()).toEqual([]);
    expect(modules.saved).toBeUndefined();
  });

  it("include the saved programs that were loaded, with what their manifests say of their values", async () => {
    const asked: string[] = [];
    const bare: SavedProgram = {
      ...SAVED,
      tool: "mcp__programs__sum",
      fileName: "programs/sum.ts",
      output: undefined,
    };
    const { modules } = used({
      saved: {
        load: async (tool) => {
          asked.push(tool);
          return [SAVED, bare].find((each) => each.tool === tool);
        },
        others: [],
      },
    });
    for (const tool of [SAVED.tool, SAVED.tool, bare.tool, "mcp__programs__none"])
      expect((await modules.saved?.load(tool))?.tool).toBe(tool.endsWith("none") ? undefined : tool);
    expect(asked).toEqual([SAVED.tool, bare.tool, "mcp__programs__none"]);
    expect(modules.saved?.others).toEqual([]);
    expect(modules.savedTexts()).toEqual([SAVED.code, bare.code]);
    expect([...modules.archived()]).toEqual([
      ["programs/report.ts", SAVED.code],
      ["programs/report.output.json", SAVED.output],
      ["programs/sum.ts", bare.code],
    ]);
  });

  it.each([
    [undefined, false],
    [false, false],
    [true, true],
  ])("are of a record where their source is (%s)", (isRecord, expected) => {
    expect(used(isRecord === undefined ? {} : { isRecord }).modules.isRecord).toBe(expected);
  });
});
