import { afterAll, describe, expect, it } from "vitest";
import { PROGRAM_DECLARATIONS } from "../../../../codegen/typescript/editor/program-declarations.ts";
import { printGlobals } from "../../../../codegen/typescript/print-globals.ts";
import { readModule } from "../../../../codegen/typescript/read-module.ts";
import type { ModuleSource } from "../../../../execution/prepare/module-source.ts";
import { bundleProgram } from "../../../../execution/typescript/bundling/bundle.ts";
import { createTypeChecker } from "../../../../execution/typescript/type-check/type-check.ts";
import { generateModule } from "../../../codegen/list-tools.ts";
import { verdict } from "./sample-modules.ts";

const checker = createTypeChecker({ declarations: PROGRAM_DECLARATIONS });
afterAll(() => checker.close());

/** The modules of a configuration with a model, whose tool may be called or not. */
async function withModel(callable: string[]): Promise<ModuleSource> {
  const { text } = await generateModule([{ name: "extract" }], "ptc", "ptc");
  const module = readModule("ptc", text, new Set(callable));
  return { modules: () => ["ptc"], load: async () => module };
}

const NONE: ModuleSource = { modules: () => [], load: async () => undefined };
const ALLOWED = ["mcp__ptc__extract"];

const bundleOf = (code: string, modules: ModuleSource) =>
  bundleProgram({ code, data: undefined, language: "typescript", fileName: "program.ts" }, modules);

describe("extract in a program", () => {
  it("is a function whose result has the type that was asked for", async () => {
    const modules = await withModel(ALLOWED);
    const shape =
      '{ id: "integer", "note?": "string | null", lines: [{ name: "string", state: "\'open\' | \'closed\'" }], tags: "string[]" }';
    const fine = `const order = await extract("x", ${shape});
const state: "open" | "closed" = order.lines[0].state;
const id: number = order.id;
const tags: string[] = order.tags;
const any = await extract("x", { type: "object", properties: {} });
result = [state, id, tags, order.note?.length, any.whatever, (await extract("x", "number | null")) + 1];`;
    expect(await verdict(checker, modules, fine)).toBe("clean");
    const bundle = await bundleOf(fine, modules);
    expect(bundle).toMatchObject({ ok: true, bundle: expect.stringContaining("ptc.extract") });
  });

  it("is not there where no model is configured, or none may be asked, and a program's own function is its own", async () => {
    const own = "const extract = (text) => text.length;\nresult = extract('x');";
    for (const modules of [NONE, await withModel([])]) {
      const bundle = await bundleOf("result = await extract('x', 'string');", modules);
      expect(bundle).toMatchObject({ ok: true, bundle: expect.not.stringContaining("ptc.extract") });
    }
    for (const modules of [NONE, await withModel(ALLOWED)]) {
      expect(await verdict(checker, modules, own)).toBe("clean");
      expect(await bundleOf(own, modules)).toMatchObject({
        ok: true,
        bundle: expect.not.stringContaining("ptc.extract"),
      });
    }
  });

  it("is declared for editors where there is a model", () => {
    const tool = { module: "ptc", identifier: "extract", namespacedName: "mcp__ptc__extract" };
    expect(printGlobals([tool])).toContain("declare function extract<");
    expect(printGlobals([{ ...tool, module: "other", namespacedName: "mcp__other__extract" }])).not.toContain(
      "declare function",
    );
  });
});
