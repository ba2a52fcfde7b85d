import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { describeSandboxed } from "../../../sandbox/in-sandbox.ts";
import { useRecordedPrograms } from "../../../sandbox/programs/recorded-programs.ts";

/** Answers after a time that is another in every run. */
const unsteady = async ({ args }: { args: Record<string, unknown> }) => {
  await sleep(Math.random() * 40);
  return { echo: args };
};

const EVERYTHING = `
import crypto, { randomUUID, randomBytes, randomInt, randomFill } from "node:crypto";
import os from "node:os";
import { performance as perf } from "node:perf_hooks";
import { hrtime } from "node:process";
import { setTimeout as sleep, setImmediate as turn, setInterval as ticks } from "node:timers/promises";
import { promisify } from "node:util";
const seen = [];
const note = (...values) => seen.push(values.map((value) => typeof value === "bigint" ? String(value) : value));
note("random", Math.random(), Math.random(), randomUUID(), randomBytes(8).toString("hex"), randomInt(1000), randomInt(-5, 5));
note("web", globalThis.crypto.randomUUID(), [...globalThis.crypto.getRandomValues(new Uint16Array(4))], [...crypto.getRandomValues(new Uint8Array(3))]);
note("v7", crypto.randomUUIDv7?.());
note(require("node:crypto").randomBytes(4).toString("hex"));
await new Promise((done) => randomBytes(8, (_, bytes) => { note("callback", bytes.toString("hex")); done(); }));
await new Promise((done) => randomFill(new Uint32Array(4), 1, 2, (_, words) => { note("fill", [...words]); done(); }));
await new Promise((done) => randomInt(100, (_, value) => { note("int", value); done(); }));
note("clock", Date.now(), new Date(), Date(), performance.now(), performance.timeOrigin, perf.now(), hrtime(), hrtime.bigint(), process.uptime(), os.uptime());
note("format", new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "full" }).format(), new Intl.DateTimeFormat().formatToParts().length);
note("zone", new Date().toString(), new Date().toLocaleString(), Intl.DateTimeFormat().resolvedOptions().timeZone);
note("host", os.hostname(), process.pid, os.freemem() === os.totalmem());
console.time("calls");
const end = Date.now() + 30;
let rounds = 0;
while (Date.now() < end) rounds++;
note("rounds", rounds);
const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
await Promise.all(names.map(async (name) => {
  await callTool("mcp__desk__echo", { name, at: Date.now() });
  note("answer", name, Math.random());
  await null;
  note("after", name, performance.now());
  await callTool("mcp__desk__echo", { name, id: randomUUID() });
  note("second", name);
}));
for (let i = 0; i < 6; i++) {
  note("race", await Promise.race([callTool("mcp__desk__echo", { i }).then(() => "call"), sleep(20, "timer")]));
}
console.timeLog("calls", seen.length);
let polls = 0;
let answered = false;
const slow = callTool("mcp__desk__echo", { slow: true }).then(() => { answered = true; });
while (!answered) { polls++; await turn(); }
note("polls", polls);
let beats = 0;
const heart = setInterval(() => note("beat", ++beats, Date.now()), 3);
await callTool("mcp__desk__echo", { last: true });
clearInterval(heart);
for await (const value of ticks(2, "tick")) { note(value, Date.now()); if (seen.at(-1)[1] % 2 === 0) break; }
setTimeout(() => note("cleared"), 1).close();
const [later, sooner] = [promisify(setTimeout)(6, "later"), promisify(setTimeout)(5, "sooner")];
note(await Promise.race([later, sooner]));
note(await sleep(50, 0, { signal: AbortSignal.timeout(5) }).catch((error) => [error.name, error.cause.name]));
performance.mark("one");
note("marks", performance.measure("whole", "one").duration, performance.getEntriesByName("one")[0].startTime);
console.timeEnd("calls");
console.log(seen.length);
globalThis.result = seen;
`;

