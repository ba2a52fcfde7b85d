import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { buildServerModel } from "../../../catalog/tool-model.ts";
import { PYTHON_GENERATOR, PYTHON_PRINTER } from "../../../codegen/python/python-printer.ts";
import { printPythonSignature } from "../../../codegen/python/signature.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";
import { serverModule } from "../../../protocol/tool-names.ts";
import { listingOf } from "../list-tools.ts";
import { checkPython } from "./check-python.ts";

const folder = resolve(import.meta.dirname, "../../golden");
const cases = readdirSync(folder).filter((name) => existsSync(join(folder, name, "tools.json")));
const isUpdate = process.env.PTC_UPDATE_GOLDEN === "1";

async function generate(name: string) {
  const { server, tools } = JSON.parse(readFileSync(join(folder, name, "tools.json"), "utf8"));
  const built = buildServerModel(listingOf(tools, server), serverModule(server));
  const printed = await PYTHON_PRINTER.printModule(built.server);
  return { ...printed, server: built.server };
}

async function compareGolden(name: string, file: string, text: string): Promise<void> {
  const golden = join(folder, name, file);
  if (isUpdate) writeFileSync(golden, text);
  expect(text).toBe(readFileSync(golden, "utf8"));
}

/** What is shared by all modules, for tools of a kind each. */
function sharedStubs(): ReadonlyMap<string, string> {
  return PYTHON_PRINTER.printShared([
    { module: "notes", identifier: "add_note", namespacedName: "mcp__notes__add-note" },
    { module: "1st", identifier: "list_", namespacedName: "mcp__1st__list" },
  ]);
}

describe("golden stubs", () => {
  test("change together with the number of the generator, so that stubs on disk are written anew", async () => {
    const texts: unknown[] = [[...sharedStubs()]];
    for (const name of cases) texts.push((await generate(name)).text);
    const path = join(folder, "python-generator.json");
    const current = { generator: PYTHON_GENERATOR, sha256: digestOf(texts) };
    const reviewed = JSON.parse(readFileSync(path, "utf8"));
    if (isUpdate && reviewed.generator !== PYTHON_GENERATOR) {
      writeFileSync(path, `${JSON.stringify(current, null, 2)}\n`);
    } else {
      expect(current, "raise PYTHON_GENERATOR, and run again with PTC_UPDATE_GOLDEN=1").toEqual(reviewed);
    }
  });

  test.each(cases)("%s is generated exactly as it was reviewed", async (name) => {
    const { text, warnings } = await generate(name);
    await compareGolden(name, "index.pyi", text);
    expect(warnings).toEqual([]);
  });

  test.each(cases)("the signatures of %s are as they were reviewed", async (name) => {
    const { server } = await generate(name);
    const texts = server.tools.flatMap((tool) => [
      printPythonSignature(tool, "full"),
      printPythonSignature(tool, "compact"),
    ]);
    await compareGolden(name, "python-signatures.txt", `${texts.join("\n\n")}\n`);
  });

  test("all of them pass the strictest settings of pyright", async () => {
    const files = new Map(PYTHON_PRINTER.printShared([]));
    files.delete("__builtins__.pyi");
    for (const name of cases) {
      const module = name.replaceAll("-", "_");
      files.set(`servers/${module}/__init__.pyi`, readFileSync(join(folder, name, "index.pyi"), "utf8"));
    }
    expect(checkPython(files)).toEqual([]);
  });
});
