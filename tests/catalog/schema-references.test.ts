import { describe, expect, it } from "vitest";
import { SchemaReferences } from "../../catalog/model/schema-references.ts";

describe("a reference in a schema", () => {
  const named = { type: "string" };
  const root = {
    $defs: { "a/b ~": named, item: { items: { $anchor: "deep", type: "null" } }, plain: "text" },
    properties: { x: { $anchor: "here" }, y: { $id: "#old" }, z: { id: "#older" }, w: { $id: "other.json" } },
  };
  const references = new SchemaReferences(root);

  it.each<[ref: string, target: unknown]>([
    ["#", root],
    ["#/$defs/a~1b%20~0", named],
    ["#/$defs/item/items", root.$defs.item.items],
    ["#/$defs/plain", "text"],
    ["#here", root.properties.x],
    ["#deep", root.$defs.item.items],
    ["#old", root.properties.y],
    ["#older", root.properties.z],
    ["#/$defs/gone", undefined],
    ["#/$defs/item/gone/items", undefined],
    ["#/toString", undefined],
    ["#gone", undefined],
    ["other.json", undefined],
    ["https://schemas.test/a.json#/$defs/a", undefined],
  ])("is followed within the schema alone: %s", (ref, target) => {
    expect(references.resolve(ref)).toBe(target);
  });

  it("gives what it points at a name, of which no two are the same", () => {
    const schema = {
      $defs: { tag: {}, "1": {} },
      definitions: { tag: {} },
      properties: { list: { items: {} }, other: {} },
      anyOf: ["#/$defs/tag", "#/definitions/tag", "#/properties/list/items", "#", "#/$defs/1"].map(
        ($ref) => ({ $ref }),
      ),
    };
    const names = new SchemaReferences(schema);
    expect(
      [schema.$defs.tag, schema.definitions.tag, schema.properties.list.items, schema, schema.$defs["1"]].map(
        (each) => names.nameOf(each),
      ),
    ).toEqual(["tag", "tag_2", "list_item", "Self", "Type"]);
    expect(names.nameOf(schema.properties.other)).toBeUndefined();
  });

  it("is looked for among the first 100,000 parts of a schema, and among no more", () => {
    const found = (others: number) => {
      const schema = { first: { $anchor: "x" }, others: Array(others).fill({}) };
      return new SchemaReferences(schema).resolve("#x") === schema.first;
    };
    // Parts are visited from the last, and the schema and the list are two of them.
    expect([found(99_997), found(99_998)]).toEqual([true, false]);
  });
});
