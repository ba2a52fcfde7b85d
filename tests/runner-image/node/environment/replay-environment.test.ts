import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { unsteady, useRecordedPrograms } from "../../../sandbox/programs/recorded-programs.ts";
import { ProcessEngine } from "../../process-engine.ts";

const { record, replay } = useRecordedPrograms(() => new ProcessEngine());

describe("a program that is replayed", () => {
  test.each([
    [
      "a timer against a call that is never answered",
      `const slow = callTool("mcp__desk__never", {}).then(() => "call");
       globalThis.result = await Promise.race([slow, new Promise((r) => setTimeout(r, 30, "timer"))]);
       process.exit(0);`,
      "timer",
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

describe("what a program sees of the world", () => {
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
    const { claim } = await record(code);
    expect(claim?.ok && claim.data).toEqual({
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
});
