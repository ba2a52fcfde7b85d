import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { ProgramEnvironment, Trace } from "../../../../protocol/messages.ts";
import { Environment } from "../../../../runner-image/node/environment/environment.ts";

const PROCESS = join(import.meta.dirname, "processes/environment-process.ts");
const SEED = "ab".repeat(32);
/** Longer than any of them takes, and far shorter than a timer that wrongly keeps its process. */
const PATIENCE_MS = 60_000;

interface Program {
  code: string;
  environment?: ProgramEnvironment;
  /** Whether others follow it in its session. */
  isSession?: boolean;
}

/** Runs programs in one process, whose realm is theirs. */
function run(programs: readonly Program[], zone = "UTC"): { value: unknown; trace: Trace }[] {
  const env = { ...process.env, TZ: zone };
  const options = { encoding: "utf8", env, timeout: PATIENCE_MS } as const;
  const { stdout, stderr, ...ended } = spawnSync(
    process.execPath,
    [PROCESS, JSON.stringify(programs)],
    options,
  );
  expect(ended).toMatchObject({ status: 0, signal: null });
  expect(stderr.replace(/^\(node:.*\n?/gm, "")).toBe("");
  return JSON.parse(stdout);
}

const SEEDED = { seed: SEED } as ProgramEnvironment;

/** Runs one program. */
function runOne(code: string, environment = SEEDED): { value: unknown; trace: Trace } {
  return run([{ code, environment }])[0] as { value: unknown; trace: Trace };
}

/** The environment in which a program is replayed that left this trace. */
function replayOf({ trace: { started_ms, clock, events } }: { trace: Trace }): ProgramEnvironment {
  return { seed: SEED, replay: { started_ms, clock, events } } as ProgramEnvironment;
}

/** What some codes return, each with the same seed. */
function seeded(...codes: string[]): unknown[] {
  const programs = codes.map((code) => ({
    code: `const crypto = require("node:crypto"); ${code}`,
    environment: SEEDED,
  }));
  return run(programs).map(({ value }) => value);
}

const CODE = "try { VALUE; return 'none'; } catch (error) { return error.code ?? error.name; }";
/** Expects of each expression that it throws an error with this code. */
function expectThrown(codes: Record<string, unknown>): void {
  const thrown = seeded(...Object.keys(codes).map((expression) => CODE.replace("VALUE", () => expression)));
  expect(
    Object.fromEntries(Object.keys(codes).map((expression, index) => [expression, thrown[index]])),
  ).toEqual(codes);
}

describe("randomness of a program", () => {
  it("is the same for a seed, and each kind has a stream of its own", () => {
    const numbers = "[Math.random(), Math.random(), Math.random()]";
    const bytes = "crypto.randomBytes(12).toString('hex')";
    const [first, again, both, mixed, alone] = seeded(
      `return ${numbers}`,
      `return ${numbers}`,
      `const bytes = ${bytes}; return [...${numbers}, bytes]`,
      "const a = [Math.random()]; crypto.randomUUID(); a.push(Math.random()); crypto.randomInt(9); a.push(Math.random()); return a",
      `return ${bytes}`,
    ) as [number[], number[], unknown[], number[], string];
    expect(new Set(first).size).toBe(3);
    expect(again).toEqual(first);
    expect(mixed).toEqual(first);
    expect(both).toEqual([...first, alone]);
    const other = runOne(`return ${numbers}`, { seed: "cd".repeat(32) } as ProgramEnvironment);
    expect(other.value).not.toEqual(first);
  });

  it("gives a callback the whole number that it gives without one, of the same range", () => {
    const called = (args: string) =>
      `return Promise.all(Array.from({ length: 200 }, () => new Promise((done) => crypto.randomInt(${args}, (_, value) => done(value)))))`;
    const returned = (args: string) => `return Array.from({ length: 200 }, () => crypto.randomInt(${args}))`;
    const [five, fiveCalled, below, belowCalled, large] = seeded(
      returned("5, 10"),
      called("5, 10"),
      returned("3"),
      called("3"),
      returned("-(2 ** 47), 2 ** 47 - 1"),
    ) as number[][];
    expect([...new Set(five)].sort()).toEqual([5, 6, 7, 8, 9]);
    expect([...new Set(below)].sort()).toEqual([0, 1, 2]);
    expect([fiveCalled, belowCalled]).toEqual([five, below]);
    expect(large?.every((value) => Number.isSafeInteger(value))).toBe(true);
    expectThrown({
      "crypto.randomInt('1')": "ERR_INVALID_ARG_TYPE",
      "crypto.randomInt(10, 5)": "ERR_OUT_OF_RANGE",
      "crypto.randomInt(5, 5, () => {})": "ERR_OUT_OF_RANGE",
      "crypto.randomInt('1', () => {})": "ERR_INVALID_ARG_TYPE",
      "crypto.randomInt(1, 2, 3)": "ERR_INVALID_ARG_TYPE",
    });
  });

  it("fills all of a typed array and nothing beside it, whatever its items are", () => {
    const hex = (value: string) => `Buffer.from(${value}.buffer).toString('hex')`;
    const [bytes, called] = seeded(
      "return crypto.randomBytes(8).toString('hex')",
      "return new Promise((done) => crypto.randomBytes(8, (_, bytes) => done(bytes.toString('hex'))))",
    );
    expect(called).toBe(bytes);
    const [whole, words, view, part, filled, data, sizes] = seeded(
      `return ${hex("crypto.getRandomValues(new Uint8Array(16))")}`,
      `return ${hex("crypto.getRandomValues(new Uint32Array(4))")}`,
      `const array = new Uint8Array(32); crypto.getRandomValues(array.subarray(8, 24)); return ${hex("array")}`,
      `const array = new Uint32Array(4); crypto.randomFillSync(array, 1, 2); return ${hex("array")}`,
      `return new Promise((done) => crypto.randomFill(new Uint32Array(4), 1, 2, (_, array) => done(${hex("array")})))`,
      `const array = new Uint16Array(4); crypto.randomFillSync(array, 1); const view = new DataView(new ArrayBuffer(8)); crypto.randomFillSync(view, 2, 4); return [${hex("array")}, ${hex("view")}]`,
      "return [crypto.randomBytes(0), crypto.randomBytes(5), crypto.getRandomValues(new BigUint64Array(3))].map((each) => each.byteLength)",
    ) as [string, string, string, string, string, string[], number[]];
    expect(whole).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    expect(words).toBe(whole);
    expect(view).toBe(`${"00".repeat(8)}${whole}${"00".repeat(8)}`);
    expect(part).toBe(`${"00".repeat(4)}${whole.slice(0, 16)}${"00".repeat(4)}`);
    expect(filled).toBe(part);
    expect(data).toEqual([`0000${whole.slice(0, 12)}`, `0000${whole.slice(12, 20)}0000`]);
    expect(sizes).toEqual([0, 5, 24]);
    expectThrown({
      "crypto.getRandomValues(new Float32Array(2))": expect.anything(),
      "crypto.getRandomValues(new Uint8Array(65_537))": expect.anything(),
      "crypto.webcrypto.getRandomValues([])": expect.anything(),
      "crypto.randomFillSync(new Uint8Array(4), 5)": "ERR_OUT_OF_RANGE",
      "crypto.randomFill(new Uint8Array(4))": "ERR_INVALID_ARG_TYPE",
      "crypto.randomBytes(-1)": "ERR_OUT_OF_RANGE",
      "crypto.randomBytes(1, 'done')": "ERR_INVALID_ARG_TYPE",
    });
  });

  it("makes UUIDs of their versions, and refuses the options that Node.js refuses", () => {
    const [four, same, web, withOptions, several] = seeded(
      "return crypto.randomUUID()",
      "return crypto.randomUUID({ disableEntropyCache: true })",
      "return crypto.webcrypto.randomUUID()",
      "return crypto.randomUUID({})",
      "return [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]",
    ) as [string, string, string, string, string[]];
    expect(new Set(several).size).toBe(3);
    expect(four).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect([same, web, withOptions]).toEqual([four, four, four]);
    expectThrown({
      "crypto.randomUUID('x')": "ERR_INVALID_ARG_TYPE",
      "crypto.randomUUID({ disableEntropyCache: 'x' })": "ERR_INVALID_ARG_TYPE",
      "crypto.randomUUID(null)": "ERR_INVALID_ARG_TYPE",
      "(crypto.randomUUIDv7 ?? crypto.randomUUID)('x')": "ERR_INVALID_ARG_TYPE",
      "crypto.webcrypto.randomUUID.call({})": "ERR_INVALID_THIS",
    });
    const replay = { started_ms: 0x123456789abc, clock: "", events: "" };
    const seven = runOne('return require("node:crypto").randomUUIDv7?.() ?? "none"', { ...SEEDED, replay });
    expect(seven.value).toMatch(/^(?:none$|12345678-9abc-7)/);
  });
});

describe("the time zone of a program", () => {
  const offset = "return [new Date(0).getTimezoneOffset(), Intl.DateTimeFormat().resolvedOptions().timeZone]";
  const inZone = (time_zone?: string): Program => ({
    code: offset,
    environment: time_zone === undefined ? SEEDED : { ...SEEDED, time_zone },
  });

  it("is the one that it is given, program after program, and stays without one", () => {
    const values = run([inZone("Asia/Kolkata"), inZone(), inZone("America/Caracas"), inZone("UTC")], "UTC");
    expect(values.map(({ value }) => value)).toEqual([
      [-330, "Asia/Calcutta"],
      [-330, "Asia/Calcutta"],
      [expect.any(Number), "America/Caracas"],
      [0, "UTC"],
    ]);
    expect(run([inZone()], "Asia/Kolkata")[0]?.value).toEqual([-330, "Asia/Calcutta"]);
  });
});

describe("the clocks of a program that is replayed", () => {
  it("all show the time of the recording, and the reading that it has", () => {
    const started_ms = Date.UTC(2001, 2, 4, 5, 6, 7, 89);
    const shown = {
      "Date.now()": started_ms,
      "new Date().getTime()": started_ms,
      "new Date(0).getTime()": 0,
      "new Date().constructor === Date": true,
      "performance.timeOrigin": started_ms,
      "performance.now()": 0,
      "performance.mark('a').startTime": 0,
      "performance.mark('b', { startTime: 7 }).startTime": 7,
      "performance.measure('m').duration": 0,
      "performance.measure('m', 'b').duration": -7,
      "performance.measure('m', 'a', 'b').duration": 7,
      "performance.measure('m', { start: 2, duration: 5 }).duration": 5,
      "performance.measure('m', { start: 2, end: 3 }).duration": 1,
      "performance.measure('m', { start: 2 }).duration": -2,
      "process.hrtime()": [0, 0],
      "process.hrtime([0, 5])": [-1, 999_999_995],
      "process.hrtime([1, 0])": [-1, 0],
      "String(process.hrtime.bigint())": "0",
      "process.uptime()": 0,
      "require('node:os').uptime()": 0,
      "new Intl.DateTimeFormat('en', { dateStyle: 'short' }).format()": "3/4/01",
      "new Intl.DateTimeFormat('en').formatToParts().at(-1).value": "2001",
    };
    // One change of 0, ever again: every reading is that of the start.
    const clock = Buffer.from([0, 99]).toString("base64");
    const environment = { ...SEEDED, replay: { started_ms, clock, events: "" } };
    const again = runOne(`return [${Object.keys(shown).join(", ")}]`, environment);
    expect(again.value).toEqual(Object.values(shown));
  });
});

describe("the clocks of a program that runs", () => {
  it("go by the same time, each in its own unit", () => {
    const units = {
      "performance.now()": 1_000,
      "process.uptime()": 1,
      "require('node:os').uptime()": 1,
      "Number(process.hrtime.bigint())": 1e9,
      "process.hrtime().reduce((seconds, ns) => seconds * 1e9 + ns)": 1e9,
      "performance.mark('end').startTime": 1_000,
    };
    const code = `await new Promise((done) => setTimeout(done, 20)); return [${Object.keys(units).join(", ")}];`;
    const values = runOne(code).value as number[];
    const read = Object.values(units).map((perSecond, index) => (values[index] as number) / perSecond);
    const seconds = read.map((each) => Math.round(each * 1e5) / 1e5);
    expect(seconds).toEqual(seconds.toSorted((a, b) => a - b));
    expect(seconds[0]).toBeGreaterThan(0);
  });
});

describe("the trace of a program", () => {
  const begun = () => {
    const environment = new Environment();
    environment.begin(undefined, { expect: () => false, release() {} });
    return environment;
  };
  const MANY = Array.from({ length: 120_000 }, (_, index) => index * (1 + (index % 2)));

  it("is complete unless the clock or the events had more than it holds, and the next one begins anew", () => {
    const environment = begun();
    expect(environment.trace()).toMatchObject({ clock: "", events: "", complete: true });
    for (const event of MANY) environment.order.happen(event, () => {});
    expect(environment.trace()).toMatchObject({ clock: "", complete: false });
    environment.end();
    expect(environment.trace()).toMatchObject({ clock: "", events: "", complete: true });
    const other = begun();
    for (const reading of MANY) other.clock.log.push(reading);
    expect(other.trace()).toMatchObject({ events: "", complete: false });
  });
});

interface TimerScene {
  programs: string[];
  values: unknown[];
  session?: boolean;
  replayed?: boolean;
  after_short?: boolean;
}
const TIMERS: Record<string, TimerScene> = parse(
  readFileSync(join(import.meta.dirname, "timers.yaml"), "utf8"),
);
const WAIT = "await new Promise((done) => setTimeout(done, 40));";
const ONE_TIMER = "await new Promise((done) => setTimeout(done, 1)); return 1";

describe("timers of a program", () => {
  it.each(Object.entries(TIMERS))("%s", (_, { programs, values, session, replayed, after_short }) => {
    const codes = programs.map((program) => program.replaceAll("WAIT", WAIT));
    const environment = after_short ? replayOf(runOne(ONE_TIMER)) : SEEDED;
    const ran = run(codes.map((code) => ({ code, environment, isSession: session === true })));
    expect(ran.map(({ value = null }) => value)).toEqual(values);
    if (replayed) for (const live of ran) expect(runOne(codes[0] ?? "", replayOf(live))).toEqual(live);
  });
});
