import { expect, test } from "vitest";
import {
  countJsonValues,
  ForeignJsonError,
  type JsonFault,
  parseForeignJson,
  parseWrittenJson,
} from "../../base/json.ts";
import { rowsBeside } from "../rows.ts";

const rows = rowsBeside(import.meta.filename);

// What any text comes to is tried by tests/fuzz/targets/json.ts, against JSON.parse.
const LIMITS = { maxBytes: 1_000_000, maxDepth: 32 };

test.each<[string, boolean]>(rows("as JSON.stringify writes it"))(
  "of %s says that it is as JSON.stringify writes it: %s",
  (json, isCompact) => {
    const read = parseWrittenJson(json, LIMITS);
    expect(read.isCompact).toBe(isCompact);
    if (isCompact) expect(JSON.stringify(read.value)).toBe(json);
  },
);

test("keeps a member named __proto__, and texts that look like JSON", () => {
  const json = String.raw`{"__proto__":{"a":1},"b":"\"c\":1,[1e999","d\\":["}{"],"e":-1.5E+3}`;
  expect(JSON.stringify(parseForeignJson(json, LIMITS))).toBe(JSON.stringify(JSON.parse(json)));
});

const refused: [string, string | Buffer, JsonFault][] = [
  ["a number with too large an exponent", '{"a":[1e400]}', "non_finite"],
  ["a negative one", "-1E+309", "non_finite"],
  ["one with too many digits", `[${"9".repeat(400)}]`, "non_finite"],
  ["one of 309 digits that is beyond the largest", `[${"9".repeat(309)}.5]`, "non_finite"],
  ["a name that stands twice", '{"a":1,"b":2,"a":3}', "duplicate_key"],
  ["a name that stands twice, escaped once", '[{"x":{"a":1,"\\u0061":2}}]', "duplicate_key"],
  ["__proto__ twice", '{"__proto__":1,"__proto__":2}', "duplicate_key"],
  ["deep arrays", "[".repeat(33) + "]".repeat(33), "too_deep"],
  ["depth that no parser would survive", "[".repeat(500_000), "too_deep"],
  ["deep objects", `${'{"a":'.repeat(33)}1${"}".repeat(33)}`, "too_deep"],
  ["a large text", `"${"x".repeat(1_000_000)}"`, "too_large"],
  ["many values", `[${"0,".repeat(200_000)}0]`, "too_many_values"],
  ["many empty arrays", `[${"[],".repeat(200_000)}[]]`, "too_many_values"],
  ["what is not JSON", "{'a': 1}", "not_json"],
  ["nothing", "", "not_json"],
  ["a byte order mark", "\ufeff1", "not_json"],
  ["an unfinished text", '["a', "not_json"],
  ["NaN", "[NaN]", "not_json"],
  ["bytes that are no UTF-8", Buffer.from([0x22, 0xff, 0x22]), "not_utf8"],
];

test.each(refused)("refuses %s", (_, json, code) => {
  const parse = () => parseForeignJson(json, { ...LIMITS, maxValues: 150_000 });
  expect(parse).toThrow(ForeignJsonError);
  expect(parse).toThrow(expect.objectContaining({ code }));
});

test("bounds the members of one object, and no items of lists or members of several objects", () => {
  const limits = { ...LIMITS, maxMembers: 2 };
  expect(parseForeignJson('[{"a":1,"b":[0,0,0,0,0]},{"a":{"c":2},"b":{"c":2,"d":3}}]', limits)).toHaveLength(
    2,
  );
  expect(() => parseForeignJson('[{"a":{"b":1},"c":{"d":2},"e":3}]', limits)).toThrow(
    expect.objectContaining({ code: "too_many_members", message: "has an object with more than 2 members" }),
  );
});

test.each<[string, number]>(rows("counts of values"))("counts the values of %s", (json, count) => {
  expect(countJsonValues(json)).toBe(count);
  expect(() => parseForeignJson(json, { ...LIMITS, maxValues: count })).not.toThrow();
  expect(() => parseForeignJson(json, { ...LIMITS, maxValues: count - 1 })).toThrow(ForeignJsonError);
});

test("names the key that stands twice", () => {
  expect(() => parseForeignJson('{"a":{"k":1},"k":[{"k":1}],"k":0}', LIMITS)).toThrow(/key "k" twice/);
});

test("takes long numbers that are finite", () => {
  const largest = `17976931348623157${"0".repeat(292)}`;
  const parsed = parseForeignJson(`[${largest},1e308,1e-999,-0]`, LIMITS);
  expect(parsed).toEqual([BigInt(largest), 1e308, 0, -0]);
});

test("tells names of different objects apart, whatever stands in texts", () => {
  const json = '[{"a":":"},{"a":"\\\\"},{"a":{"a":"{\\"a\\":1"}}]';
  expect(parseForeignJson(json, LIMITS)).toEqual(JSON.parse(json));
});
