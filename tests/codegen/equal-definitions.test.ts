import { describe, expect, test } from "vitest";
import { groupEqualDefinitions } from "../../catalog/model/equal-definitions.ts";
import { normalizeSchema } from "../../catalog/model/normalize-schema.ts";
import { buildServerModel } from "../../catalog/tool-model.ts";
import { printPythonModule } from "../../codegen/python/print-python.ts";
import { PYTHON_PRINTER } from "../../codegen/python/python-printer.ts";
import { sandboxTable } from "../../codegen/python/read-module.ts";
import { printPythonSignature } from "../../codegen/python/signature.ts";
import { RUNTIME_DECLARATIONS } from "../../codegen/typescript/declarations.ts";
import { printServerModule } from "../../codegen/typescript/print-typescript.ts";
import { printToolSignature } from "../../codegen/typescript/signature.ts";
import { TYPESCRIPT_PRINTER } from "../../codegen/typescript/typescript-printer.ts";
import { compileGenerated } from "./compile-generated.ts";
import { listingOf } from "./list-tools.ts";
import { checkPython } from "./python/check-python.ts";

/** A tool that takes and returns values of definitions, each as `of_<definition>`. */
function toolOf(name: string, input: object, output?: object) {
  const side = ($defs: object) => ({
    type: "object",
    properties: Object.fromEntries(
      Object.keys($defs).map((each) => [`of_${each}`, { $ref: `#/$defs/${each}` }]),
    ),
    required: Object.keys($defs).map((each) => `of_${each}`),
    $defs,
  });
  return { name, inputSchema: side(input), ...(output && { outputSchema: side(output) }) };
}

const STATUS = { enum: ["open", "closed"] };
const PAGE = { type: "object", properties: { from: { type: "integer", default: 0 } } };
const FILTER = {
  type: "object",
  description: "What is wanted",
  properties: {
    status: { $ref: "#/$defs/Status", description: "How it stands" },
    page: { $ref: "#/$defs/Page" },
    by: { type: "object", properties: { "user-id": { type: "integer" } } },
  },
};
const TREE = { type: "object", properties: { under: { type: "array", items: { $ref: "#/$defs/Tree" } } } };
const SEARCH = { Filter: FILTER, Page: PAGE, Status: STATUS };
const tools = [
  toolOf("list_pages", SEARCH, { Status: STATUS }),
  toolOf("get_page", SEARCH),
  toolOf("get_tree", { Tree: TREE }),
  toolOf("list_trees", { Tree: TREE }),
];

async function printed(listed: unknown[]) {
  const { server } = buildServerModel(listingOf(listed), "demo");
  const typescript = (await printServerModule(server)).text;
  return { server, typescript, python: printPythonModule(server).text };
}

/** The aliases in a module: `name = name of the first`. */
function aliasesIn(text: string): string[] {
  return [...text.matchAll(/^(?:export )?(?:type )?(\w+ = [A-Z]\w+);?$/gm)].map(([, alias = ""]) => alias);
}

const declared = (text: string) =>
  [...text.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => name);

