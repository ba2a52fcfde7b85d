import { describe, expect, it } from "vitest";
import { readModule } from "../../../codegen/typescript/read-module.ts";
import { namespacedName } from "../../../protocol/tool-names.ts";
import { generateModule } from "../list-tools.ts";

/** What names are made of here: whatever means something in code, in a comment, in a page or in the mark itself. */
const PIECES = [
  ...['"', "'", "`", "\\", "\\u0041", "\\n", "//", "/*", "*/", "</script", "<!--", "${x}", "$&", "$1"],
  ...["\n", "\r", "\u2028", "\u2029", "\0", "\u202e", "\ud800", "😀", "é", "<", ">", ",", "(", ");"],
  ...[
    " // not available",
    '");',
    '"); // not available\nexport const evil = tool<any, any>("mcp__x__y',
    "a",
    "_",
  ],
];

/** Names of one to six pieces, the same in every run. */
function names(count: number): string[] {
  let state = 1;
  const next = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const made = Array.from({ length: count }, () =>
    Array.from({ length: 1 + next(6) }, () => PIECES[next(PIECES.length)]).join(""),
  );
  return [...new Set([...PIECES, ...made])];
}

async function printed(toolNames: readonly string[]) {
  const description = '*/\nexport const evil = tool<any, any>("mcp__demo__evil");\n/*';
  const tools = toolNames.map((name) => ({ name, description, inputSchema: { type: "object" } }));
  return generateModule(tools);
}

describe("a module that is read back", () => {
  it("has the tools that were printed, whatever they are called", async () => {
    const { text, server } = await printed(names(1_000));
    expect(server.tools.length).toBeGreaterThan(800);
    const read = readModule("demo", text);
    expect(read.tools.map((tool) => [tool.identifier, tool.namespacedName])).toEqual(
      server.tools.map((tool) => [tool.identifier, tool.namespacedName]),
    );
    expect(read.archived).toBe(text);
  });

  it("says of each tool whether programs may call it, and again when it was archived", async () => {
    const { text, server } = await printed(names(300));
    const all = server.tools.map((tool) => tool.namespacedName);
    const callable = new Set(all.filter((_, i) => i % 3 !== 0));
    const live = readModule("demo", text, callable);
    const facts = ({ tools }: typeof live) =>
      tools.map((tool) => [tool.namespacedName, tool.isAvailable, tool.signature()]);
    expect(live.text).toBe(text);
    expect(live.tools.map(({ isAvailable }) => isAvailable)).toEqual(all.map((name) => callable.has(name)));
    const archived = readModule("demo", live.archived);
    expect(facts(archived)).toEqual(facts(live));
    expect(archived.archived).toBe(live.archived);
  });

  it("is archived with a mark at the end of a line, and nothing else that is new", async () => {
    const { text } = await printed(["read", "drop"]);
    const { archived } = readModule("demo", text, new Set([namespacedName("demo", "read")]));
    const line = 'export const drop = tool<DropInput, any>("mcp__demo__drop");';
    expect(text).toContain(`${line}\n`);
    expect(archived).toBe(text.replace(line, `${line} // not available`));
  });

  it("shows in a signature all alternatives of a type, and no comment", async () => {
    const of = (name: string) => ({
      ...{ type: "object", properties: { [name]: { type: "string", description: `The ${name}.` } } },
      required: [name],
    });
    const one = { name: "one", inputSchema: of("a"), outputSchema: { anyOf: [of("b"), of("c")] } };
    const { text } = await generateModule([one]);
    const [tool] = readModule("demo", text).tools;
    expect(tool?.signature()).toBe("one({ a: string }): Promise<{ b: string } | { c: string }>");
  });

  it("has each declaration where its place says", async () => {
    const { text } = await printed(['a"b', "c"]);
    const { tools } = readModule("demo", text, new Set());
    for (const { identifier, start, end } of tools)
      expect(text.slice(start, end)).toMatch(new RegExp(`^export const ${identifier} = tool<.*\\);$`));
  });

  it.each([
    ["no JSON", 'export const a = tool<A, any>("mcp__x__\\q");'],
    ["no tool's name", 'export const a = tool<A, any>("a");'],
    ["no constant", 'const a = tool<A, any>("mcp__x__a");'],
    ["not alone on its line", 'export const a = tool<A, any>("mcp__x__a"); evil();'],
    ["in a comment", ' * export const a = tool<A, any>("mcp__x__a");'],
  ])("has no tool where a text holds what was not printed: %s", (_, text) => {
    expect(readModule("x", text)).toMatchObject({ tools: [], text, archived: text });
  });

  it("is read in time, whatever archive it comes from", () => {
    const lines = [
      `export const a = tool<${"A".repeat(500_000)}`,
      `export const a = tool<A, B>("${"\\".repeat(500_000)}`,
      `export const ${"a".repeat(500_000)}`,
      "export const a = tool<A, ".repeat(50_000),
    ];
    const startedAt = performance.now();
    for (const line of lines) expect(readModule("x", line).tools).toEqual([]);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});
