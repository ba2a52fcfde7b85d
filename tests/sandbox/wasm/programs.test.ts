import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProgramEnvironment, Trace } from "../../../protocol/messages.ts";
import { type Platform, WASM_ABSENT_GLOBALS, WASM_MODULES } from "../../../protocol/platform.ts";
import { WasmEngine } from "../../../sandbox/wasm/wasm-engine.ts";
import { ENVIRONMENT, type Ran, runProgram } from "./run-program.ts";
import { builtWasmRunner } from "./runner-files.ts";

const engine = new WasmEngine({ folder: await builtWasmRunner() });
afterAll(() => engine.close());
const PLATFORM: Platform = engine.platform;

function run(bundle: string, environment?: ProgramEnvironment, memoryMb?: number): Promise<Ran> {
  return runProgram(engine, { runner: "javascript", bundle, environment, memoryMb });
}

const resultOf = async (expression: string) => {
  const { claim } = await run(`globalThis.result = ${expression};`);
  return claim?.ok ? claim.data : claim?.error?.message;
};

const EXPRESSIONS: readonly [expression: string, value: unknown][] = [
  ['new URL("?q=1", "https://x.y/z#f").href', "https://x.y/z?q=1"],
  ['new URL("https://x.y/?a=1&a=2").searchParams.getAll("a")', ["1", "2"]],
  [
    '(() => { const url = new URL("https://x.y/?a=1"); url.searchParams.append("b", "2 3"); return url.href; })()',
    "https://x.y/?a=1&b=2+3",
  ],
  [
    '[...new URLSearchParams("?a=%C3%A4+b&c").entries()]',
    [
      ["a", "ä b"],
      ["c", ""],
    ],
  ],
  ['URL.parse("nothing")', null],
  ['Object.prototype.toString.call(new URL("https://x.y/"))', "[object URL]"],
  ['String(new URLSearchParams({ a: "ä b" }))', "a=%C3%A4+b"],
  ['new TextDecoder().decode(new TextEncoder().encode("ä€"))', "ä€"],
  ["structuredClone({ a: [new Date(0)] }).a[0].getTime()", 0],
  ['Buffer.concat([Buffer.from("ä"), Buffer.from("6869", "hex")]).toString("base64")', "w6RoaQ=="],
  [
    'Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("x"))).toString("hex")',
    "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
  ],
  ['require("node:crypto").createHmac("sha256", "k").update("x").digest("hex").length', 64],
  ['require("path").join("a", "..", "b.txt")', "b.txt"],
  ['require("path").resolve("b")', "/workspace/b"],
  ['require("node:util").inspect({ a: new Map([[1, { b: 2 }]]) })', "{ a: Map(1) { 1 => { b: 2 } } }"],
  ['(1234.5).toLocaleString("de-DE")', "1.234,5"],
  ['["ä", "z", "a"].sort((a, b) => a.localeCompare(b, "de"))', ["a", "ä", "z"]],
  ['new Date(Date.UTC(2024, 6, 1)).toLocaleDateString("en-US", { month: "long" })', "July"],
  ["new Date(2024, 6, 1).toISOString()", "2024-06-30T22:00:00.000Z"],
  // The clocks of this time zone skip from two to three o'clock on that day.
  ["new Date(2024, 2, 31, 1, 30).toISOString()", "2024-03-31T00:30:00.000Z"],
  ["new Date('2024-03-31T02:30:00').toISOString()", "2024-03-31T01:30:00.000Z"],
  [
    "((date) => { date.setHours(3); return date.toISOString(); })(new Date(2024, 2, 31))",
    "2024-03-31T01:00:00.000Z",
  ],
  ["new Date(0).toString()", "Thu Jan 01 1970 01:00:00 GMT+0100 (Central European Standard Time)"],
  [
    '[Buffer.from("??>").toString("base64url"), Buffer.from("Pz8-", "base64url").toString()]',
    ["Pz8-", "??>"],
  ],
  ["(-0).toLocaleString('en-US')", "-0"],
  [
    'require("node:util").inspect([new URL("https://x.y/?a=1").searchParams])',
    "[ URLSearchParams { 'a' => '1' } ]",
  ],
  ["await new Promise((resolve) => setTimeout(resolve, 5, 'done'))", "done"],
  ["typeof (9007199254740993n + 1n)", "bigint"],
];

const WAYS_OUT: readonly [what: string, expression: string, value: unknown][] = [
  [
    "the process",
    "[typeof process.binding, process.pid, Object.keys(process.env).length, typeof process.mainModule]",
    ["undefined", null, 0, "undefined"],
  ],
  [
    "constructors of the host",
    "[URL, Buffer, console.log, Symbol.for('ptc.tool')].map((each) => { try { return each.constructor.constructor('return typeof require(\"node:path\").constructor.constructor(\"return process.binding\")()')(); } catch (error) { return 'undefined'; } })",
    ["undefined", "undefined", "undefined", "undefined"],
  ],
  ["files", "await import('node:fs').then(() => 'there', () => 'absent')", "absent"],
  ["the network", "await import('node:net').then(() => 'there', () => 'absent')", "absent"],
  ["processes", "await import('node:child_process').then(() => 'there', () => 'absent')", "absent"],
  ["other files as modules", "await import('/etc/passwd').then(() => 'there', () => 'absent')", "absent"],
];

