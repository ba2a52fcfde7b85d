import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Bench, Measurement } from "../measurement.ts";
import { makeProject, runProgram, servePtc } from "../peers/ptc.ts";
import { machineCpuSeconds, usageOf } from "./process-usage.ts";

const RUNS = 1_000;
const QUICK_RUNS = 100;
const IN_FLIGHT = 2;
/** Long enough for the pool to be full, and for what was started to be idle. */
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
