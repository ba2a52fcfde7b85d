import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Call, ProgramEnvironment, Trace } from "../../protocol/messages.ts";
import { SeriesReader } from "../../protocol/series.ts";
import { missingFor, type RunnerLanguage, runInProcess } from "./runner-process.ts";

const SEED = "5e".repeat(32);
const HOUR_MS = 3_600_000;
const PATIENCE_MS = 60_000;

/** Each sees time, randomness, a timer and the order of answers, asks, and then sees all that once more. */
const PROGRAMS: [name: string, language: RunnerLanguage, code: string][] = [
  [
    "JavaScript",
    "javascript",
    `
    async function look() {
      const order = [];
      await Promise.all([1, 2, 3].map(async (id) => { await callTool("mcp__desk__look", { id }); order.push(id); }));
      await new Promise((resolve) => setTimeout(resolve, 5));
      return { order, at: Date.now(), dice: Math.random() };
    }
    const before = await look();
    setTimeout(() => {}, 60_000).unref();
    await callTool("mcp__desk__ask", before);
    globalThis.result = { before, after: await look() };
    `,
  ],
  [
    "Python that awaits",
    "python",
    `
import asyncio, random, time
async def look():
    order = []
    async def one(id):
        await call_tool("mcp__desk__look", id=id)
        order.append(id)
    await asyncio.gather(*(one(id) for id in (1, 2, 3)))
    await asyncio.sleep(0.005)
    return {"order": order, "at": int(time.time() * 1000), "dice": random.random()}
before = await look()
pause = asyncio.create_task(asyncio.sleep(60))
await call_tool("mcp__desk__ask", before)
pause.cancel()
result = {"before": before, "after": await look()}
`,
  ],
  [
    "Python that blocks",
    "python",
    `
import random, threading, time
def look():
    order = []
    def one(id):
        call_tool("mcp__desk__look", id=id)
        order.append(id)
    threads = [threading.Thread(target=one, args=(id,)) for id in (1, 2, 3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    time.sleep(0.005)
    return {"order": order, "at": int(time.time() * 1000), "dice": random.random()}
before = look()
asked = threading.Event()
pause = threading.Thread(target=asked.wait, args=(60,))
pause.start()
call_tool("mcp__desk__ask", before)
asked.set()
result = {"before": before, "after": look()}
`,
  ],
  [
    "Python with a thread that waits inside of the system",
    "python",
    `
import os, random, threading, time
def look():
    order = []
    for id in (1, 2, 3):
        call_tool("mcp__desk__look", id=id)
        order.append(id)
    return {"order": order, "at": int(time.time() * 1000), "dice": random.random()}
before = look()
from_here, to_there = os.pipe()
blocked = threading.Thread(target=lambda: os.read(from_here, 1))
blocked.start()
call_tool("mcp__desk__ask", before)
os.write(to_there, b"!")
blocked.join()
result = {"before": before, "after": look()}
`,
  ],
];

const valuesOf = (series: string) => {
  const reader = new SeriesReader(series);
  const values: number[] = [];
  for (let value = reader.next(); value !== undefined; value = reader.next()) values.push(value);
  return values;
};
const isAsk = ({ tool }: Call) => tool === "mcp__desk__ask";
const unsteady = (value: unknown = null) => delay(Math.random() * 10, value);

interface Looked {
  order: number[];
  at: number;
  dice: number;
}

const titled = PROGRAMS.map(([name, ...rest]) => [name + missingFor(rest[0]), ...rest] as const);

describe.each(titled)("a runner of %s", (_, language, code) => {
  const withRunner = it.skipIf(missingFor(language) !== "");
  const run = (environment: Omit<ProgramEnvironment, "seed">, answer: Parameters<typeof runInProcess>[3]) =>
    runInProcess(language, code, { seed: SEED, ...environment }, answer);

  withRunner("tells what a waiting program has seen, each time that the host asks", async () => {
    const { claim, traces } = await run({}, async (call, connection) => {
      if (!isAsk(call)) return unsteady();
      // The answer is sent behind them.
      for (let times = 0; times < 5; times++) void connection.requestTrace(PATIENCE_MS);
      return null;
    });
    expect(claim).toMatchObject({ ok: true });
    expect(traces).toBeGreaterThanOrEqual(6);
  });

  withRunner(
    "goes on with a run whose sandbox is gone, in the present, and replays the whole of it",
    async () => {
      const killed = new AbortController();
      let asked: Looked | undefined;
      const suspended = await runInProcess(
        language,
        code,
        { seed: SEED },
        async (call, connection) => {
          if (!isAsk(call)) return unsteady();
          asked = call.arguments as Looked;
          await connection.requestTrace(PATIENCE_MS);
          killed.abort();
          return new Promise(() => {});
        },
        killed.signal,
      );
      expect(suspended).toMatchObject({ claim: undefined, trace: { complete: true } });
      const { started_ms, clock, events } = suspended.trace as Trace;

      // Some time goes by.
      const earlier = { started_ms: started_ms - HOUR_MS, clock, events };
      const before = { ...(asked as Looked), at: (asked as Looked).at - HOUR_MS };
      const resumed = await run({ replay: { ...earlier, resumes: true } }, async (call, connection) => {
        if (!isAsk(call)) return unsteady();
        expect(call.arguments).toEqual(before);
        // It can be suspended at the same place again.
        await connection.requestTrace(PATIENCE_MS);
        expect(connection.trace).toEqual({ ...earlier, complete: true });
        return null;
      });
      expect(resumed.claim).toMatchObject({ ok: true, data: { before } });
      const { after } = (resumed.claim?.ok === true ? resumed.claim.data : {}) as { after: Looked };
      expect(after.at - before.at).toBeGreaterThanOrEqual(HOUR_MS);
      expect(after.dice).not.toBe(before.dice);

      const whole = resumed.trace as Trace;
      expect(whole).toMatchObject({ started_ms: earlier.started_ms, complete: true });
      for (const series of ["clock", "events"] as const) {
        const [seen, all] = [valuesOf(earlier[series]), valuesOf(whole[series])];
        expect(all.slice(0, seen.length)).toEqual(seen);
        expect(all.length).toBeGreaterThan(seen.length);
      }
      const { complete: _complete, ...replay } = whole;
      const again = await run({ replay }, async () => unsteady());
      expect(again.claim).toEqual(resumed.claim);
      expect(again.trace).toEqual(whole);
    },
  );
});
