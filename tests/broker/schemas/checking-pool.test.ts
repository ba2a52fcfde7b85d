import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
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

const open: { close(): unknown }[] = [];
function opened<T extends { close(): unknown }>(each: T): T {
  open.push(each);
  return each;
}
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

describe("values that wait behind one that runs away", { timeout: 120_000 }, () => {
  it.each([
    ["in a thread", runaway, RUNAWAY_VALUE, LANES.thread, "aaa"],
    [
      "in a process",
      { ...runaway, $defs: { a: {} }, items: { $ref: "#" } },
      RUNAWAY_VALUE,
      LANES.process,
      "x",
    ],
  ])("are checked when it has been given up, %s", async (_name, hostile, value, schema, valid) => {
    const validator = opened(new IsolatingValidator());
    const checks = [
      ...Array.from({ length: 3 }, () => validator.check(hostile, value, "hostile")),
      ...Array.from({ length: 6 }, (_, i) => validator.check({ ...schema, title: `${i}` }, valid, "hostile")),
      ...Array.from({ length: 6 }, (_, i) => validator.check({ ...schema, title: `${i}` }, valid, "other")),
    ];
    const problems = await Promise.all(checks);
    expect(problems.slice(0, 3)).toEqual(Array(3).fill({ unchecked: "its schema takes too long" }));
    expect(problems.slice(3)).toEqual(Array(12).fill(undefined));
  });

  it("are not kept by the schemas of another server", async () => {
    const validator = opened(new IsolatingValidator());
    // On a busy machine, a thread may take as long to start as a check may take.
    await validator.check(LANES.thread, "aaaa", "other");
    const settled: string[] = [];
    const note = (name: string) => () => void settled.push(name);
    const hanging = Array.from({ length: 3 }, (_, i) =>
      validator.check({ ...runaway, title: `${i}` }, RUNAWAY_VALUE, "hostile").then(note("hanging")),
    );
    await validator.check(LANES.thread, "aaa", "other").then(note("valid"));
    await Promise.all(hanging);
    expect(settled.at(0)).toBe("valid");
  });

  it("are checked too where their schema is the one that ran away before", async () => {
    const validator = opened(new IsolatingValidator());
    expect(await validator.check(runaway, RUNAWAY_VALUE)).toEqual({ unchecked: "its schema takes too long" });
    expect(await validator.check(runaway, "aaa")).toBeUndefined();
    expect(await validator.check(runaway, "b")).toEqual({
      place: "",
      message: 'must match pattern "^(a+)+$"',
    });
  });
});

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
      const validator = opened(new IsolatingValidator(new URL("./no-such-module.ts", import.meta.url)));
      for (let i = 0; i < 2; i++)
        expect(await validator.check(schema, "a")).toEqual({
          unchecked: "nothing could be started to check it in",
        });
    },
  );

  it("is refused when it takes more memory than a process has, and others are not", async () => {
    const validator = opened(new IsolatingValidator());
    const greedy = { contains: { anyOf: Array(50).fill({ type: "string" }) } };
    const [refused, valid] = await Promise.all([
      validator.check(greedy, Array(500_000).fill(1), "greedy"),
      validator.check(LANES.process, "a", "other"),
    ]);
    expect(refused).toEqual({ unchecked: expect.any(String) });
    expect(valid).toBeUndefined();
  });

  it("is refused under a schema of megabytes", async () => {
    const validator = opened(new IsolatingValidator());
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
    const pool = opened(new CheckingPool(moduleUrl));
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
