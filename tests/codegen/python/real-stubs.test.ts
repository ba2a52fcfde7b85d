import { describe, expect, test } from "vitest";
import { PYTHON_PRINTER } from "../../../codegen/python/python-printer.ts";
import { sandboxTable } from "../../../codegen/python/read-module.ts";
import { namespacedName, serverModule } from "../../../protocol/tool-names.ts";
import { listingOf } from "../list-tools.ts";
import { toolLists, toolListsPresent, whyToolListsAreSkipped } from "../tool-lists.ts";
import { checkPython } from "./check-python.ts";
import { generateStubs } from "./generate-stubs.ts";

describe.skipIf(!toolListsPresent)(
  `stubs for the tool lists of real servers${whyToolListsAreSkipped}`,
  () => {
    test("no tool is lost, and every function of the sandbox's table calls its tool by its exact name", async () => {
      const { modules, warnings } = await generateStubs(toolLists);
      expect(warnings).toEqual([]);
      const table = sandboxTable(modules);
      for (const { name, tools } of toolLists) {
        const module = serverModule(name);
        const listed = tools.map((tool) => namespacedName(module, (tool as { name: string }).name));
        const called = Object.values(table.modules[module] ?? {}).map(({ tool }) => tool);
        expect(called.sort()).toEqual([...new Set(listed)].sort());
      }
    });

    test("the same lists give the same bytes, in whatever order their tools come", async () => {
      const first = await generateStubs(toolLists);
      const second = await generateStubs(
        toolLists.map((listing) => ({ ...listing, tools: listing.tools.toReversed() })),
      );
      expect([...second.files]).toEqual([...first.files]);
    });
  },
);

/** What names and texts are made of here: whatever means something in Python, in a comment, or in the mark of a tool. */
const PIECES = [
  ...[
    '"',
    "'",
    '"""',
    "\\",
    "\\N{DASH}",
    "\\x41",
    "#",
    "# ptc ",
    "{",
    "}",
    "\n",
    "\r",
    "\u2028",
    "\0",
    "\u202e",
  ],
  ...["\ud800", "😀", "é", "ſ", "ª", "查", ")", " -> Any:", "\n@overload\nasync def evil(", " not available"],
  ...[
    '\n# ptc {"tool": "mcp__demo__evil"}\nasync def evil() -> Any: ...\n',
    "class",
    "__",
    "1",
    "a",
    "_",
    "A",
  ],
];

/** Texts of one to five pieces, the same in every run. */
function texts(count: number): string[] {
  let state = 7;
  const next = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const made = Array.from({ length: count }, () =>
    Array.from({ length: 1 + next(5) }, () => PIECES[next(PIECES.length)]).join(""),
  );
  return [...new Set([...PIECES, ...made])];
}

describe("stubs of a hostile server", () => {
  const tools = texts(400).map((name, i, all) => {
    const other = all[(i * 7 + 3) % all.length] ?? "";
    return {
      name,
      description: `${other}${name}${other}`,
      inputSchema: {
        type: "object",
        description: other,
        properties: {
          [other]: { enum: [name, other], description: `${name}${other}`, default: name },
          o: {
            type: "object",
            description: other,
            properties: { [name]: { type: "string", description: other } },
          },
          str: { $ref: "#/$defs/list" },
        },
        required: [other],
        $defs: {
          list: { type: "object", properties: { int: { type: "integer" }, [name]: { const: other } } },
        },
      },
      outputSchema: { type: "object", description: name, properties: { [name]: { description: other } } },
    };
  });

  test("declare each of its tools once, under a name of its own, and nothing else", async () => {
    const { modules, files } = await generateStubs([listingOf(tools)]);
    const read = modules.get("demo")?.tools ?? [];
    expect(read.map(({ namespacedName }) => namespacedName).sort()).toEqual(
      tools.map(({ name }) => `mcp__demo__${name}`).sort(),
    );
    expect(new Set(read.map(({ identifier }) => identifier)).size).toBe(tools.length);
    expect(checkPython(files)).toEqual([]);
  });

  test("say of each tool whether programs may call it, and again when they were archived", async () => {
    const { files } = await generateStubs([listingOf(tools)]);
    const text = files.get("servers/demo/__init__.pyi") ?? "";
    const all = PYTHON_PRINTER.readModule("demo", text).tools;
    const callable = new Set(all.flatMap(({ namespacedName: each }, i) => (i % 3 === 0 ? [] : [each])));
    const live = PYTHON_PRINTER.readModule("demo", text, callable);
    const facts = (module: typeof live) =>
      module.tools.map((tool) => [tool.namespacedName, tool.isAvailable, tool.parameters, tool.signature()]);
    expect(live.tools.map(({ isAvailable }) => isAvailable)).toEqual(
      all.map((tool) => callable.has(tool.namespacedName)),
    );
    expect(facts(PYTHON_PRINTER.readModule("demo", live.archived))).toEqual(facts(live));
  });
});
