import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { afterAll, describe, expect, it } from "vitest";
import type { ServerListing } from "../../../catalog/parse-tool.ts";
import type { ServerTools, Tool } from "../../../catalog/tool.ts";
import { buildServerModel } from "../../../catalog/tool-model.ts";
import type { LanguagePrinter } from "../../../codegen/language-printer.ts";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../../codegen/typescript/typescript-printer.ts";
import { loadPrinters } from "../../../languages/languages.ts";
import type { ModuleSource } from "../../../languages/module-source.ts";
import { createTypeChecker } from "../../../languages/typescript/typescript.ts";
import { namespacedName, serverModule } from "../../../protocol/tool-names.ts";
import { buildInstructions, chooseExamples } from "../../../server/mcp/tools/instructions.ts";
import { buildToolDefinitions } from "../../../server/mcp/tools/own-tools.ts";
import { serversOf } from "../../catalog/tool-of.ts";
import { checkPython } from "../../codegen/python/check-python.ts";
import { generateStubs } from "../../codegen/python/generate-stubs.ts";
import { toolLists, toolListsPresent, whyToolListsAreSkipped } from "../../codegen/tool-lists.ts";

/** A listing as the catalog has it. */
function serverOf(listing: ServerListing): ServerTools {
  const module = serverModule(listing.name);
  const { server } = buildServerModel(listing, module);
  const tools = server.tools.map(
    ({ definition, identifier }) =>
      ({
        ...definition,
        identifier,
        module,
        server: listing.name,
        namespacedName: namespacedName(module, definition.name),
        definitionDigest: definition.name,
      }) as Tool,
  );
  const implementation = { name: listing.name, version: "1" };
  return { name: listing.name, module, description: undefined, implementation, tools };
}

/** Each list alone, each with its neighbours, and all at once. */
const SETS = [
  ...toolLists.map((list) => [list]),
  ...toolLists.map((list, i) => [list, toolLists[(i + 7) % toolLists.length] ?? list]),
  toolLists,
].map((lists) => lists.map(serverOf));

/** The examples of all sets of servers, each text once. */
function examplesIn(printer: LanguagePrinter): string[] {
  const texts = SETS.map((servers) => {
    const instructions = buildInstructions([], [printer], chooseExamples({ servers }));
    return /for example:\n\n([\s\S]*?)\n\n/.exec(instructions)?.[1] ?? "";
  });
  return [...new Set(texts)].filter((code) => !code.includes("<server>"));
}

async function modulesIn(printer: LanguagePrinter): Promise<ModuleSource> {
  const printed = new Map(
    await Promise.all(
      toolLists.map(async (listing) => {
        const module = serverModule(listing.name);
        const { text } = await printer.printModule(buildServerModel(listing, module).server);
        return [module, printer.readModule(module, text)] as const;
      }),
    ),
  );
  return { modules: () => [...printed.keys()], load: async (module) => printed.get(module) };
}