describeSandboxed("a program that is replayed", () => {
  const { record, replay } = useRecordedPrograms();

  test("comes to the same result, to the byte, whatever it reads of the world", async () => {
    const live = await record(EVERYTHING, unsteady);
    expect(live.claim).toMatchObject({ ok: true });
    expect(live.trace?.complete).toBe(true);
    for (let round = 0; round < 2; round++) {
      const again = await replay(EVERYTHING, live);
      expect(again.claim).toEqual(live.claim);
      expect(again.console).toBe(live.console);
      expect(again.trace).toEqual(live.trace);
    }
    const other = await record(EVERYTHING, unsteady);
    expect(other.claim).not.toEqual(live.claim);
  });

  test.each([
    [
      "files against long timers",
      `import { readFile, writeFile } from "node:fs/promises";
       await writeFile("/tmp/file", "text");
       globalThis.result = await Promise.race([readFile("/tmp/file", "utf8"), new Promise((r) => setTimeout(r, 100, "timer"))]);`,
      "text",
    ],
    [
      "a timer against a call that is never answered",
      `const slow = callTool("mcp__desk__never", {}).then(() => "call");
       globalThis.result = await Promise.race([slow, new Promise((r) => setTimeout(r, 30, "timer"))]);
       process.exit(0);`,
      "timer",
    ],
    [
      "a server that stays open",
      `import { createServer } from "node:net";
       const server = createServer().listen("/tmp/socket");
       const seen = [];
       for (let i = 0; i < 2; i++) seen.push(await Promise.race([callTool("mcp__desk__echo", { i }).then(() => "call"), new Promise((r) => setTimeout(r, 20, "timer"))]));
       server.close();
       globalThis.result = seen.length;`,
      2,
    ],
    [
      "timers that do not hold the program",
      `setTimeout(() => { globalThis.result = "fired"; }, 10_000).unref();
       const timer = setTimeout(() => {}, 5);
       const ids = [timer.hasRef(), clearTimeout(+timer), timer.hasRef()];
       await callTool("mcp__desk__echo", {});
       globalThis.result = ids;`,
      [true, null, false],
    ],
    [
      "an interval that clears itself, and a timer that is refreshed",
      `const seen = [];
       const timer = setTimeout(() => { seen.push("late"); }, 20);
       const beat = setInterval(function () { seen.push(this === beat); if (seen.length === 3) clearInterval(beat); else timer.refresh(); }, 2);
       await new Promise((r) => setTimeout(r, 60));
       globalThis.result = seen;`,
      [true, true, true, "late"],
    ],
    [
      "who waits in which context",
      `import { AsyncLocalStorage } from "node:async_hooks";
       const storage = new AsyncLocalStorage();
       const seen = [];
       await Promise.all([1, 2].map((n) => storage.run(n, async () => {
         await new Promise((r) => setTimeout(() => { seen.push(storage.getStore()); r(); }, 10 - n));
         await callTool("mcp__desk__echo", { n });
         seen.push(storage.getStore());
       })));
       globalThis.result = seen.sort();`,
      [1, 1, 2, 2],
    ],
  ])("is told the same of %s", async (_, code, data) => {
    const answer = ({ tool }: { tool: string }) =>
      tool.endsWith("never") ? new Promise<never>(() => {}) : sleep(Math.random() * 40);
    const live = await record(code, answer);
    expect(live.claim).toMatchObject({ ok: true, data });
    const again = await replay(code, live);
    expect(again.claim).toEqual(live.claim);
    expect(again.trace).toEqual(live.trace);
  });

  test("fails again as it failed, by its own code or by ending itself", async () => {
    for (const code of [
      "setTimeout(() => { throw new Error('late ' + Date.now() + Math.random()); }, 5); await callTool('mcp__desk__echo', {}); setInterval(() => {}, 1);",
      "await callTool('mcp__desk__echo', {}); globalThis.result = Date.now(); process.exit(0);",
      "await new Promise((r) => setTimeout(r, 5)); await new Promise(() => {});",
    ]) {
      const live = await record(code, unsteady);
      const again = await replay(code, live);
      expect(live.claim).toBeDefined();
      expect([again.claim, again.trace]).toEqual([live.claim, live.trace]);
    }
  });

  test("goes on live where the record ends, or belongs to another program", async () => {
    const count = (calls: number) => `
      let beats = 0;
      const heart = setInterval(() => beats++, 2);
      for (let i = 0; i < ${calls}; i++) {
        await callTool("mcp__desk__echo", { i });
        await new Promise((r) => setTimeout(r, 5));
      }
      clearInterval(heart);
      globalThis.result = [beats > 0, Date.now()];`;
    const live = await record(count(2), unsteady);
    const records = [
      live.trace,
      { ...live.trace, events: "" },
      { ...live.trace, clock: "" },
      { ...live.trace, events: "AgQGCAoM////////////////", clock: "////" },
    ];
    for (const trace of records) {
      const { claim } = await record(count(4), unsteady, { replay: trace as NonNullable<typeof live.trace> });
      expect(claim).toMatchObject({ ok: true, data: [true, expect.any(Number)] });
    }
    const other =
      "const { echo } = await callTool('mcp__desk__echo', { other: 1 }); setImmediate(() => { globalThis.result = echo; });";
    const { claim } = await record(other, unsteady, { replay: live.trace as NonNullable<typeof live.trace> });
    expect(claim).toMatchObject({ ok: true, data: { other: 1 } });
  });

  test("has left the trace of its beginning when it is killed", async () => {
    const code = `
      const end = Date.now() + 1_500;
      while (Date.now() < end) await callTool("mcp__desk__echo", {});
      process.reallyExit(3);`;
    const live = await record(code, () => sleep(20));
    expect(live.claim).toBe(undefined);
    expect(live.trace?.events).not.toBe("");
    const { trace } = await replay(code, live);
    expect(trace?.started_ms).toBe(live.trace?.started_ms);
  });
});

