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
import { generateStubs } from "./generate-stubs.ts";

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

describe("a module in Python", () => {
  const generated = async (tools: unknown[]) => {
    const { files, modules } = await generateStubs([listingOf(tools)]);
    const [module] = modules.values();
    const signatures = module?.tools.map((tool) => tool.signature()) ?? [];
    return { text: files.get(PYTHON_PRINTER.modulePath("demo")) ?? "", signatures };
  };
  const signatureOf = async (tool: object) => (await generated([{ name: "t", ...tool }])).signatures[0];
  const texts = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`property_${i}`, { type: "string" }]));
  const FILE = {
    type: "object",
    properties: {
      name: { type: "string" },
      "content-type": { type: "string" },
      parent: { $ref: "#/$defs/File" },
    },
    required: ["name"],
  };

  test.each<[string, object, string]>([
    ["of nothing that is declared", {}, "t(arguments: Mapping[str, Any] = ..., /, **others: Any) -> Any"],
    [
      "with what may be left out, and dicts in their places",
      {
        inputSchema: {
          type: "object",
          properties: {
            query: { type: "string" },
            kind: { enum: ["a", "b"] },
            within: {
              type: "object",
              description: "Where:\n    path: not a member",
              properties: { path: { type: "string", description: "A path" }, depth: { type: "integer" } },
              required: ["path"],
            },
            "odd-name": { type: "boolean" },
          },
          required: ["query"],
        },
      },
      't(*, query: str, kind?: Literal["a", "b"], within?: {path: str, depth?: int}, odd_name?: bool) -> Any',
    ],
    [
      "down to the third level, with names that no member can have",
      {
        outputSchema: {
          type: "object",
          properties: { files: { type: "array", items: { $ref: "#/$defs/File" } } },
          required: ["files"],
          $defs: { File: FILE },
        },
      },
      't(arguments: Mapping[str, Any] = ..., /, **others: Any) -> {files: list[{"name": str, "content-type"?: str, "parent"?: {"name": str, "content-type"?: str, "parent"?: TFile}}]}',
    ],
    [
      "with names of types that are no dicts",
      {
        outputSchema: {
          type: "object",
          additionalProperties: { $ref: "#/$defs/Tag" },
          $defs: { Tag: { enum: ["File", "y"] } },
        },
      },
      't(arguments: Mapping[str, Any] = ..., /, **others: Any) -> dict[str, Literal["File", "y"]]',
    ],
    [
      "with the narrower of two kinds of numbers, and nothing where no value is of both kinds",
      {
        inputSchema: {
          type: "object",
          properties: {
            a: { allOf: [{ type: "integer" }, { type: "number" }] },
            b: { allOf: [{ type: "number" }, { type: "integer" }] },
            c: { allOf: [{ type: "number" }, { type: "number" }] },
            d: { allOf: [{ type: "number" }, { type: "boolean" }] },
          },
          required: ["a", "b", "c", "d"],
        },
      },
      "t(*, a: int, b: int, c: float, d: Never) -> Any",
    ],
    [
      "in each of its forms",
      {
        inputSchema: {
          type: "object",
          anyOf: [
            { properties: { a: { type: "string" } }, required: ["a"] },
            { properties: { b: { type: "integer" } }, required: ["b"] },
          ],
        },
      },
      "t(*, a: str) or t(*, b: int) -> Any",
    ],
    [
      "without a result that is too long",
      { outputSchema: { type: "object", properties: texts(60) } },
      "t(arguments: Mapping[str, Any] = ..., /, **others: Any) -> ...",
    ],
  ])("has a signature %s", async (_name, tool, signature) => {
    expect(await signatureOf(tool)).toBe(signature);
  });

  test("has signatures of 600 characters at most, and says that one is cut", async () => {
    const call = (await signatureOf({ inputSchema: { type: "object", properties: texts(60) } })) ?? "";
    expect(call).toMatch(/^t\(\*, property_0\?: str, .*\.\.\.$/);
    expect(call).toHaveLength(603);
    // To the last character: two choices are as long as they have to be.
    const chosen = (chars: number) => {
      const choices = [400, chars - 400].map((count, i) => String(i).repeat(count));
      const inputSchema = { type: "object", properties: { a: { enum: choices } }, required: ["a"] };
      return signatureOf({ name: "t", inputSchema });
    };
    const around = 't(*, a: Literal["", ""]) -> Any'.length;
    expect(await chosen(600 - around)).toHaveLength(600);
    expect(await chosen(601 - around)).toMatch(/"\]\) -> \.\.\.$/);
  });

  test("imports what it needs, whatever its texts say", async () => {
    const imports = async (tools: unknown[]) => (await generated(tools)).text.match(/^from (?!servers).*$/gm);
    expect(await imports([])).toBeNull();
    const description = 'Mapping, Sequence, Literal, Never and "overload" or TypedDict # NotRequired';
    const inputSchema = { type: "object", properties: { Never: { type: "string", description } } };
    expect(await imports([{ name: "a", description, inputSchema }])).toEqual([
      "from typing import Any, Never, NotRequired, TypedDict, overload",
    ]);
    expect(await imports([{ name: "b" }])).toEqual([
      "from collections.abc import Mapping",
      "from typing import Any",
    ]);
  });
});
