import { expect, it } from "vitest";
import { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import { renderTokenCounts } from "../../../cli/commands/measure.ts";
import { loadPrinters } from "../../../languages/languages.ts";
import { countTokensOf } from "../../../project/measure.ts";
import { chooseDirectTools } from "../../../tools/direct-tools.ts";
import { serversOf } from "../../catalog/tool-of.ts";

const names = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    name: `tool_${i}`,
    description: "Reads an entry of the ledger by its number, with everything that was booked on it.",
  }));

async function measured(tools: number, discovery: "auto" | "search", direct: string[] = []) {
  const catalog = new ToolCatalog(serversOf({ ledger: names(tools) }));
  const configuration = { discovery, direct, servers: [], policy: { files: [], groups: {} }, managed: [] };
  const { tools: listed } = chooseDirectTools(catalog, configuration);
  const counts = await countTokensOf(catalog, await loadPrinters(["typescript"]), listed);
  return { counts, text: renderTokenCounts(counts, (_, text) => text) };
}

it("counts no search where all tools are listed directly, and does not set what comes on top against what it saves", async () => {
  const { counts, text } = await measured(10, "auto");
  expect(counts.direct).toMatchObject({ tools: 10, total: counts.upFront.total, isAll: true });
  expect(counts.session).toEqual({
    total: counts.ptc.total + counts.direct.total,
    search: 0,
    inspect: 0,
    inspected: [],
  });
  expect(text).toMatch(/^ptc with all tools beside it +\d+ {2}nothing has to be looked for$/m);
  expect(text).toContain("results that never reach the model");
  expect(text).not.toMatch(/%|search_tools|on demand/);
});

it.each([
  [300, "auto", []],
  [300, "auto", ["mcp__ledger__tool_1"]],
  [10, "search", []],
] as const)(
  "compares %i tools with a session on demand where they are looked for (%s, %j)",
  async (count, discovery, direct) => {
    const { counts, text } = await measured(count, discovery, [...direct]);
    expect(counts.direct).toMatchObject({ tools: direct.length, isAll: false });
    expect(counts.session.inspected).toHaveLength(3);
    expect(text).toMatch(/^ptc, and a session on demand +\d+ {2}[\d.]+ % of that$/m);
  },
);
