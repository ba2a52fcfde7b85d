import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { serializeConsole, serializeResult } from "../../../runner-image/node/result-value.ts";

const MAX = 65_536;
const cycle: Record<string, unknown> = { a: [] };
cycle.a = [{ back: cycle }];
const shared = { a: 1 };
const selfCaused = new Error("a");
selfCaused.cause = selfCaused;
const abortError = '{"name":"AbortError","message":"This operation was aborted","code":20}';
const deep = JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`);

describe("the value that a program sets", () => {
  it.each<[string, unknown, string]>([
    ["an object", { a: [1, null, "é"] }, '{"a":[1,null,"é"]}'],
    ["null", null, "null"],
    ["a date, as JSON has it", { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["an object with a member that is undefined, which is left out", { a: undefined, b: 1 }, '{"b":1}'],
    ["an array with an item that is undefined, as null", [undefined], "[null]"],
    ["one object in two places", [shared, shared], '[{"a":1},{"a":1}]'],
    ["an error", [new TypeError("no")], '[{"name":"TypeError","message":"no"}]'],
    [
      "an error with its cause and further members",
      Object.assign(new Error("a", { cause: new RangeError("b") }), { code: "E", at: undefined }),
      '{"name":"Error","message":"a","code":"E","cause":{"name":"RangeError","message":"b"}}',
    ],
    [
      "errors in an error",
      new AggregateError([new Error("a")], "all"),
      '{"name":"AggregateError","message":"all","errors":[{"name":"Error","message":"a"}]}',
    ],
    ["an aborted signal's reason", AbortSignal.abort().reason, abortError],
    [
      "an error of another realm",
      runInNewContext('new TypeError("no")'),
      '{"name":"TypeError","message":"no"}',
    ],
    ["an error that says itself what it is", withJson(new Error("a")), '"itself"'],
    ["a typed array of numbers", { a: new Float32Array([1.5, 2]) }, '{"a":[1.5,2]}'],
    ["boxed values", [Object(1), Object("a"), Object(true)], '[1,"a",true]'],
    ["an address", new URL("http://localhost/a"), '"http://localhost/a"'],
    ["the groups of a match", "ab".match(/(?<x>b)/), '["b","b"]'],
    [
      "a getter's value",
      {
        get a() {
          return 1;
        },
      },
      '{"a":1}',
    ],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ["an instance of a class without anything", new (class Empty {})(), "{}"],
    [
      "a member named __proto__ beside one that changes",
      JSON.parse('{"__proto__":{"a":1}}'),
      '{"__proto__":{"a":1}}',
    ],
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
    ["a function", () => {}, "result is a function, which JSON cannot carry: call it, or leave it out"],
    ["a function in an object", { "a-b": { f() {} } }, 'result["a-b"].f is a function'],
    ["a symbol", [Symbol("x")], "result[0] is a symbol, which JSON cannot carry: use String(x)"],
    ["named by a symbol", { [Symbol("x")]: 1 }, "result has the member Symbol(x), which JSON cannot carry"],
    ["NaN", { mean: Number.NaN }, "result.mean is NaN, which JSON cannot carry: use null, or String(x)"],
    ["infinite", [1, Number.NEGATIVE_INFINITY], "result[1] is -Infinity"],
    ["NaN in a box", [Object(Number.NaN)], "result[0] is NaN"],
    ["NaN in a typed array", new Float64Array([0, Number.NaN]), "result[1] is NaN"],
    ["an iterator", [1].values(), "result is an Iterator, of which JSON carries nothing: use [...x]"],
    [
      "a generator",
      { rows: generate() },
      "result.rows is a Generator, of which JSON carries nothing: use [...x]",
    ],
    [
      "an asynchronous generator",
      generateLater(),
      "of which JSON carries nothing: use await Array.fromAsync(x)",
    ],
    [
      "bytes",
      { b: new Uint8Array(2) },
      "result.b is a Uint8Array, which JSON cannot carry: use Buffer.from(x)",
    ],
    ["a Buffer", Buffer.from("a"), "result is a Buffer, which JSON cannot carry"],
    ["an ArrayBuffer", new ArrayBuffer(2), "result is an ArrayBuffer, which JSON cannot carry"],
    ["a DataView", new DataView(new ArrayBuffer(2)), "result is a DataView, which JSON cannot carry"],
    ["a RegExp", /a/, "result is a RegExp, which JSON cannot carry: use String(x)"],
    [
      "an invalid date",
      [new Date(Number.NaN)],
      "result[0] is an invalid Date, which JSON cannot carry: use null",
    ],
    [
      "URLSearchParams",
      new URLSearchParams("a=1"),
      "of which JSON carries nothing: use Object.fromEntries(x)",
    ],
    ["Headers", new Headers({ a: "1" }), "of which JSON carries nothing: use Object.fromEntries(x)"],
    ["a Response", new Response("a"), "of which JSON carries nothing: use await x.text()"],
    ["a WeakMap", new WeakMap(), "result is a WeakMap, of which JSON carries nothing"],
    ["an instance with private state", new Counter(), "result is a Counter, of which JSON carries nothing"],
    ["an array with holes", Object.assign([], { 2: 1 }), "result[0] is a hole in an array"],
    ["an array with a name", Object.assign([1], { total: 2 }), "result is an array with a member 'total'"],
    [
      "a getter that throws",
      {
        a: {
          get b() {
            return fail("no");
          },
        },
      },
      "result.a.b cannot be read: Error: no",
    ],
    ["an error with a function", Object.assign(new Error("a"), { retry() {} }), "result.retry is a function"],
    ["a cause that refers back", selfCaused, "result.cause refers back to an object that contains it"],
    ["a Map", { m: [new Map()] }, "result.m[0] is a Map, which JSON cannot carry: use Object.fromEntries(x)"],
    ["a Set", new Set(), "result is a Set"],
    ["a promise that nobody awaited", { a: Promise.resolve() }, "result.a is a Promise: await it"],
    ["nesting without end", deep, "result nests deeper than 128 levels"],
    ["a throwing toJSON", { toJSON: () => fail("no") }, "result cannot be read: Error: no"],
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

class Counter {
  #count = 1;
  get count() {
    return this.#count;
  }
}

function* generate() {
  yield 1;
}

async function* generateLater() {
  yield 1;
}

function withJson(error: Error): Error {
  return Object.assign(error, { toJSON: () => "itself" });
}

function fail(message: string): never {
  throw new Error(message);
}
