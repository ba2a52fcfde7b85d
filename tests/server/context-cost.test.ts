import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { ToolDirectory } from "../../catalog/tool-directory.ts";
import { buildInstructions } from "../../server/instructions.ts";
import { buildToolDefinitions } from "../../server/tool-definitions.ts";
import { catalogOf } from "./served.ts";

function directoryOf(count: number, name = (i: number) => `company-service-${i}`) {
  const tool = { name: "list_things", description: "Lists things." };
  return new ToolDirectory(
    catalogOf(Object.fromEntries(Array.from({ length: count }, (_, i) => [name(i), [tool]]))),
  );
}

describe("what a model always has in its context", () => {
  it.each([0, 1, 100, 2_000])("is under 1,000 tokens with %d servers", (count) => {
    const { servers } = directoryOf(count);
    const definitions = buildToolDefinitions(servers.map(({ module }) => module));
    const instructions = buildInstructions(servers);
    expect(definitions.map(({ name }) => name)).toEqual([
      "execute_program",
      "search_tools",
      "inspect_tool",
      "list_callable_tools",
    ]);
    expect(countTokens(JSON.stringify(definitions)) + countTokens(instructions)).toBeLessThan(1_000);
    expect(instructions.length).toBeLessThanOrEqual(2_000);
  });

  it("is bounded for the longest names too", () => {
    const { servers } = directoryOf(100, (i) => `${i}-${"x".repeat(60)}`);
    expect(buildInstructions(servers).length).toBeLessThanOrEqual(2_000);
  });

  it("names the servers, and says how many more there are", () => {
    expect(buildInstructions(directoryOf(2).servers)).toContain(
      "Servers (tools): company_service_0 (1), company_service_1 (1)",
    );
    expect(buildInstructions(directoryOf(100).servers)).toMatch(/company_service_9 \(1\), .*and \d\d more$/);
  });
});
