import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { CheckingPool } from "../../../broker/schemas/checking-pool.ts";
import { checkAgainstSchema } from "../../../broker/schemas/schema-check.ts";
import { IsolatingValidator } from "../../../broker/schemas/schema-validator.ts";
import { Random } from "../../fuzz/random.ts";
import { sampleSchema, sampleValue, target } from "../../fuzz/targets/schema.ts";
import { tries } from "../../tries.ts";

const moduleUrl = new URL("../../../broker/schemas/schema-worker.ts", import.meta.url);
const runaway = { type: "string", pattern: "^(a+)+$" };
const RUNAWAY_VALUE = `${"a".repeat(40)}!`;
/** Never checked in this thread: a pattern is for a thread, a reference to itself for a process. */
const LANES = {
  thread: { type: "string", pattern: "^a+$" },
  process: { anyOf: [{ type: "string" }, { items: { $ref: "#" } }] },
};

const it = test.extend<{ validator: IsolatingValidator }>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads which fixtures this one needs.
  validator: async ({}, use) => {
    const validator = new IsolatingValidator();
    await use(validator);
    await validator.close();
  },
});

describe.concurrent("values that wait behind one that runs away", { timeout: 120_000 }, () => {
  it.for([
    ["in a thread", runaway, LANES.thread, "aaa"],
    ["in a process", { ...runaway, $defs: { a: {} }, items: { $ref: "#" } }, LANES.process, "x"],
  ] as const)(
    "are checked when it has been given up, %s",
    async ([, hostile, schema, valid], { validator }) => {
      const checksOf = (owner: string) =>
        Array.from({ length: 6 }, (_, i) => validator.check({ ...schema, title: `${i}` }, valid, owner));
      const problems = await Promise.all([
        ...Array.from({ length: 2 }, () => validator.check(hostile, RUNAWAY_VALUE, "hostile")),
        ...checksOf("hostile"),
        ...checksOf("other"),
      ]);
      expect(problems.slice(0, 2)).toEqual(Array(2).fill({ unchecked: "its schema takes too long" }));
      expect(problems.slice(2)).toEqual(Array(12).fill(undefined));
    },
  );

  it("are not kept by the schemas of another server", async ({ validator }) => {
    // On a busy machine, a thread may take as long to start as a check may take.
    await validator.check(LANES.thread, "aaaa", "other");
    const settled: string[] = [];
    for (const title of ["1", "2", "3"])
      void validator
        .check({ ...runaway, title }, RUNAWAY_VALUE, "hostile")
        .then(() => settled.push("hanging"));
    await validator.check(LANES.thread, "aaa", "other").then(() => settled.push("valid"));
    expect(settled.at(0)).toBe("valid");
  });

  it("are checked too where their schema is the one that ran away before", async ({ validator }) => {
    expect(await validator.check(runaway, RUNAWAY_VALUE)).toEqual({ unchecked: "its schema takes too long" });
    expect(await validator.check(runaway, "aaa")).toBeUndefined();
    const problem = { place: "", message: 'must match pattern "^(a+)+$"' };
    expect(await validator.check(runaway, "b")).toEqual(problem);
  });
});

describe("a schema that cannot be compiled in time", { timeout: 120_000 }, () => {
  it("is refused at once for a minute, and then tried again", async () => {
    const bounds = { compileMs: 1, checkMs: 20_000 };
    const pool = new CheckingPool(moduleUrl, bounds);
    onTestFinished(() => pool.close());
    const json = JSON.stringify({
      allOf: Array.from({ length: 3_000 }, (_, i) => ({ required: [`r${i}`] })),
    });
    const check = { owner: "a", schema: "slow", json, value: 1, mayUseThread: false };
    const refused = { state: "overtime", of: "schema" };
    expect(await pool.check(check)).toEqual(refused);
    bounds.compileMs = 60_000;
    expect(await pool.check({ ...check, mayUseThread: true })).toEqual(refused);
    expect(await pool.check({ ...check, schema: "another", json: "true" })).toEqual({ state: "checked" });
    const clock = vi.spyOn(performance, "now");
    onTestFinished(() => clock.mockRestore());
    const now = performance.now();
    clock.mockReturnValue(now + 50_000);
    expect(await pool.check(check)).toEqual(refused);
    clock.mockReturnValue(now + 70_000);
    expect(await pool.check(check)).toEqual({ state: "checked" });
  });
});

