import { expect, it } from "vitest";
import { buildServerModel } from "../../catalog/tool-model.ts";
import { isWrappedResult, unwrapResult } from "../../catalog/wrapped-result.ts";
import { printServerModule } from "../../codegen/typescript/print-typescript.ts";
import { listingOf } from "../codegen/list-tools.ts";

const result = { type: "array", items: { type: "string" }, title: "Result" };
const OFFICIAL = { type: "object", properties: { result }, required: ["result"], title: "list_namesOutput" };
const { title: _, ...UNTITLED } = OFFICIAL;

it.each<[string, unknown, boolean]>([
  ["of the official SDK", OFFICIAL, true],
  ["of the official SDK, with definitions", { ...OFFICIAL, $defs: { A: {} } }, true],
  ["of a function whose name is hidden", { ...OFFICIAL, title: "_namesOutput" }, true],
  ["that FastMCP marks", { ...UNTITLED, "x-fastmcp-wrap-result": true }, true],
  [
    "that FastMCP 2 marks and describes",
    {
      ...UNTITLED,
      description: "Generic wrapper for non-object return types.",
      "x-fastmcp-wrap-result": true,
    },
    true,
  ],
  ["without a title, as other SDKs write it", UNTITLED, false],
  ["that is a model somebody wrote", { ...OFFICIAL, title: "GetOutput" }, false],
  ["of another title", { ...OFFICIAL, title: "Answer" }, false],
  ["of which more is said", { ...OFFICIAL, additionalProperties: false }, false],
  ["that is described by hand", { ...OFFICIAL, description: "What was found" }, false],
  ["whose result may be missing", { ...OFFICIAL, required: [] }, false],
  ["with another member", { ...OFFICIAL, properties: { result, next: {} } }, false],
  [
    "marked, with another member",
    { ...UNTITLED, properties: { result, next: {} }, "x-fastmcp-wrap-result": true },
    false,
  ],
  ["with another only member", { ...OFFICIAL, properties: { items: result } }, false],
  ["marked in words", { ...UNTITLED, "x-fastmcp-wrap-result": "true" }, false],
  ["that is no schema", true, false],
  ["that is none", undefined, false],
])("says whether an output schema is a wrapper: one %s", (_what, schema, expected) => {
  expect(isWrappedResult(schema)).toBe(expected);
});

it.each<[unknown, unknown]>([
  [{ result: [1] }, [1]],
  [{ result: null }, null],
  [{ result: undefined, more: 1 }, undefined],
  [{ other: 1 }, { other: 1 }],
  [[1], [1]],
  [null, null],
])("takes %j out of its wrapper, if it has one", (structured, value) => {
  expect(unwrapResult(structured)).toEqual(value);
});

it("gives a module's function the type that is in the wrapper, with the definitions that it refers to", async () => {
  const Person = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  const person = { anyOf: [{ $ref: "#/$defs/Person" }, { type: "null" }] };
  const tools = [
    { name: "list_names", inputSchema: {}, outputSchema: OFFICIAL },
    {
      name: "find_person",
      inputSchema: {},
      outputSchema: {
        ...OFFICIAL,
        properties: { result: person },
        title: "find_personOutput",
        $defs: { Person },
      },
    },
  ];
  const { server } = buildServerModel(listingOf(tools, "people"), "people");
  const { text } = await printServerModule(server);
  expect(text).toContain("export type ListNamesOutput = string[];");
  expect(text).toContain("export type FindPersonOutput = FindPersonPerson | null;");
  expect(text).toContain('tool<ListNamesInput, ListNamesOutput>("mcp__people__list_names"); // unwrapped');
  expect(text).toContain("which the server wraps as {result: ...}");
});
