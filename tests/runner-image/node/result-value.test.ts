import { describe, expect, it } from "vitest";
import { serializeConsole, serializeResult } from "../../../runner-image/node/result-value.ts";

const MAX = 65_536;
const cycle: Record<string, unknown> = { a: [] };
cycle.a = [{ back: cycle }];
const deep = JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`);

describe("the value that a program sets", () => {
  it.each<[string, unknown, string]>([
    ["an object", { a: [1, null, "é"] }, '{"a":[1,null,"é"]}'],
    ["null", null, "null"],
    ["a date, as JSON has it", { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["NaN, as JSON has it", [Number.NaN], "[null]"],
    ["one object in two places", [cycle.b, cycle.b], "[null,null]"],
  ])("may be %s", (_name, value, json) => {
    expect(serializeResult(value, MAX)).toEqual({ ok: true, json, from: "result" });
  });

  it.each<[string, unknown, string]>([
    [
      "a BigInt that no reader takes",
      { n: { id: 10n ** 309n } },
      "result.n.id is a BigInt of more than 308 digits",
    ],
    ["a cycle", cycle, "result.a[0].back refers back to an object that contains it"],
    ["a function", () => {}, "result is a function"],
    ["a symbol", Symbol("x"), "result is a symbol"],
    ["a Map", { m: [new Map()] }, "result.m[0] is a Map, which JSON cannot carry: use Object.fromEntries(x)"],
    ["a Set", new Set(), "result is a Set"],
    ["a promise that nobody awaited", { a: Promise.resolve() }, "result.a is a Promise: await it"],
    ["nesting without end", deep, "result nests 200 levels deep"],
    ["a throwing toJSON", { toJSON: () => fail("no") }, "result cannot be turned into JSON: no"],
  ])("that is %s is not serialisable, and the message says where", (_name, value, message) => {
    expect(serializeResult(value, MAX)).toMatchObject({
      ok: false,
      error: { type: "ResultNotSerializable", message: expect.stringContaining(message) },
    });
  });

  it("may nest and hold as much as is carried, and no more", () => {
    const nested = (levels: number) => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);
    expect(serializeResult(nested(128), MAX)).toMatchObject({ ok: true });
    expect(serializeResult(nested(129), MAX)).toMatchObject({ error: { type: "ResultNotSerializable" } });
    const line = (levels: number) => serializeConsole("x", JSON.stringify(nested(levels)), MAX);
    expect([line(128), line(129)]).toMatchObject([{ from: "line" }, { from: "console" }]);
    const max = (values: number) => ({ bytes: MAX, values });
    expect(serializeResult([1_000, 2_000], MAX, max(3))).toMatchObject({ ok: true });
    expect(serializeResult([1_000, 2_000], MAX, max(2))).toMatchObject({ error: { type: "OutputLimit" } });
  });

  it("that is too large is refused with its size", () => {
    const outcome = serializeResult("x".repeat(70_000), MAX);
    expect(outcome).toMatchObject({
      ok: false,
      error: { type: "OutputLimit", message: expect.stringContaining("70002 bytes") },
    });
  });
});

describe("a program without a result", () => {
  it.each<[string, string, string | undefined, object]>([
    ["its last line when that is JSON", 'loading\n{"a": 1}\n', '{"a": 1}', { json: '{"a":1}', from: "line" }],
    ["its text when the last line is not JSON", "a\nb\n", "b", { json: '"a\\nb"', from: "console" }],
    ["empty text when it printed nothing", "", undefined, { json: '""', from: "console" }],
  ])("returns %s", (_name, text, lastLine, value) => {
    expect(serializeConsole(text, lastLine, MAX)).toEqual({ ok: true, ...value });
  });

  it("returns its text cut to what fits, escapes counted", () => {
    const outcome = serializeConsole("\u0001".repeat(60_000), undefined, MAX);
    if (!outcome.ok) throw new Error("not ok");
    expect(Buffer.byteLength(outcome.json)).toBeLessThan(MAX);
    expect(JSON.parse(outcome.json)).toMatch(/\n\.\.\. \(truncated\)$/);
    expect(outcome.json.length).toBeGreaterThan(MAX / 2);
  });
});

function fail(message: string): never {
  throw new Error(message);
}