describe("a schema", { timeout: 120_000 }, () => {
  const found = (place: string, message: string) => ({ state: "checked", problem: { place, message } });
  const [inThread, inProcess, inQuarantine] = [
    found("thread", ""),
    found("process", '{"compileMs":60000,"checkMs":60000}'),
    found("process", '{"compileMs":60000,"checkMs":30000}'),
  ];

  it.for<[value: string, outcome: object, later: object]>([
    ["fine", inThread, inThread],
    ["late", { state: "overtime", of: "value" }, inQuarantine],
    ["end", { state: "died" }, inQuarantine],
    ["ready", { state: "died" }, inQuarantine],
    ["late schema", { state: "overtime", of: "schema" }, { state: "overtime", of: "schema" }],
  ])(
    "is checked in quarantine for a minute, with half of the time, only if it took too long before: %s",
    async ([value, outcome, later]) => {
      const pool = new CheckingPool(new URL("./fixtures/telling-worker.ts", import.meta.url), {
        ...{ compileMs: 60_000, checkMs: 60_000 },
      });
      onTestFinished(() => pool.close());
      const check = (schema: string, each: unknown, mayUseThread = true) =>
        pool.check({ owner: "a", schema, json: "true", value: each, mayUseThread });
      expect(await check("s", "fine")).toEqual(inThread);
      expect(await check("s", "fine", false)).toEqual(inProcess);
      expect(await check("s", value)).toEqual(outcome);
      expect(await check("s", "fine")).toEqual(later);
      expect(await check("another", "fine")).toEqual(inThread);
      const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 61_000);
      onTestFinished(() => clock.mockRestore());
      expect(await check("s", "fine")).toEqual(inThread);
    },
  );
});

test("a process that never answers is given up after its time and five seconds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const bounds = { compileMs: 2_000, checkMs: 1_000 };
  const pool = new CheckingPool(new URL("./fixtures/telling-worker.ts", import.meta.url), bounds);
  onTestFinished(() => pool.close());
  const check = (value: string) =>
    pool.check({ owner: "a", schema: "s", json: "true", value, mayUseThread: false });
  await check("fine");
  const outcomes: unknown[] = [];
  void check("silence").then((outcome) => outcomes.push(outcome));
  await vi.advanceTimersByTimeAsync(7_999);
  expect(outcomes).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(outcomes).toEqual([{ state: "died" }]);
}, 120_000);

describe("a value that cannot be checked", { timeout: 120_000 }, () => {
  it("is refused when the processes end", async () => {
    const validator = new IsolatingValidator();
    const checks = [...Object.values(LANES), runaway].map((schema) => validator.check(schema, RUNAWAY_VALUE));
    await validator.close();
    for (const problem of await Promise.all(checks)) expect(problem).toEqual({ unchecked: "ptc is ending" });
    expect(await validator.check(runaway, "a")).toEqual({ unchecked: "ptc is ending" });
  });

  it.each(Object.entries(LANES))(
    "is refused when no %s starts, and the next one is too",
    async (_name, schema) => {
      const validator = new IsolatingValidator(new URL("./no-such-module.ts", import.meta.url));
      for (let i = 0; i < 2; i++)
        expect(await validator.check(schema, "a")).toEqual({
          unchecked: "nothing could be started to check it in",
        });
    },
  );

  it("is refused when it takes more memory than a process has, and others are not", async ({ validator }) => {
    const greedy = { contains: { anyOf: Array(50).fill({ type: "string" }) } };
    const [refused, valid] = await Promise.all([
      validator.check(greedy, Array(500_000).fill(1), "greedy"),
      validator.check(LANES.process, "a", "other"),
    ]);
    expect(refused).toEqual({ unchecked: expect.any(String) });
    expect(valid).toBeUndefined();
  });

  it("is refused under a schema of megabytes", async ({ validator }) => {
    const schema = { enum: Array.from({ length: 400_000 }, (_, i) => `value ${i}`) };
    expect(await validator.check(schema, "x")).toEqual({ unchecked: "its schema is too large" });
  });
});

describe("threads and processes", { timeout: 120_000 }, () => {
  it.each(Object.entries(LANES))("keep nobody from ending: %s", async (_name, schema) => {
    const program = `
      import { IsolatingValidator } from ${JSON.stringify(new URL("../../../broker/schemas/schema-validator.ts", import.meta.url))};
      console.log(await new IsolatingValidator().check(${JSON.stringify(schema)}, "a"));`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "pipe" });
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect([output, code]).toEqual(["undefined\n", 0]);
  });

  it("find what this thread finds", async () => {
    const pool = new CheckingPool(moduleUrl);
    onTestFinished(() => pool.close());
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const random = new Random(seed);
        const schema = sampleSchema(random);
        const value = sampleValue(random);
        const json = JSON.stringify(schema);
        const problem = checkAgainstSchema(json, value);
        for (const mayUseThread of [true, false]) {
          const check = { owner: "a", schema: json, json, value, mayUseThread };
          expect(await pool.check(check)).toEqual(
            problem === undefined ? { state: "checked" } : { state: "checked", problem },
          );
        }
      }),
      { numRuns: tries(40) },
    );
  });
});

it("answers whatever schemas and values it is given, and the same each time", async () => {
  await target.run(1, 200);
}, 120_000);