describeSandboxed("what a program sees of the world", () => {
  const { record } = useRecordedPrograms();
  const facts = async (code: string, environment = {}) => {
    const { claim } = await record(code, undefined, environment);
    if (!claim?.ok) throw new Error(JSON.stringify(claim));
    return claim.data as Record<string, unknown>;
  };

  test("is the locale of every sandbox, and the time zone that the host names", async () => {
    const code = `globalThis.result = {
      zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      summer: new Date(2024, 6, 1).toISOString(), winter: new Date(2024, 0, 1).toString(),
      locale: new Intl.NumberFormat().resolvedOptions().locale, number: (1234.5).toLocaleString(), order: ["ö", "z", "o"].sort(new Intl.Collator().compare),
    };`;
    const locale = { locale: "en-US", number: "1,234.5", order: ["o", "ö", "z"] };
    expect(await facts(code)).toEqual({
      ...locale,
      zone: "UTC",
      summer: "2024-07-01T00:00:00.000Z",
      winter: "Mon Jan 01 2024 00:00:00 GMT+0000 (Coordinated Universal Time)",
    });
    expect(await facts(code, { time_zone: "Europe/Berlin" })).toEqual({
      ...locale,
      zone: "Europe/Berlin",
      summer: "2024-06-30T22:00:00.000Z",
      winter: "Mon Jan 01 2024 00:00:00 GMT+0100 (Central European Standard Time)",
    });
  });

  test("is refused in Node's own words when it asks for what there is not", async () => {
    const code = `import crypto from "node:crypto";
      import { setTimeout as wait } from "node:timers/promises";
      const attempt = (f) => { try { return typeof f(); } catch (error) { return error.code ?? error.name; } };
      globalThis.result = {
        bytes: [attempt(() => crypto.randomBytes(-1)), attempt(() => crypto.randomBytes("8")), attempt(() => crypto.randomBytes(8, 1))],
        fill: [attempt(() => crypto.randomFillSync([])), attempt(() => crypto.randomFillSync(new Uint8Array(2), 3)), attempt(() => crypto.randomFill(new Uint8Array(2)))],
        int: [attempt(() => crypto.randomInt(0)), attempt(() => crypto.randomInt(5, 1)), attempt(() => crypto.randomInt(2 ** 50)), attempt(() => crypto.randomInt(1.5))],
        uuid: [attempt(() => crypto.randomUUID(1)), attempt(() => globalThis.crypto.randomUUID.call({}))],
        web: [attempt(() => globalThis.crypto.getRandomValues(new Float64Array(1))), attempt(() => globalThis.crypto.getRandomValues(new Uint8Array(70_000)))],
        timers: [attempt(() => setTimeout("code")), attempt(() => setInterval()), attempt(() => AbortSignal.timeout(-1)), attempt(() => process.hrtime(1)), attempt(() => clearTimeout({}) ?? clearImmediate(null))],
        aborted: await wait(5, 1, { signal: AbortSignal.abort() }).catch((error) => [error.name, error.code]),
        names: [setTimeout.name, clearTimeout.name, Math.random.name, crypto.randomBytes.length, Date.name, performance.now.name],
      };`;
    expect(await facts(code)).toEqual({
      bytes: ["ERR_OUT_OF_RANGE", "ERR_INVALID_ARG_TYPE", "ERR_INVALID_ARG_TYPE"],
      fill: ["ERR_INVALID_ARG_TYPE", "ERR_OUT_OF_RANGE", "ERR_INVALID_ARG_TYPE"],
      int: ["ERR_OUT_OF_RANGE", "ERR_OUT_OF_RANGE", "ERR_OUT_OF_RANGE", "ERR_INVALID_ARG_TYPE"],
      uuid: ["ERR_INVALID_ARG_TYPE", "ERR_INVALID_THIS"],
      web: [17, 22],
      timers: [
        "ERR_INVALID_ARG_TYPE",
        "ERR_INVALID_ARG_TYPE",
        "ERR_OUT_OF_RANGE",
        "ERR_INVALID_ARG_TYPE",
        "undefined",
      ],
      aborted: ["AbortError", "ABORT_ERR"],
      names: ["setTimeout", "clearTimeout", "random", 2, "Date", "now"],
    });
  });

  test("passes as real time does in a live run", async () => {
    const code = `
      const [before, start] = [Date.now(), performance.now()];
      await new Promise((r) => setTimeout(r, 60));
      globalThis.result = { date: Date.now() - before, performance: performance.now() - start, started: before };`;
    const { date, performance: passed, started } = await facts(code);
    expect(date).toBeGreaterThanOrEqual(59);
    expect(passed).toBeGreaterThanOrEqual(59);
    expect(Math.abs(Number(started) - Date.now())).toBeLessThan(60_000);
  });
});
