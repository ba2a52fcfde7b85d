import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  matchesPattern,
  type NamedTool,
  namespacedName,
  parseNamespacedName,
  serverModule,
  ToolNames,
} from "../../protocol/tool-names.ts";
import { rowsBeside } from "../rows.ts";
import { tries } from "../tries.ts";

const rows = rowsBeside(import.meta.filename);

describe("tool names", () => {
  it.each<[string, string]>(rows("modules of servers"))(
    "make the server %s the module %s",
    (name, module) => {
      expect(serverModule(name)).toBe(module);
    },
  );

  it("split into the module and the tool that they were made of, whatever the tool is called", () => {
    const server = fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/);
    fc.assert(
      fc.property(server, fc.string({ minLength: 1 }), (name, tool) => {
        const module = serverModule(name);
        expect(parseNamespacedName(namespacedName(module, tool))).toEqual({ module, tool });
      }),
    );
  });

  it.each(["", "mcp__", "mcp__a", "mcp__a__", "mcp____b", "a__b"])("refuse %j", (name) => {
    expect(parseNamespacedName(name)).toBeUndefined();
  });
});

const toolOf = (name: string, identifier: string): NamedTool => ({
  module: "m",
  identifier,
  namespacedName: `mcp__m__${name}`,
});

function meanings(tools: NamedTool[], name: string): string[] {
  return new ToolNames(tools).resolve(name).map(({ namespacedName }) => namespacedName);
}

describe("what a program may call a tool", () => {
  it.each([
    ["get-sum", "mcp__m__get_sum"],
    ["get-sum", "mcp__m__getSum"],
    ["get-sum", "mcp__m__get-sum"],
    ["a.b/c d", "mcp__m__a_b_c_d"],
    ["número", "mcp__m__n_mero"],
  ])("finds %s by %s", (name, called) => {
    expect(meanings([toolOf("other", "other"), toolOf(name, "getSum")], called)).toEqual([`mcp__m__${name}`]);
  });

  it("is first of all its exact name", () => {
    const tools = [toolOf("a-b", "aB_1"), toolOf("a_b", "aB"), toolOf("aB", "aB_2")];
    expect(meanings(tools, "mcp__m__a_b")).toEqual(["mcp__m__a_b"]);
    expect(meanings(tools, "mcp__m__aB")).toEqual(["mcp__m__aB"]);
  });

  it("may be several, or none", () => {
    const tools = [toolOf("a-b", "aB_1"), toolOf("a.b", "aB_2")];
    expect(meanings(tools, "mcp__m__a_b")).toEqual(["mcp__m__a-b", "mcp__m__a.b"]);
    expect(meanings(tools, "mcp__m__ab")).toEqual([]);
    expect(meanings(tools, "mcp__other__a_b")).toEqual([]);
  });

  it.each([
    ["as it is", [toolOf("a_b", "aB")], "mcp__m__a_b"],
    ["with _ for other characters", [toolOf("a-b", "aB")], "mcp__m__a_b"],
    ["by its function where that is another's", [toolOf("a-b", "aB_1"), toolOf("a_b", "aB")], "mcp__m__aB_1"],
    [
      "as the module's function where all else is another's",
      [toolOf("a-b", "aB"), toolOf("a_b", "aB_1"), toolOf("aB", "aB_2")],
      "m.aB",
    ],
  ])("is written %s", (_, tools, expected) => {
    expect(new ToolNames(tools).callable(tools[0] as NamedTool)).toBe(expected);
  });
});

describe("a tool pattern", () => {
  it.each<[string, string, boolean]>(rows("patterns"))("%s against %s: %s", (pattern, name, expected) => {
    expect(matchesPattern(pattern, name)).toBe(expected);
  });

  it("says what a regular expression would", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 8 });
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 });
    fc.assert(
      fc.property(pattern, word, (glob, name) => {
        const expected = new RegExp(`^${glob.replaceAll("*", ".*")}$`).test(name);
        expect(matchesPattern(glob, name)).toBe(expected);
      }),
      { numRuns: tries(500) },
    );
  });

  it("does not backtrack", () => {
    expect(matchesPattern(`${"*a".repeat(250)}*b`, "a".repeat(100_000))).toBe(false);
  });
});
