import { describe, expect, it } from "vitest";
import { describeAnswer, formatOf, sketchOf } from "../../languages/tool-answers.ts";

const WORDS = { object: "object", nothing: "null" };

describe("what a tool returned", () => {
  it.each([
    [
      "[{'country': 'DE', 'total': 3}]",
      `text that looks like Python's repr and has to be parsed: "[{'country': 'DE', 'total': 3}]"`,
    ],
    ["a,b\n1,2\n3,4", 'text that looks like CSV and has to be parsed: "a,b 1,2 3,4"'],
    ["# Title\n\nSome text", 'text that looks like Markdown and has to be parsed: "# Title Some text"'],
    [
      "| a | b |\n|---|---|\n| 1 | 2 |",
      'text that looks like Markdown and has to be parsed: "| a | b | |---|---| | 1 | 2 |"',
    ],
    ["[DIR] a\n[FILE] b", 'text: "[DIR] a [FILE] b"'],
    ["", 'text: ""'],
    [[], "an empty list"],
    [null, "null"],
    [3, "3"],
    [[{ type: "text", text: "x" }], "a list of content blocks (text)"],
    [[{ a: 1, b: 2 }], "a list, whose first item is an object with a, b"],
    [
      { rows: [{ id: 1 }], n: 2, t: "x", o: {} },
      'an object with rows (a list of objects with id), n (2), t (text "x"), o (object)',
    ],
    [{}, "an empty object"],
  ])("is named: %j", (value, said) => {
    expect(describeAnswer({ tool: "mcp__a__b", value: sketchOf(value) }, WORDS)).toBe(
      `what mcp__a__b returned is ${said}`,
    );
  });

  it("is named in bounds, on one line and without control characters, whatever it is", () => {
    const deep = (levels: number): unknown =>
      levels === 0 ? "x".repeat(9_000) : { ["k".repeat(500)]: [deep(levels - 1)] };
    for (const value of [
      deep(50),
      "\u001b[31m\n\u202e".repeat(5_000),
      Array(9_000).fill({ a: "\n".repeat(99) }),
      Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`a${i}`, i])),
    ]) {
      const said = describeAnswer({ tool: "mcp__a__b", value: sketchOf(value) }, WORDS);
      expect(said.length).toBeLessThan(1_500);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the text must have none.
      expect(said).not.toMatch(/[\u0000-\u001f\u202e]/);
    }
  });

  it.each([
    ['{"a": 1}', "JSON"],
    ['{"a": 1}\n{"a": 2}', "JSON lines"],
    ["<p>x</p>", "XML or HTML"],
    ["[(1, 'a'), (2, 'b')]", "Python's repr"],
    ["{'a': None}", "Python's repr"],
    ["a\tb\n1\t2", "tab-separated values"],
    ["Hello, world", undefined],
    ["- one\n- two", "Markdown"],
  ])("%j looks like %s", (text, format) => {
    expect(formatOf(text)).toBe(format);
  });
});