describe.skipIf(!toolListsPresent)(`the worked example of real servers${whyToolListsAreSkipped}`, () => {
  const typescript = createTypeChecker({ checkLimitMs: 60_000 });
  afterAll(() => typescript.close());

  it("is a program in TypeScript without type errors", async () => {
    const modules = await modulesIn(PRINTER);
    const examples = examplesIn(PRINTER);
    expect(examples.length).toBeGreaterThan(25);
    const check = (code: string) =>
      typescript.check({ code, data: {}, language: "typescript", fileName: "program.ts" }, modules);
    for (const code of examples) expect({ code, ...(await check(code)) }).toMatchObject({ kind: "clean" });
    // So that what is clean is not merely unchecked.
    const wrong = examples.find((code) => code.includes("each"))?.replace(": each", "_: each") ?? "";
    expect(await check(wrong)).toMatchObject({ kind: "errors" });
  });

  it("is a program in Python without type errors", async () => {
    const [printer] = await loadPrinters(["python"]);
    const examples = examplesIn(printer);
    expect(examples.length).toBeGreaterThan(25);
    // One more, so that what is clean is not merely unchecked.
    const wrong = examples.find((code) => code.includes("each"))?.replace("=each", "_=each") ?? "";
    const programs = [...examples, wrong].map((code, i): [string, string] => {
      const body = code.replaceAll("\n", "\n    ");
      return [`example_${i}.py`, `# pyright: basic\nasync def example() -> None:\n    ${body}\n`];
    });
    const { files } = await generateStubs(toolLists);
    const found = checkPython(new Map([...files, ...programs]));
    expect(found.map(({ path }) => path)).toEqual([`example_${examples.length}.py`]);
  });

  it.each([
    [["typescript"], 1_000],
    [["python"], 1_000],
    [["typescript", "python"], 1_150],
    [["python", "typescript"], 1_150],
  ] as const)("leaves what a model always reads, with %s, under %d tokens", async (languages, most) => {
    const printers = await loadPrinters(languages);
    for (const servers of SETS) {
      const modules = servers.map(({ module }) => module);
      const instructions = buildInstructions(modules, printers, chooseExamples({ servers }));
      const definitions = JSON.stringify(buildToolDefinitions(modules, printers));
      expect(countTokens(definitions) + countTokens(instructions)).toBeLessThan(most);
      expect(instructions.length).toBeLessThanOrEqual(2_000);
    }
  });

  it("is the same however servers and tools are ordered, so that prompt caches hold", () => {
    for (const servers of SETS) {
      const turned = servers.map((server) => ({ ...server, tools: server.tools.toReversed() })).toReversed();
      expect(chooseExamples({ servers: turned })).toEqual(chooseExamples({ servers }));
    }
  });
});

describe("the worked example", () => {
  const TEXT = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
  const chosen = (tools: Parameters<typeof serversOf>[0]) => chooseExamples({ servers: serversOf(tools) });
  const names = (tools: Parameters<typeof serversOf>[0]) => chosen(tools).map(({ tool }) => tool.name);

  it("is of a tool that its server says only reads, and that needs one text", () => {
    const readOnly = { annotations: { readOnlyHint: true } };
    expect(
      names({
        files: [
          { name: "list_roots", ...readOnly },
          { name: "read_file", inputSchema: TEXT },
          { name: "read_text", inputSchema: TEXT, ...readOnly },
        ],
      }),
    ).toEqual(["read_text", "read_file", "list_roots"]);
  });

  it.each([
    ["changes something by its name", { name: "delete_and_get", inputSchema: TEXT }],
    ["is named after nothing that reads", { name: "frobnicate", inputSchema: TEXT }],
    ["is said to change something", { name: "get_it", annotations: { readOnlyHint: false } }],
    ["is said to destroy", { name: "get_it", annotations: { readOnlyHint: true, destructiveHint: true } }],
    ["is a method of the protocol", { name: "resources/list", method: "resources/list" }],
    ["needs two arguments", { name: "get_it", inputSchema: { ...TEXT, required: ["path", "more"] } }],
    [
      "needs one text of a few",
      { name: "get_it", inputSchema: { ...TEXT, properties: { path: { type: "string", enum: ["a"] } } } },
    ],
    ["asks for more beside its properties", { name: "get_it", inputSchema: { ...TEXT, anyOf: [{}] } }],
    ["has a name that costs too much", { name: `get_${"x9q".repeat(20)}`, inputSchema: TEXT }],
  ])("is of no tool that %s", (_, tool) => {
    expect(names({ files: [tool] })).toEqual([]);
  });

  it("stands for any tool where none makes one, or where names stand in each other's way", () => {
    const calls = chosen({ files: [{ name: "list", identifier: "parallel", inputSchema: TEXT }] });
    expect(calls).toHaveLength(1);
    expect(buildInstructions(["files"], [PRINTER], calls)).toContain(
      'import { someTool } from "./servers/<server>/index.js";',
    );
  });

  it("calls the tool more than once, side by side, and prints a little", () => {
    const calls = chosen({ files: [{ name: "read_file", inputSchema: TEXT }] });
    expect(buildInstructions(["files"], [PRINTER], calls)).toContain(`for example:

import { readFile } from "./servers/files/index.js";
const found = await parallel(["a", "b"].map((each) => () => readFile({ path: each })), { limit: 5 });
console.log(JSON.stringify(found).slice(0, 500));
`);
  });
});
