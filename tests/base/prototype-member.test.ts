import fc from "fast-check";
import { expect, test } from "vitest";
import { findPrototypeMember } from "../../base/prototype-member.ts";

test.each([
  ['{"__proto__": 1}', "__proto__"],
  ['{"a": [0, {"b": {"__proto__": {"isAdmin": true}}}]}', "a[1].b.__proto__"],
  ['[[{"__proto__": null}]]', "[0][0].__proto__"],
  ['{"a": "__proto__", "constructor": {"prototype": {}}, "b": null}', undefined],
  ['"__proto__"', undefined],
])("a member named __proto__ is found in %s", (json, at) => {
  expect(findPrototypeMember(JSON.parse(json))).toBe(at);
});

test("a member named __proto__ is found wherever the text of JSON has one as a name, and nowhere else", () => {
  const { tie } = fc.letrec((tie) => ({
    tie: fc.oneof({ depthSize: "small" }, fc.constantFrom(1, "__proto__", null), tie("list"), tie("object")),
    list: fc.array(tie("tie"), { maxLength: 3 }),
    object: fc.dictionary(fc.constantFrom("a", "b", "__proto__"), tie("tie"), { noNullPrototype: true }),
  }));
  fc.assert(
    fc.property(tie, (value) => {
      const json = JSON.stringify(value);
      expect(findPrototypeMember(JSON.parse(json)) !== undefined).toBe(json.includes('"__proto__":'));
    }),
  );
});

test("depth is no matter", () => {
  const deep = `${'{"a":['.repeat(5_000)}{"__proto__":1}${"]}".repeat(5_000)}`;
  expect(findPrototypeMember(JSON.parse(deep))).toMatch(/\.__proto__$/);
});
