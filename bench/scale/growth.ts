import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Figure, percentile, show } from "../figure.ts";
import type { Bench, Measurement } from "../measurement.ts";
import { type BenchServer, makeProject, runProgram, servePtc } from "../peers/ptc.ts";
import { usageOf } from "./process-usage.ts";

const SERVER = join(import.meta.dirname, "../servers/many-tools.mjs");
const ROUNDS = 10;
const REFILL_MS = 700;

interface Size {
  servers: number;
  tools: number;
}

const SMALLEST: Size = { servers: 1, tools: 10 };
const SIZES: readonly Size[] = [
  { servers: 100, tools: 10 },
  { servers: 10, tools: 1_000 },
];
const QUICK_SIZES: readonly Size[] = [{ servers: 10, tools: 10 }];

interface Grown {
  startMs: number[];
  runMs: number[];
  memoryMb: number;
}

/** What grows with servers and tools: the start of `ptc serve`, a warm run, memory. */
export const growth: Measurement = {
  name: "growth",
  about: "start, warm run and memory of `ptc serve`, from 1 to 100 servers and 10 to 10,000 tools",
  async measure(bench: Bench) {
    const smallest = await measureSize(bench, SMALLEST);
    const figures: Figure[] = [];
    const against = `${SMALLEST.servers} server of ${SMALLEST.tools} tools`;
    for (const size of bench.isQuick ? QUICK_SIZES : SIZES) {
      const grown = await measureSize(bench, size);
      const of = `${size.servers} servers of ${size.tools} tools`;
      const times = (what: string, a: number[], b: number[]): Figure => ({
        name: `${what}, ${of}`,
        value: percentile(a, 0.5) / percentile(b, 0.5),
        unit: "times",
        against,
        detail: `${show(a)} to ${show(b)} ms`,
      });
      figures.push(
        times("start of ptc serve", grown.startMs, smallest.startMs),
        times("warm run", grown.runMs, smallest.runMs),
        {
          name: `memory of ptc, ${of}`,
          value: grown.memoryMb / smallest.memoryMb,
          unit: "times",
          against,
          detail: `${grown.memoryMb.toFixed(0)} to ${smallest.memoryMb.toFixed(0)} MiB`,
        },
      );
    }
    return figures;
  },
};

async function measureSize(bench: Bench, { servers, tools }: Size): Promise<Grown> {
  const listed = Array.from(
    { length: servers },
    (_, i): BenchServer => ({
      name: `many${i}`,
      command: process.execPath,
      args: [SERVER, String(tools)],
    }),
  );
  const project = makeProject(join(bench.folder, `growth-${servers}-${tools}`), {}, listed);
  const startMs: number[] = [];
  for (let i = 0; i < bench.rounds(ROUNDS) / 2; i++) {
    const ptc = await servePtc(project);
    startMs.push(ptc.startMs);
    await ptc.close();
  }
  const ptc = await servePtc(project);
  const runMs: number[] = [];
  for (let round = -3; round < bench.rounds(ROUNDS); round++) {
    await delay(REFILL_MS);
    const code = `result = (await mcp__many0__list_issue_0({ id: "${round}" })) !== undefined;`;
    const tookMs = await runProgram(ptc, code);
    if (round >= 0) runMs.push(tookMs);
  }
  const { memoryMb } = usageOf(ptc.pid);
  await ptc.close();
  rmSync(project, { recursive: true, force: true });
  return { startMs, runMs, memoryMb };
}
