import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { LanguagePrinter } from "../../../codegen/language-printer.ts";
import { PYTHON_PRINTER } from "../../../codegen/python/python-printer.ts";
import { TYPESCRIPT_PRINTER } from "../../../codegen/typescript/typescript-printer.ts";
import type { ModuleSource } from "../../../languages/module-source.ts";
import { openPython } from "../../../languages/python/python.ts";
import { openTypeScript } from "../../../languages/typescript/typescript.ts";
import { rowsBeside } from "../../rows.ts";

const rows = rowsBeside(import.meta.filename);
const GENERATED = join(import.meta.dirname, "../../../examples/recipes/generated");
const RECIPES = join(GENERATED, "..");
const SERVERS = ["everything", "files", "git", "memory", "sqlite", "web"];

/** The modules of the recipes. */
function recipes(printer: LanguagePrinter): ModuleSource {
  return {
    modules: () => SERVERS,
    load: async (module) =>
      SERVERS.includes(module)
        ? printer.readModule(module, readFileSync(join(GENERATED, printer.modulePath(module)), "utf8"))
        : undefined,
  };
}

describe.each([
  { language: "typescript", fileName: "program.ts", open: openTypeScript, printer: TYPESCRIPT_PRINTER },
  { language: "python", fileName: "program.py", open: openPython, printer: PYTHON_PRINTER },
])("the refusal of a program in $language", ({ language, fileName, open, printer }) => {
  const service = open();
  const source = recipes(printer);
  afterAll(() => service.close());

  it("stops none of the recipes", async () => {
    const programs = readdirSync(RECIPES).filter(
      (name) => name.endsWith(fileName.slice(-3)) && name !== "saved.ts",
    );
    expect(programs.length).toBeGreaterThan(4);
    for (const name of programs) {
      const code = readFileSync(join(RECIPES, name), "utf8");
      const check = { mode: "error", patienceMs: 60_000 } as const;
      const prepared = await service.prepare({ code, data: {}, language, fileName }, source, check);
      expect([name, prepared]).toEqual([name, expect.objectContaining({ ok: true })]);
    }
  });

  it.each(rows<[string, string, string[]]>(language))("is enough to repair %s", async (_, code, says) => {
    const check = { mode: "error", patienceMs: 60_000 } as const;
    const prepared = await service.prepare({ code, data: {}, language, fileName }, source, check);
    expect(prepared.ok ? "it was not refused" : prepared.message).toContain(says[0]);
    for (const each of says) expect(prepared).toMatchObject({ message: expect.stringContaining(each) });
  });
});
