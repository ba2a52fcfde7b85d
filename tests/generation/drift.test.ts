import { describe, expect, test } from "vitest";
import type { Catalog } from "../../catalog/store/stored-catalog.ts";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../codegen/typescript/typescript-printer.ts";
import { compareCatalogs } from "../../generation/generate.ts";
import { planGeneration } from "../../generation/generate-plan.ts";
import { renderDrift } from "../../project/generate.ts";
import { listingOf } from "../codegen/list-tools.ts";

async function catalogOf(servers: Record<string, unknown[]>): Promise<Catalog> {
  const listings = Object.entries(servers).map(([name, tools]) => listingOf(tools, name));
  return (await planGeneration({ listings })).catalog;
}

const search = (properties: object, more: object = {}) => ({
  name: "search",
  inputSchema: { type: "object", properties },
  ...more,
});

describe("drift", () => {
  test("nothing is said when nothing changed", async () => {
    const before = await catalogOf({ a: [search({ q: { type: "string" }, n: { type: "integer" } })] });
    const after = await catalogOf({ a: [search({ n: { type: "integer" }, q: { type: "string" } })] });
    const drift = await compareCatalogs(before, after, PRINTER);
    expect(drift).toEqual([]);
    expect(renderDrift(drift)).toBe("");
  });

  test("tools added, removed and changed are listed by server, with the changed lines of the signature", async () => {
    const before = await catalogOf({
      a: [search({ q: { type: "string" } }), { name: "old" }],
      gone: [{ name: "x" }],
    });
    const after = await catalogOf({
      a: [search({ q: { type: "number" } }), { name: "new" }],
      fresh: [{ name: "y" }],
    });
    expect(renderDrift(await compareCatalogs(before, after, PRINTER))).toBe(
      [
        "a",
        "  + new",
        "  - old",
        "  ~ search",
        "        search({",
        "      -  q?:string",
        "      +  q?:number",
        "        })",
        "fresh (added)",
        "  + y",
        "gone (removed)",
        "  - x",
        "",
      ].join("\n"),
    );
  });

  test("a change that no signature shows is shown in the definition", async () => {
    const before = await catalogOf({ a: [search({}, { annotations: { readOnlyHint: true } })] });
    const after = await catalogOf({ a: [search({}, { annotations: { readOnlyHint: false } })] });
    const [drift] = await compareCatalogs(before, after, PRINTER);
    expect(drift?.changed[0]?.diff).toContain('-     "readOnlyHint": true');
    expect(drift?.changed[0]?.diff).toContain('+     "readOnlyHint": false');
  });

  test("without an earlier catalog every server is added", async () => {
    const drift = await compareCatalogs(undefined, await catalogOf({ a: [{ name: "x" }] }), PRINTER);
    expect(drift).toEqual([{ server: "a", change: "added", added: ["x"], removed: [], changed: [] }]);
  });

  test("names and texts of servers cannot steer a terminal", async () => {
    const before = await catalogOf({ a: [{ name: "t\u001b[2J", description: "x" }] });
    const after = await catalogOf({
      a: [{ name: "t\u001b[2J", description: "y\u001b[31m\u202e" }, { name: "\nfake" }],
    });
    const text = renderDrift(await compareCatalogs(before, after, PRINTER));
    expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
    expect(text.split("\n")).not.toContain("fake");
  });
});
