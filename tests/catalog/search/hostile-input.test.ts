import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { found, indexOf, tool } from "./catalog-of-tools.ts";

const search = indexOf(
  tool("a", "get_weather", { description: "Weather of a city" }),
  tool("b", "constructor", { description: "__proto__ toString" }),
  tool("b", "---", { description: "" }),
);

describe("a query", () => {
  for (const query of ["", " \n\t ", "???", "the of and", "=", "=weather=", "\ud800", "a", "\u0000"]) {
    it(`of ${JSON.stringify(query)} is answered`, () => {
      const { results, total } = search.search(query, { limit: 5 });
      expect(total).toBeGreaterThanOrEqual(results.length);
    });
  }

  it("that says nothing finds nothing", () => {
    for (const query of ["", " ", "???", "---"]) expect(search.search(query, { limit: 5 }).total).toBe(0);
  });

  it("of 100 KB finds what it begins with", () => {
    const unknown = Array.from({ length: 20_000 }, (_, index) => `wether${index}`).join(" ");
    expect(found(search, `weather ${unknown}`)[0]).toBe("mcp__a__get_weather");
    expect(found(search, `weather. ${"x, ".repeat(40_000)}`)[0]).toBe("mcp__a__get_weather");
    expect(found(search, `weather ${"A".repeat(100_000)}`)[0]).toBe("mcp__a__get_weather");
  });

  it("of any characters is answered with tools of the index, once each", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 200 }), (characters) => {
        const query = String.fromCharCode(...characters);
        const names = found(search, query);
        expect(new Set(names).size).toBe(names.length);
      }),
    );
  });

  it("for a name that objects inherit finds the tool of that name alone", () => {
    expect(found(search, "constructor")).toEqual(["mcp__b__constructor"]);
    expect(found(search, "hasOwnProperty")).toEqual([]);
  });
});

describe("a tool's definition", () => {
  const deep = (depth: number): object => (depth === 0 ? {} : { properties: { inner: deep(depth - 1) } });
  const wide = Object.fromEntries(
    Array.from({ length: 50_000 }, (_, index) => [`p${index}`, { description: "x".repeat(100) }]),
  );
  const schemas: [what: string, schema: unknown][] = [
    ["no object", "object"],
    ["null", null],
    ["a list", [1, 2]],
    ["a list of a million alternatives", { anyOf: Array.from({ length: 1_000_000 }, () => null) }],
    ["properties that are no schemas", { properties: { a: 1, b: null, c: [], d: { description: 5 } } }],
    ["properties of the wrong type", { properties: "abc", items: 3, anyOf: {}, $defs: [] }],
    ["2,000 levels", deep(2_000)],
    ["50,000 properties", { properties: wide }],
  ];
  for (const [what, inputSchema] of schemas) {
    it(`whose schema is ${what} is found by its name`, () => {
      const one = indexOf(tool("s", "report", { description: "Sums", inputSchema }));
      expect(found(one, "report")).toEqual(["mcp__s__report"]);
    });
  }

  it("whose schema contains itself is found", () => {
    const schema: { properties: Record<string, unknown> } = { properties: {} };
    for (let index = 0; index < 100; index++) schema.properties[`self${index}`] = schema;
    schema.properties.balance = {};
    expect(found(indexOf(tool("s", "x", { inputSchema: schema })), "balance")).toEqual(["mcp__s__x"]);
  });

  it("with megabytes of text is found by its beginning", () => {
    const description = `Ledger ${"aB1-".repeat(1_000_000)}`;
    expect(found(indexOf(tool("s", "y", { description, title: description })), "ledger")).toEqual([
      "mcp__s__y",
    ]);
  });
});
