import { describe, expect, it } from "vitest";
import { type RankingStage, searchTools } from "../../../catalog/search/tool-index.ts";
import { indexOf, tool } from "./catalog-of-tools.ts";

const search = indexOf(
  tool("a", "get_weather", { description: "Weather of a city" }),
  tool("a", "get_weather_history", { description: "Weather of the past" }),
  tool("b", "umbrella"),
);

function names(hits: { results: readonly { tool: { namespacedName: string } }[] }) {
  return hits.results.map(({ tool: { namespacedName } }) => namespacedName);
}

describe("a ranking stage", () => {
  it("is not needed", async () => {
    const options = { limit: 1 };
    expect(await searchTools(search, "weather", options)).toEqual(search.search("weather", options));
  });

  it("gets more candidates than are shown, and its order is the result's", async () => {
    const reverse: RankingStage = { rank: async (_query, { results }) => ({ hits: [...results].reverse() }) };
    const hits = await searchTools(search, "the weather", { limit: 1 }, reverse);
    expect(names(hits)).toEqual(["mcp__a__get_weather_history"]);
    expect(hits.total).toBe(2);
  });

  it("can name tools that no word of the query leads to, but none out of scope, foreign or twice", async () => {
    const stage: RankingStage = {
      rank: async (_query, { results }, tools) => ({
        hits: [
          ...tools.map((each) => ({ tool: each, score: 1 })),
          ...results,
          { tool: tool("c", "foreign"), score: 9 },
          { tool: tool("a", "get_weather"), score: 9 },
        ],
      }),
    };
    expect(names(await searchTools(search, "rain", { limit: 9 }, stage)).sort()).toEqual([
      "mcp__a__get_weather",
      "mcp__a__get_weather_history",
      "mcp__b__umbrella",
    ]);
    expect(names(await searchTools(search, "rain", { server: "b", limit: 9 }, stage))).toEqual([
      "mcp__b__umbrella",
    ]);
  });
});
