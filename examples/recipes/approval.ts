/** Approval: old entries of a knowledge graph are removed, which a person has to allow; a refusal is no failure. */
import * as memory from "./servers/memory/index.js";

await memory.createEntities({
  entities: ["2024", "2025", "2026"].map((year) => ({
    name: `fair ${year}`,
    entityType: "fair",
    observations: [`held in ${year}`],
  })),
});
const { entities } = await memory.searchNodes({ query: "fair" });
const old = entities.map(({ name }) => name).filter((name) => name < "fair 2026");

try {
  await memory.deleteEntities({ entityNames: old });
  globalThis.result = { removed: old };
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  globalThis.result = { kept: old, why: error.message };
}
