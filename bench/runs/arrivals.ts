import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Bench, type Figure, type Measurement, percentile, show } from "../measurement.ts";
import { makeProject, type Served, servePtc } from "../peers.ts";

const MINUTE_MS = 60_000;
const QUICK_MS = 8_000;
const IN_FLIGHT = 4;
const RATES = [1, 3, 6] as const;
const BURSTS = [16, 64] as const;
const LONE_RUNS = 12;
const LONE_GAP_MS = 700;

interface Answered {
  tookMs: number;
  outcome: "ok" | "busy" | "failed";
}

/** Four programs always in flight. */
export const steady: Measurement = {
  name: "steady",
  about: `${IN_FLIGHT} programs in flight for a minute`,
  async measure(bench: Bench) {
    const ptc = await servePtc(makeProject(join(bench.folder, "steady")));
    await answer(ptc, 0);
    const lastsMs = bench.isQuick ? QUICK_MS : MINUTE_MS;
    const startedAt = performance.now();
    const answered: Answered[] = [];
    const keepRunning = async () => {
      while (performance.now() - startedAt < lastsMs) answered.push(await answer(ptc, answered.length));
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, keepRunning));
    const seconds = (performance.now() - startedAt) / 1_000;
    await ptc.close();
    const times = show(answered.map(({ tookMs }) => tookMs));
    return [
      {
        name: `${IN_FLIGHT} in flight`,
        value: answered.length / seconds,
        unit: "runs/s",
        bound: { atLeast: 8 },
        detail: `${times} ms, for ${seconds.toFixed(0)} s`,
      },
      notOk(`${IN_FLIGHT} in flight, not answered`, answered),
    ];
  },
};

/** Programs that arrive independently of each other, and in bursts, against single ones. */
export const arrivals: Measurement = {
  name: "arrivals",
  about: `Poisson arrivals of ${RATES.join(", ")} a second for a minute, bursts of ${BURSTS.join(" and ")}`,
  async measure(bench: Bench) {
    const ptc = await servePtc(makeProject(join(bench.folder, "arrivals")));
    const loneMs: number[] = [];
    for (let i = -2; i < bench.rounds(LONE_RUNS); i++) {
      await delay(LONE_GAP_MS);
      const { tookMs } = await answer(ptc, i);
      if (i >= 0) loneMs.push(tookMs);
    }
    const lone = percentile(loneMs, 0.5);
    const figures: Figure[] = [];
    const against = "a lone run, p50";
    for (const rate of RATES) {
      const answered = await arriving(ptc, rate, bench.isQuick ? QUICK_MS : MINUTE_MS);
      const times = answered.map(({ tookMs }) => tookMs);
      const detail = `${show(times)} to ${lone.toPrecision(3)} ms`;
      for (const p of [50, 95]) {
        const value = percentile(times, p / 100) / lone;
        figures.push({ name: `${rate} a second, p${p}`, value, unit: "times", against, detail });
      }
      figures.push(notOk(`${rate} a second, not answered`, answered));
      await delay(LONE_GAP_MS);
    }
    for (const size of BURSTS) {
      const answered = await Promise.all(Array.from({ length: size }, (_, i) => answer(ptc, i)));
      const times = answered.map(({ tookMs }) => tookMs);
      const busy = answered.filter(({ outcome }) => outcome === "busy").length;
      figures.push({
        name: `burst of ${size}, last answer`,
        value: Math.max(...times) / lone,
        unit: "times",
        against,
        detail: `${show(times)} ms, ${busy} told that ptc is busy`,
      });
      // A program that is refused because the queue is full does not count as failed in a burst larger than the queue.
      const held = size <= BURSTS[0] ? answered : answered.filter(({ outcome }) => outcome !== "busy");
      figures.push(notOk(`burst of ${size}, failed`, held));
      await delay(LONE_GAP_MS);
    }
    await ptc.close();
    return figures;
  },
};

function notOk(name: string, answered: readonly Answered[]): Figure {
  const value = answered.filter(({ outcome }) => outcome !== "ok").length;
  return { name, value, unit: "runs", bound: { atMost: 0 }, detail: `of ${answered.length}` };
}

async function arriving(ptc: Served, ratePerSecond: number, lastsMs: number): Promise<Answered[]> {
  const random = seededRandom(ratePerSecond);
  const pending: Promise<Answered>[] = [];
  const startedAt = performance.now();
  for (let dueMs = 0; ; ) {
    dueMs += (-Math.log(1 - random()) / ratePerSecond) * 1_000;
    if (dueMs > lastsMs) break;
    await delay(Math.max(0, startedAt + dueMs - performance.now()));
    pending.push(answer(ptc, pending.length));
  }
  return Promise.all(pending);
}

async function answer({ client }: Served, value: number): Promise<Answered> {
  const startedAt = performance.now();
  const code = `globalThis.result = ${value};`;
  const reply = await client.callTool({ name: "execute_program", arguments: { code } });
  const tookMs = performance.now() - startedAt;
  if (reply.isError !== true) return { tookMs, outcome: "ok" };
  // A program that was not started has no envelope.
  const isBusy = /^Busy: /m.test(JSON.stringify(reply.content).replaceAll("\\n", "\n"));
  return { tookMs, outcome: isBusy ? "busy" : "failed" };
}

/** Makes the same arrivals in every run of the benchmark (mulberry32). From 0 to 1, without 1. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
