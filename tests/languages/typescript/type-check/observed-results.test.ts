import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildServerModel } from "../../../../catalog/tool-model.ts";
import { PYTHON_PRINTER } from "../../../../codegen/python/python-printer.ts";
import { TYPESCRIPT_PRINTER } from "../../../../codegen/typescript/typescript-printer.ts";
import type { ModuleSource } from "../../../../languages/module-source.ts";
import { createPythonTypeChecker } from "../../../../languages/python/type-check/type-check-python.ts";
import { createTypeChecker } from "../../../../languages/typescript/typescript.ts";
import { listingOf } from "../../../codegen/list-tools.ts";

const text = { type: "string" };
const TOOLS = [
  { name: "find", inputSchema: { type: "object", properties: { q: text }, required: ["q"] } },
  {
    name: "look",
    inputSchema: { type: "object" },
    outputSchema: { type: "object", properties: { title: text }, required: ["title"] },
  },
];
const schema = { type: "object", properties: { title: text, count: { type: "integer" } } };

/** A server of two tools: what `find` returns was observed, what `look` returns is declared. */
async function source(printer: typeof TYPESCRIPT_PRINTER): Promise<ModuleSource> {
  const { server } = buildServerModel(listingOf(TOOLS, "shop"), "shop", undefined, undefined, ({ name }) =>
    name === "find" ? { calls: 4, schema } : undefined,
  );
  const { text: printed } = await printer.printModule(server);
  const module = printer.readModule("shop", printed);
  return { modules: () => ["shop"], load: async () => module };
}

describe("what contradicts results that were observed and not declared", () => {
  const typescript = createTypeChecker({ checkLimitMs: 60_000 });
  const python = createPythonTypeChecker({ limitMs: 60_000 });
  beforeAll(() => python.warm());
  afterAll(() => Promise.all([typescript.close(), python.close()]));
  const inTypeScript = async (code: string) =>
    typescript.check(
      {
        code: `import * as shop from "./servers/shop/index.js";\n${code}`,
        data: {},
        language: "typescript",
        fileName: "p.ts",
      },
      await source(TYPESCRIPT_PRINTER),
    );
  const inPython = async (code: string) =>
    python.check(
      { code: `import servers.shop\n${code}`, data: {}, language: "python", fileName: "p.py" },
      await source(PYTHON_PRINTER),
      "async",
    );

  it("is a hint in TypeScript, while mistakes by declared types still stop a program", async () => {
    const hinted = await inTypeScript('const r = await shop.find({ q: "x" });\nconsole.log(r.titel);');
    expect(hinted).toEqual({
      kind: "clean",
      hints: [expect.stringMatching(/^by the results observed so far.*p\.ts:3:15: 'titel' is not .*'title'/)],
    });
    expect(
      await inTypeScript('const r = await shop.find({ q: "x" });\nconsole.log(r.title?.length);'),
    ).toEqual({
      kind: "clean",
      hints: [],
    });
    const wrong = await inTypeScript('const r = await shop.find({ p: "x" });\nconsole.log(r.titel);');
    expect(wrong).toMatchObject({ kind: "errors", count: 1, message: expect.stringContaining("'p' is not") });
    const declared = await inTypeScript("const r = await shop.look({});\nconsole.log(r.titel);");
    expect(declared).toMatchObject({ kind: "errors", message: expect.stringContaining("'titel' is not") });
  });

  it("is a hint in Python, while mistakes by declared types still stop a program", async () => {
    const hinted = await inPython('r = await servers.shop.find(q="x")\nprint(r["titel"])');
    expect(hinted).toEqual({
      kind: "clean",
      hints: [expect.stringMatching(/^by the results observed so far.*p\.py:3: .*'titel'.*'title'/)],
    });
    const wrong = await inPython('r = await servers.shop.find(p="x")\nprint(r["titel"])');
    expect(wrong).toMatchObject({ kind: "errors", message: expect.stringContaining("'p' is not") });
    const declared = await inPython('r = await servers.shop.look()\nprint(r["titel"])');
    expect(declared).toMatchObject({ kind: "errors", message: expect.stringContaining("'titel'") });
  });
});
