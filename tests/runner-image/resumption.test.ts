import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Call, ProgramEnvironment, Trace } from "../../protocol/messages.ts";
import { SeriesReader } from "../../protocol/series.ts";
import { type Answer, missingFor, type RunnerLanguage, runInProcess } from "./runner-process.ts";

const SEED = "5e".repeat(32);
const HOUR_MS = 3_600_000;
const PATIENCE_MS = 60_000;

/** Each sees time, randomness, a timer and the order of answers, asks, and then sees all that once more. */
const PROGRAMS: Record<string, { language: RunnerLanguage; code: string }> = parse(
  readFileSync(join(import.meta.dirname, "resumption.yaml"), "utf8"),
);

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

const titled = Object.entries(PROGRAMS).map(([name, program]) => ({
  ...program,
  name: name + missingFor(program.language),
}));

describe.each(titled)("a runner of $name", ({ language, code }) => {
  const withRunner = it.skipIf(missingFor(language) !== "");
  const run = (environment: Omit<ProgramEnvironment, "seed">, answer: Answer, signal?: AbortSignal) =>
    runInProcess(language, code, {
      environment: { seed: SEED, ...environment },
      answer,
      ...(signal && { signal }),
    });

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
      const suspend: Answer = async (call, connection) => {
        if (!isAsk(call)) return unsteady();
        asked = call.arguments as Looked;
        await connection.requestTrace(PATIENCE_MS);
        killed.abort();
        return new Promise(() => {});
      };
      const suspended = await run({}, suspend, killed.signal);
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