/** The value of each expression. All have one program, because most of the time goes into the start of an interpreter. */
let results: Map<string, unknown>;
beforeAll(async () => {
  results = await resultsOf([...EXPRESSIONS.map(([each]) => each), ...WAYS_OUT.map(([, each]) => each)]);
});

async function resultsOf(expressions: readonly string[]): Promise<Map<string, unknown>> {
  const values = expressions.map(
    (expression) => `await (async () => ${expression})().catch((error) => String(error)),`,
  );
  const { claim } = await run(`globalThis.result = [\n${values.join("\n")}\n];`);
  expect(claim).toMatchObject({ ok: true });
  const all = claim?.data as unknown[];
  return new Map(expressions.map((expression, at) => [expression, all[at]]));
}

describe("a program in an interpreter", () => {
  test("has no global that its platform is said to lack, and every module that it is said to have", async () => {
    expect(PLATFORM).toBe("wasm");
    const names = JSON.stringify(WASM_ABSENT_GLOBALS);
    expect(await resultOf(`${names}.filter((name) => name in globalThis)`)).toEqual([]);
    const modules = JSON.stringify(WASM_MODULES);
    expect(
      await resultOf(
        `(await Promise.all(${modules}.map((name) => import("node:" + name)))).map(({ default: each }) => typeof each)`,
      ),
    ).toEqual(WASM_MODULES.map(() => "object"));
  });

  test.each(EXPRESSIONS)("%s is %j", (expression, value) => {
    expect(results.get(expression)).toEqual(value);
  });

  test("prints the keys of a map in a table, and columns that are as wide as their texts are shown", async () => {
    const { stderr } = await run('console.table(new Map([["日本", () => 1]]));');
    expect(stderr).toContain("│ 0                 │ '日本' │");
    const deep = await run("console.table({ a: { list: [1, 2, 3, 4, 5], deep: { x: { y: { z: 1 } } } } });");
    expect(deep.stderr).toContain("│ [ 1, 2, 3, 4, 5 ] │ { x: { y: { z: 1 } } } │");
  });

  test("is refused more random bytes at once than it can hold", async () => {
    const tried =
      "(() => { try { return require('node:crypto').randomBytes(2 ** 31 - 1).length; } catch (error) { return error.message; } })()";
    expect(await resultOf(tried)).toContain("too many random bytes");
  });

  test("prints values whole, with the frames of its own lines in a stack", async () => {
    const { stderr } = await run(
      'console.log("a", { b: [1, new Set([2])] }); console.error(new Error("no").message);',
    );
    expect(stderr).toContain(JSON.stringify(["out", "a { b: [ 1, Set(1) { 2 } ] }\n"]));
    expect(stderr).toContain(JSON.stringify(["err", "no\n"]));
  });

  test.each([
    [
      "a rejection that nobody handles",
      "(async () => { throw new TypeError('lost'); })();",
      /TypeError: lost/,
    ],
    ["what it throws", "throw new RangeError('far');", /RangeError: far/],
    ["a promise that never settles", "await new Promise(() => {});", /can never settle/],
    ["recursion without end", "(function f() { return f() + 1; })();", /call stack/],
    ["a result that JSON cannot carry", "globalThis.result = new Map();", /is a Map/],
  ])("fails by %s", async (_what, bundle, message) => {
    expect((await run(bundle)).claim?.error?.message).toMatch(message);
  });

  test("that takes more memory than it has ends as one out of memory, and cannot catch that", async () => {
    const greedy = "const held = []; for (;;) try { held.push(new Uint8Array(1e6).fill(1)); } catch {}";
    const { claim, code, stderr } = await run(greedy, ENVIRONMENT, 64);
    expect([claim, code, /heap out of memory/.test(stderr)]).toEqual([undefined, 134, true]);
  });

  test("sees the same clock, randomness and order of answers in a replay", async () => {
    const bundle = `
      const call = globalThis[Symbol.for("ptc.tool")]("mcp__x__y");
      const order = [];
      await Promise.all([1, 2, 3].map(async (id) => { await call({ id }); order.push(id); }));
      await new Promise((resolve) => setTimeout(resolve, 20));
      globalThis.result = { order, at: Date.now(), now: performance.now(), random: Math.random(), id: crypto.randomUUID() };`;
    const live = await run(bundle);
    const replay = live.trace as Trace;
    const again = await run(bundle, { ...ENVIRONMENT, replay });
    expect(live.claim).toMatchObject({ ok: true });
    expect(again.claim).toEqual(live.claim);
    expect(again.trace).toEqual(replay);
  });

  test.each(WAYS_OUT)("reaches nothing of the machine by %s", (_what, expression, value) => {
    expect(results.get(expression)).toEqual(value);
  });
});
