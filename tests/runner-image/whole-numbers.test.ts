import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJson, writeJson } from "../../base/json.ts";
import { withExactNumbers } from "../../broker/exact-numbers.ts";
import { missingFor, type RunnerLanguage, runInProcess } from "./runner-process.ts";

/** What tools return: whole numbers of any size, others, and texts that look like numbers. */
const VALUES: unknown[] = [
  ...[
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "18446744073709551615",
  ].map(readJson),
  ...fc.sample(fc.bigInt({ min: -(10n ** 300n), max: 10n ** 300n }), { numRuns: 60, seed: 7 }),
  ...fc
    .sample(fc.double({ noNaN: true, noDefaultInfinity: true }), { numRuns: 40, seed: 7 })
    .map((value) => value + 0),
  ...[0.1, 1e21, -1.5e300, 5e-324, 42, "42", "3.10", "é\u2028"],
].map((value) => (typeof value === "bigint" ? readJson(String(value)) : value));

const PROGRAMS: Record<RunnerLanguage, string> = {
  javascript: `
const values = await callTool("mcp__a__give", {});
for (const value of values) await callTool("mcp__a__take", { value, list: [value] });
globalThis.result = values.length;`,
  python: `
values = await call_tool("mcp__a__give", {})
for value in values:
    await call_tool("mcp__a__take", {"value": value, "list": [value]})
result = len(values)`,
};

describe.each(Object.keys(PROGRAMS) as RunnerLanguage[])("a program in %s", (language) => {
  it.skipIf(missingFor(language) !== "")(
    `passes each number that a tool gives on to a tool that takes a number${missingFor(language)}`,
    async () => {
      const taken: string[] = [];
      const { claim } = await runInProcess(language, PROGRAMS[language], {
        async answer({ tool, arguments: args }) {
          if (tool.endsWith("give")) return VALUES;
          const type = typeof VALUES[taken.length] === "string" ? "string" : "number";
          const schema = {
            type: "object",
            properties: { value: { type }, list: { type: "array", items: { type } } },
          };
          taken.push(writeJson(withExactNumbers(schema, args)));
          return null;
        },
      });
      expect(claim).toMatchObject({ ok: true, data: VALUES.length });
      expect(taken).toEqual(VALUES.map((value) => writeJson({ value, list: [value] })));
    },
  );
});
