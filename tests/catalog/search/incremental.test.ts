import fc from "fast-check";
import { expect, it } from "vitest";
import { ToolSearch } from "../../../catalog/search/tool-search.ts";
import { found, indexOf, tool } from "./catalog-of-tools.ts";

const words = [
  "create",
  "issues",
  "weather",
  "forecast",
  "airquality",
  "GitHub",
  "e-mail",
  "air",
  "quality",
  "list",
];
const text = fc.array(fc.constantFrom(...words), { maxLength: 6 });
const toolList = fc.uniqueArray(
  fc.record({ name: text.map((some) => some.join("_")), description: text.map((some) => some.join(" ")) }),
  { selector: ({ name }) => name, maxLength: 5 },
);
const server = fc.constantFrom("alpha", "beta", "gamma");
const steps = fc.array(fc.record({ server, tools: fc.option(toolList, { nil: undefined }) }), {
  maxLength: 12,
});
const queries = [
  ...words,
  "creat",
  "airqualty",
  "weather forecast and create issues",
  "list_issues",
  "mcp__beta__air",
];

it("finds after any changes just what an index made anew finds", () => {
  fc.assert(
    fc.property(steps, (changes) => {
      const changed = new ToolSearch();
      const now = new Map<string, ReturnType<typeof tool>[]>();
      for (const { server, tools } of changes) {
        changed.search("airqualty", { limit: 1 });
        if (tools === undefined) {
          changed.removeServer(server);
          now.delete(server);
        } else {
          const listed = tools.map(({ name, description }) => tool(server, name, { description }));
          changed.setServer(server, listed);
          now.set(server, listed);
        }
      }
      const anew = new ToolSearch();
      for (const [server, tools] of [...now].sort()) anew.setServer(server, tools);
      expect(changed.size).toBe(anew.size);
      for (const query of queries) {
        for (const scope of [undefined, "beta"]) {
          const options = { server: scope, limit: 8 };
          expect(changed.search(query, options)).toEqual(anew.search(query, options));
        }
      }
    }),
  );
});

it("forgets the tools that a server lists no longer", () => {
  const search = indexOf(tool("a", "old_report"), tool("b", "report"));
  search.setServer("a", [tool("a", "new_report")]);
  expect(found(search, "report").sort()).toEqual(["mcp__a__new_report", "mcp__b__report"]);
  expect(found(search, "old_report")).not.toContain("mcp__a__old_report");
  search.removeServer("a");
  expect(found(search, "report")).toEqual(["mcp__b__report"]);
  expect(search.size).toBe(1);
});
