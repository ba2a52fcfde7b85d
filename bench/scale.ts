import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Bench, type Figure, type Measurement, percentile, show } from "./measurement.ts";
import { type BenchServer, makeProject, runProgram, servePtc } from "./peers.ts";

const SERVER = join(import.meta.dirname, "./servers/many-tools.mjs");
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

/** How the start of `ptc serve`, a warm run and memory grow with servers and tools. */
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

const RUNS = 1_000;
const QUICK_RUNS = 100;
const IN_FLIGHT = 2;
/** Long enough for the pool to be full and everything started to be idle. */
const IDLE_MS = 5_000;

/** Memory of `ptc serve` and its processes when idle and after many runs, and the processor time of a run. */
export const thousandRuns: Measurement = {
  name: "thousand-runs",
  about: `memory idle and after ${RUNS} runs, and processor time of a run`,
  async measure(bench: Bench) {
    const runs = bench.isQuick ? QUICK_RUNS : RUNS;
    const ptc = await servePtc(makeProject(join(bench.folder, "thousand-runs")));
    const run = (value: number) => runProgram(ptc, `globalThis.result = ${value};`);
    await run(0);
    await delay(IDLE_MS);
    const before = usageOf(ptc.pid);
    const machineBefore = machineCpuSeconds();
    let begun = 0;
    const keepRunning = async () => {
      while (begun < runs) await run(++begun);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, keepRunning));
    const machineSeconds = machineCpuSeconds() - machineBefore;
    await delay(IDLE_MS);
    const after = usageOf(ptc.pid);
    await ptc.close();
    const detail = `${before.memoryMb.toFixed(0)} to ${after.memoryMb.toFixed(0)} MiB`;
    return [
      {
        name: `memory after ${runs} runs`,
        value: after.memoryMb / before.memoryMb,
        unit: "times",
        against: "idle, after the first run",
        detail,
      },
      {
        name: `memory grown by ${runs} runs`,
        value: after.memoryMb - before.memoryMb,
        unit: "MiB",
        bound: { atMost: 100 },
        detail,
      },
      { name: "memory of ptc serve, idle", value: before.memoryMb, unit: "MiB" },
      {
        name: "processor time of ptc, a run",
        value: (after.cpuSeconds - before.cpuSeconds) / runs,
        unit: "CPU s",
        detail: "ptc and the processes it starts; sandboxes belong to the engine",
      },
      {
        name: "processor time of the machine, a run",
        value: machineSeconds / runs,
        unit: "CPU s",
        detail: "whatever else the machine did included",
      },
    ];
  },
};

/** What a process and its descendants use, according to Linux's `/proc`. */
interface Usage {
  memoryMb: number;
  cpuSeconds: number;
}

const TICKS_PER_SECOND = 100;
const KB_PER_MB = 1_024;

/** Resident memory and processor time of a process and its descendants, including the time of those that have ended. */
function usageOf(pid: number): Usage {
  const processes = listProcesses();
  const total = { memoryMb: 0, cpuSeconds: 0 };
  const add = (each: number) => {
    const found = processes.get(each);
    if (found === undefined) return;
    total.memoryMb += found.memoryMb;
    total.cpuSeconds += found.cpuSeconds;
    for (const [child, { parent }] of processes) if (parent === each) add(child);
  };
  add(pid);
  return total;
}

/** Processor time that everything on this machine has used, in seconds. */
function machineCpuSeconds(): number {
  const [first = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  const [user = 0, nice = 0, system = 0] = first.split(/\s+/).slice(1).map(Number);
  return (user + nice + system) / TICKS_PER_SECOND;
}

function listProcesses(): Map<number, Usage & { parent: number }> {
  const found = new Map<number, Usage & { parent: number }>();
  for (const name of readdirSync("/proc")) {
    if (!/^[0-9]+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const [, parent] = fields;
      const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
      const [, kb] = /VmRSS:\s+([0-9]+)/.exec(readFileSync(`/proc/${name}/status`, "utf8")) ?? [];
      found.set(Number(name), {
        parent: Number(parent),
        memoryMb: Number(kb ?? 0) / KB_PER_MB,
        cpuSeconds: ticks / TICKS_PER_SECOND,
      });
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}
