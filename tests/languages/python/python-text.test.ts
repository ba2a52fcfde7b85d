import { describe, expect, it } from "vitest";
import { blankTexts } from "../../../languages/python/python-text.ts";

const words = (source: string) => blankTexts(source).code.match(/[A-Za-z_]\w*/g) ?? [];

describe("a program without its texts", () => {
  it.each([
    ["a comment", "x = 1 # await y\nz", ["x", "z"]],
    ["a string", "x = 'await y' + z", ["x", "z"]],
    ["quotes in quotes", `x = "it's await" + 'say "await"' + z`, ["x", "z"]],
    ["an escaped quote", "x = 'a\\' await' + z", ["x", "z"]],
    ["a raw string that ends in a backslash and a quote", "x = r'a\\' await' + z", ["x", "r", "z"]],
    ["a docstring", '"""\nawait x\n"""\nz', ["z"]],
    ["a hash in a string", "x = '#' + z # await", ["x", "z"]],
    ["a quote in a comment", "# don't\nx = 'await'", ["x"]],
    ["a string that goes on in the next line", "x = 'a \\\nawait' + z", ["x", "z"]],
    ["bytes", "x = b'await'", ["x", "b"]],
    ["an f-string's text", "x = f'await {y} await'", ["x", "f", "y"]],
    ["what an f-string awaits", "x = f'{await y(a=1)}'", ["x", "f", "await", "y", "a"]],
    ["a doubled brace", "x = f'{{await}} {z}'", ["x", "f", "z"]],
    ["a string in an f-string", `x = f"{d['await']} {z}"`, ["x", "f", "d", "z"]],
    ["an f-string in an f-string", `x = f"{f'{await y}'}"`, ["x", "f", "f", "await", "y"]],
    ["a long f-string", 'x = f"""\n{\n  await y\n}\n"""', ["x", "f", "await", "y"]],
    ["a format", "x = f'{y:>{width}}'", ["x", "f", "y", "width"]],
    ["capital prefixes", "x = RB'await' + Fr'{z}'", ["x", "RB", "Fr", "z"]],
  ])("has nothing of %s but its code", (_, source, expected) => {
    const { code } = blankTexts(source);
    expect(words(source)).toEqual(expected);
    expect(code.length).toBe(source.length);
    expect(code.split("\n").map((line) => line.length)).toEqual(
      source.split("\n").map((line) => line.length),
    );
  });

  it.each([
    ["x = (1, [2, {3: 4}])", true],
    ["x = 'a'", true],
    ["x = ')'", true],
    ["x = (1", false],
    ["x = 1)", false],
    ["x = (1]", false],
    ["x = 'a", false],
    ["x = '''a'", false],
  ])("is closed or not: %s", (source, isClosed) => {
    expect(blankTexts(source).isClosed).toBe(isClosed);
  });

  it.each([
    ["quotes", "'".repeat(1_000_001)],
    ["braces in an f-string", `f"${"{".repeat(1_000_000)}"`],
    ["open brackets", "(".repeat(1_000_000)],
    ["nested f-strings", `${'f"{'.repeat(200_000)}${'}"'.repeat(200_000)}`],
    ["backslashes", `'${"\\".repeat(1_000_000)}`],
  ])("is found in time for a million %s", (_, source) => {
    expect(blankTexts(source).code.length).toBe(source.length);
  });
});