describe("equal definitions of a server's tools", () => {
  test("are printed once in each language, and their other names stay", async () => {
    const { typescript, python } = await printed(tools);
    const expected = [
      "ListPagesFilter = GetPageFilter",
      "ListPagesStatus = GetPageStatus",
      "ListPagesPage = GetPagePage",
      "ListPagesOutputStatus = GetPageStatus",
      "ListTreesTree = GetTreeTree",
    ];
    const named = (aliases: string[]) =>
      aliases.map((each) => each.replace(/Status_\w+/, "OutputStatus")).sort();
    expect(named(aliasesIn(typescript))).toEqual(expected.toSorted());
    expect(named(aliasesIn(python))).toEqual([...expected, "ListPagesFilterBy = GetPageFilterBy"].sort());
    expect(typescript.match(/What is wanted/g)).toHaveLength(1);
    expect(python.match(/What is wanted/g)).toHaveLength(1);
    expect(python).toContain("\ntype ListPagesStatus = GetPageStatus\n");
    expect(python).toContain("\nListPagesFilter = GetPageFilter\n");
  });

  test("keep every name that the modules of their tools have alone, whatever the order of the tools", async () => {
    const { typescript, python } = await printed(tools);
    expect(await printed(tools.toReversed())).toMatchObject({ typescript, python });
    const { types } = sandboxTable([["demo", PYTHON_PRINTER.readModule("demo", python)]]);
    for (const tool of tools) {
      const alone = await printed([tool]);
      expect(declared(typescript)).toEqual(expect.arrayContaining(declared(alone.typescript)));
      const own = sandboxTable([["demo", PYTHON_PRINTER.readModule("demo", alone.python)]]);
      expect(types.demo).toEqual(expect.arrayContaining(own.types.demo ?? []));
    }
  });

  test("are the same type for programs by all of their names, under the strictest settings of TypeScript and pyright", async () => {
    const { typescript, python } = await printed(tools);
    const program = `import { getPage, type GetPageFilter, type ListPagesFilter, listTrees, type GetTreeTree } from "./servers/demo/index.js";
export const filter: ListPagesFilter = { status: "open", by: { "user-id": 1 } };
export const same: GetPageFilter = filter;
export const tree: GetTreeTree = { under: [{ under: [] }] };
export const calls = [getPage({ of_Filter: filter, of_Page: {}, of_Status: "closed" }), listTrees({ of_Tree: tree })];
`;
    const compile = (text: string) =>
      compileGenerated(
        new Map([
          ["runtime.d.ts", RUNTIME_DECLARATIONS],
          ["servers/demo/index.ts", typescript],
          ["program.ts", text],
        ]),
      );
    expect(compile(program)).toEqual([]);
    expect(compile(program.replace('"open"', '"shut"')).join()).toContain("shut");
    const uses = `from servers.demo import GetPageFilter, ListPagesFilter, ListPagesFilterBy, ListPagesStatus, get_page
status: ListPagesStatus = "open"
by: ListPagesFilterBy = {"user-id": 1}
made = ListPagesFilter(status=status, by=by)
same: GetPageFilter = made
class Wider(ListPagesFilter):
    more: int
async def call() -> None:
    await get_page(of_Filter=made, of_Page={}, of_Status=status)
`;
    const check = (text: string) =>
      checkPython(
        new Map([
          ["servers/__init__.pyi", ""],
          ["servers/demo/__init__.pyi", python],
          ["program.py", text],
        ]),
      ).map(({ message }) => message);
    expect(check(uses)).toEqual([]);
    expect(check(uses.replace('"open"', '"shut"')).join()).toContain("shut");
  });

  test("leave signatures as they are for a tool alone: those that models are shown, and those in messages", async () => {
    const all = await printed(tools);
    for (const tool of tools) {
      const alone = await printed([tool]);
      const shown = async ({ server }: typeof alone) => {
        const found = server.tools.find(({ definition }) => definition.name === tool.name);
        if (found === undefined) throw new Error(`no tool ${tool.name}`);
        return [await printToolSignature(found), printPythonSignature(found, "full")];
      };
      expect(await shown(all)).toEqual(await shown(alone));
      for (const [printer, text, own] of [
        [TYPESCRIPT_PRINTER, all.typescript, alone.typescript],
        [PYTHON_PRINTER, all.python, alone.python],
      ] as const) {
        const [only] = printer.readModule("demo", own).tools;
        const here = printer.readModule("demo", text).tools;
        const found = here.find(({ namespacedName }) => namespacedName === only?.namespacedName);
        // Where a type within itself is cut, its name stands, which is that of the first here.
        const expected = only?.signature().replace(/\[ListTreesTree\](?=\}\]\}\]\}\))/, "[GetTreeTree]");
        expect(found?.signature()).toBe(expected);
      }
    }
    const Node = { type: "object", properties: { child: { $ref: "#/$defs/Node" }, n: { type: "integer" } } };
    const results = ["one", "two"].map((name) => ({
      name,
      outputSchema: { $ref: "#/$defs/Node", $defs: { Node } },
    }));
    const { typescript } = await printed(results);
    expect(aliasesIn(typescript)).toEqual(["TwoOutput = OneOutput"]);
    const [, two] = TYPESCRIPT_PRINTER.readModule("demo", typescript).tools;
    expect(two?.signature()).toContain("Promise<{ child?: OneOutput; n?: number }>");
  });

  test("are told apart by what they refer to, however far away", async () => {
    const chain = (end: object) => ({
      A: { type: "object", properties: { b: { $ref: "#/$defs/B" } } },
      B: { type: "object", properties: { c: { $ref: "#/$defs/C" }, a: { $ref: "#/$defs/A" } } },
      C: { type: "object", properties: { end } },
    });
    const texts = { type: "string" };
    const differ = await printed([toolOf("one", chain(texts)), toolOf("two", chain({ type: "number" }))]);
    expect([...aliasesIn(differ.typescript), ...aliasesIn(differ.python)]).toEqual([]);
    const same = await printed([toolOf("one", chain(texts)), toolOf("two", chain(texts))]);
    const expected = ["TwoA = OneA", "TwoB = OneB", "TwoC = OneC"];
    expect(aliasesIn(same.typescript).sort()).toEqual(expected);
    expect(aliasesIn(same.python).sort()).toEqual(expected);
    const renamed = { ...texts, description: "The last" };
    const documented = await printed([toolOf("one", chain(texts)), toolOf("two", chain(renamed))]);
    expect([...aliasesIn(documented.typescript), ...aliasesIn(documented.python)]).toEqual([]);
  });

  test("are not one type for arguments and results where a language prints these differently", async () => {
    const definitions = {
      Anything: { type: "object", properties: { any: {} } },
      Both: { type: "object", properties: { text: { type: "string" } } },
      List: { type: "object", properties: { items: { type: "array", items: { type: "integer" } } } },
      Odd: { type: "object", properties: { toString: { type: "string" } } },
    };
    const { typescript, python } = await printed([toolOf("one", definitions, definitions)]);
    const named = (text: string) =>
      aliasesIn(text)
        .map((each) => each.split(" = ")[1])
        .sort();
    expect(named(typescript)).toEqual(["OneBoth", "OneList"]);
    expect(named(python)).toEqual(["OneAnything", "OneBoth", "OneOdd"]);
  });

  test("stay apart as the arguments of tools, so that a program's mistake names its tool", async () => {
    const Node = { type: "object", properties: { child: { $ref: "#/$defs/Node" } } };
    const inputSchema = { $ref: "#/$defs/Node", $defs: { Node } };
    const { typescript } = await printed([
      { name: "one", inputSchema },
      { name: "two", inputSchema },
      toolOf("three", { Node }),
      toolOf("two_more", { Node }),
    ]);
    expect(typescript).toContain("export interface OneInput {");
    expect(typescript).toContain("export interface TwoInput {");
    expect(aliasesIn(typescript)).toEqual(["TwoMoreNode = ThreeNode"]);
  });

  test("are compared dict by dict where one extends another, in Python", async () => {
    const Base = {
      type: "object",
      properties: { where: { type: "object", properties: { city: { type: "string" } } } },
    };
    const More = {
      allOf: [{ $ref: "#/$defs/Base" }, { type: "object", properties: { n: { type: "integer" } } }],
    };
    const { python } = await printed([
      toolOf("one", { Base, More }),
      toolOf("two", { More, Base }),
      toolOf("three", { Base, More }),
    ]);
    const files = new Map([
      ["servers/__init__.pyi", ""],
      ["servers/demo/__init__.pyi", python],
    ]);
    expect(checkPython(files)).toEqual([]);
    expect(aliasesIn(python)).toEqual(expect.arrayContaining(["ThreeBase = OneBase", "ThreeMore = OneMore"]));
  });

  test("stay as they are where telling them apart takes more steps than are taken", () => {
    const chain = Object.fromEntries(
      Array.from({ length: 140 }, (_, i) => [
        `D${i}`,
        {
          type: "object",
          properties: { next: { $ref: `#/$defs/D${(i + 1) % 140}` }, ...(i === 0 ? { last: {} } : {}) },
        },
      ]),
    );
    const model = () => normalizeSchema({ $ref: "#/$defs/D0", $defs: chain }, () => {});
    const sides = (count: number) => Array.from({ length: count }, () => ({ model: model(), isInput: true }));
    const few = sides(2);
    const groups = groupEqualDefinitions(few, () => false);
    expect(new Set(groups.values()).size).toBe(140);
    expect(groups.size).toBe(280);
    expect(groupEqualDefinitions(sides(60), () => false).size).toBe(0);
  });
});
