import { expect, test } from "vitest";
import { printGlobals } from "../../../codegen/typescript/typescript-printer.ts";

test("every tool is declared by a name that code can hold and that means no other", () => {
  const names: [string, string][] = [
    ["get-sum", "getSum"],
    ["a-b", "aB_1"],
    ["a_b", "aB"],
    ["$ref", "ref"],
  ];
  const tools = names.map(([name, identifier]) => ({
    module: "m",
    identifier,
    namespacedName: `mcp__m__${name}`,
  }));
  const declared = printGlobals(tools)
    .split("\n")
    .flatMap(
      (line) =>
        line.match(/^declare const (\S+): typeof import\("\.\/servers\/m\/index\.js"\)\.(\w+);$/) ?? [],
    );
  expect(declared.filter((_, i) => i % 3 !== 0)).toEqual([
    ...["mcp__m__$ref", "ref"],
    ...["mcp__m__aB_1", "aB_1"],
    ...["mcp__m__a_b", "aB"],
    ...["mcp__m__get_sum", "getSum"],
  ]);
});
