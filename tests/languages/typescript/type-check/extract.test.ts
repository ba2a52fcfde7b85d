import { afterAll, describe, expect, it } from "vitest";
import { readModule } from "../../../../codegen/typescript/read-module.ts";
import { printGlobals } from "../../../../codegen/typescript/typescript-printer.ts";
import type { ModuleSource } from "../../../../languages/module-source.ts";
import { bundleProgram } from "../../../../languages/typescript/bundling/bundle.ts";
import { createTypeChecker } from "../../../../languages/typescript/typescript.ts";
import { generateModule } from "../../../codegen/list-tools.ts";
import { verdict } from "./sample-modules.ts";

// As long as a busy machine may need.
const checker = createTypeChecker({ checkLimitMs: 60_000 });
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

  it("has the type that a JSON Schema in the call describes, so that a member it has not is found before a run", async () => {
    const modules = await withModel(ALLOWED);
    const schema = `{
  type: "object",
  properties: {
    id: { type: "integer", minimum: 1 },
    state: { enum: ["open", "closed"] },
    lines: { type: "array", items: { $ref: "#/$defs/line" } },
    note: { type: ["string", "null"] },
    either: { anyOf: [{ type: "string", format: "date" }, { type: "array", items: { const: 7 } }] },
    prices: { type: "object", additionalProperties: { type: "number" } },
    open: { type: "object", properties: { a: { type: "string" } }, additionalProperties: true },
    rest: { type: "object" },
  },
  required: ["id", "state", "lines", "note", "either", "prices", "open", "rest"],
  $defs: { line: { type: "object", properties: { name: { type: "string" }, more: { $ref: "#/$defs/line" } }, required: ["name"] } },
}`;
    const of = (lines: string) =>
      verdict(checker, modules, `const order = await extract("x", ${schema});\n${lines}`);
    const fine = `const id: number = order.id;
const state: "open" | "closed" = order.state;
const names: string[] = order.lines.map((line) => line.more?.more?.name ?? line.name);
const note: string | null = order.note;
const either: string | 7 = typeof order.either === "string" ? order.either : order.either[0];
const price: number = order.prices.apple;
order.id = 8;
const [first] = await extract("x", { type: "array", items: { type: "object", properties: { a: { type: "boolean" } }, required: ["a"] } });
const a: boolean = first.a;
const nested = await extract("x", { order: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } });
result = [id, state, names, note, either, price, order.open.a?.length, order.open.b, order.rest.c, a, nested.order.id.toFixed()];`;
    expect(await of(fine)).toBe("clean");
    const wrong: [use: string, message: string][] = [
      ["result = order.idd;", "'idd' is not a property of order; did you mean 'id'?"],
      ["result = order.lines[0].nme;", "'nme' is not a property of order.lines[0]; did you mean 'name'?"],
      ["result = order.lines[0].more.nme;", "'nme' is not a property of order.lines[0].more"],
      [
        "result = order.lines.map((line) => line.title);",
        "'title' is not a property of line; it has name, more",
      ],
      ["const { state, sate } = order; result = sate;", "'sate' is not a property of order"],
      ["for (const each of order) result = each;", "order cannot be iterated: it is an object with id"],
    ];
    for (const [use, message] of wrong) expect(await of(use)).toContain(message);
    const inWords =
      'const { lines } = await extract("x", { lines: [{ name: "string" }] });\nresult = lines[0].nam;';
    expect(await verdict(checker, modules, inWords)).toContain("did you mean 'name'?");
    // What is no literal says nothing: nothing is found wrong with it.
    const unknown = `const schema = { type: "object", properties: { id: { type: "integer" } } };
const kinds = { name: "string", "phone?": "string" };
result = [(await extract("x", schema)).id, (await extract("x", kinds)).name, (await extract("x", { type: "string", name: "string" })).type.length];`;
    expect(await verdict(checker, modules, unknown)).toBe("clean");
    expect(
      await verdict(
        checker,
        modules,
        'const s = { type: "object", properties: { id: { type: "integer" } } } as const;\nresult = (await extract("x", s)).idd;',
      ),
    ).not.toBe("clean");
    // Schemas that are deep, wide or hold themselves are bounded.
    const wide = `{ type: "object", properties: { ${Array.from({ length: 300 }, (_, i) => `m${i}: { type: ["string", "null"] }`).join(", ")} } }`;
    let deep = '{ type: "string" }';
    for (let i = 0; i < 30; i++) deep = `{ type: "object", properties: { a: ${deep} }, required: ["a"] }`;
    const bounded = `const wide = await extract("x", ${wide});
const deep = await extract("x", ${deep});
result = [wide.m299?.length, deep.a.a.a.a.a.a.a.a.a.a.a.a.a.b];`;
    expect(await verdict(checker, modules, bounded)).toBe("clean");
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
