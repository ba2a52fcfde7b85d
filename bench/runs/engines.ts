import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { RUNNER_STARTS } from "../../languages/languages.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";
import type { RunnerName } from "../../protocol/runners.ts";
import { DockerEngine } from "../../sandbox/docker/docker-engine.ts";
import { DockerSandboxEngine } from "../../sandbox/docker/docker-sandbox-engine.ts";
import { RunscEngine } from "../../sandbox/runsc/runsc-engine.ts";
import type { SandboxEngine } from "../../sandbox/sandbox-engine.ts";
import { SandboxStarter } from "../../sandbox/sandbox-starter.ts";
import { type Bench, type Figure, type Measurement, percentile, ratio, show } from "../measurement.ts";
import { makeProject, runProgram, type Served, servePtc } from "../peers.ts";
import { timeColdRuns } from "./shell.ts";

const LIMITS = { memoryMb: 512, cpus: 1, pids: 256 };
const NO_OUTPUT = { onStdout() {}, onStderr() {} };
/** Sandboxes measured together, because the kernel counts processor time in hundredths of a second. */
const TOGETHER = 4;
const TICK_MS = 10;
const IN_FLIGHT = 4;
const SLICE_MS = 8_000;
const SLICES = 4;
const SETTLE_MS = 700;
const PROGRAMS: Record<RunnerName, string> = {
  javascript: "globalThis.result = 1;",
  python: JSON.stringify({ mode: "sync", source: "result = 1", file_name: "one.py", modules: {} }),
};

type Engines = Record<"docker" | "runsc", SandboxEngine>;

/** Both engines in one run, alternately. */
export const engines: Measurement = {
  name: "engines",
  about: "a sandbox without an engine, restored from a snapshot, against Docker's",
  async measure(bench: Bench) {
    const opened = await open(bench);
    return [
      await processorTime(bench, opened, "javascript"),
      await processorTime(bench, opened, "python"),
      await onDemand(bench, opened),
      await memory(bench, opened),
      ...(await inFlight(bench)),
      await coldRuns(bench),
    ];
  },
};

async function open({ folder, image }: Bench): Promise<Engines> {
  const [d, r] = ["d", "r"].map((name) => join(folder, name)) as [string, string];
  for (const path of [d, r]) mkdirSync(path, { recursive: true });
  const engines = {
    docker: new DockerSandboxEngine(new DockerEngine(), { folder: d, runners: RUNNER_STARTS }),
    runsc: new RunscEngine({ folder: r, runners: RUNNER_STARTS }),
  };
  const found = await engines.runsc.findImage(image);
  if (found === undefined) throw new Error("there is no image for runsc (PTC_ENGINE=runsc ptc image build)");
  for (const runner of ["javascript", "python"] as const)
    await engines.runsc.snapshot({
      image: found.digest,
      runtime: "runsc",
      runner,
      limits: LIMITS,
      owner: "bench",
    });
  return engines;
}

/** A sandbox that runs a trivial program, from its start until it is completely gone. */
async function live(engine: SandboxEngine, image: string, runner: RunnerName): Promise<void> {
  const source = new SandboxStarter({
    engine,
    owner: "bench",
    image,
    runtime: "runsc",
    runner,
    limits: LIMITS,
  });
  const sandbox = await source.acquire(NO_OUTPUT);
  sandbox.channel.resume();
  const program = {
    type: "program",
    bundle: PROGRAMS[runner],
    data: {},
    max_output_bytes: 10_000,
    max_stderr_bytes: 10_000,
  };
  sandbox.channel.write(encodeFrame(program, MAX_REPLY_FRAME_BYTES));
  await sandbox.exited;
  await sandbox.dispose();
}

/** Processor time of the whole machine, because an engine works in separate processes. */
function busyMs(): number {
  const [, user, nice, system, , , irq, softirq] = (readFileSync("/proc/stat", "utf8").split("\n")[0] ?? "")
    .split(/\s+/)
    .map(Number);
  return [user, nice, system, irq, softirq].reduce<number>((sum, ticks) => sum + (ticks ?? 0), 0) * TICK_MS;
}

async function processorTime(bench: Bench, engines: Engines, runner: RunnerName): Promise<Figure> {
  const spent = { docker: [] as number[], runsc: [] as number[] };
  for (let round = -1; round < bench.rounds(12); round++)
    for (const name of ["docker", "runsc"] as const) {
      await delay(SETTLE_MS);
      const before = busyMs();
      for (let count = 0; count < TOGETHER; count++) await live(engines[name], bench.image, runner);
      await delay(SETTLE_MS / 2);
      if (round >= 0) spent[name].push((busyMs() - before) / TOGETHER);
    }
  const name = `processor time of a sandbox's whole life, ${runner}`;
  return ratio({
    name,
    measuredMs: spent.runsc,
    against: "Docker's",
    baselineMs: spent.docker,
    maxRatio: 0.32,
  });
}

/** A sandbox that is started for its program, as when the pool is empty. */
async function onDemand(bench: Bench, engines: Engines): Promise<Figure> {
  const took = { docker: [] as number[], runsc: [] as number[] };
  for (let round = -1; round < bench.rounds(15); round++)
    for (const name of ["docker", "runsc"] as const) {
      await delay(SETTLE_MS);
      const startedAt = performance.now();
      const source = new SandboxStarter({
        ...{ engine: engines[name], owner: "bench", image: bench.image, runtime: "runsc", limits: LIMITS },
      });
      const written = Promise.withResolvers<void>();
      const sandbox = await source.acquire({ onStdout: () => written.resolve(), onStderr() {} });
      sandbox.channel.resume();
      const program = {
        ...{ type: "program", bundle: PROGRAMS.javascript, data: {} },
        ...{ max_output_bytes: 10_000, max_stderr_bytes: 10_000 },
      };
      sandbox.channel.write(encodeFrame(program, MAX_REPLY_FRAME_BYTES));
      await written.promise;
      if (round >= 0) took[name].push(performance.now() - startedAt);
      await sandbox.dispose();
    }
  const name = "trivial program, its sandbox started for it";
  return ratio({
    name,
    measuredMs: took.runsc,
    against: "Docker's",
    baselineMs: took.docker,
    maxRatio: 0.35,
  });
}

/** The memory of a waiting sandbox, including its share of memory that processes have in common. */
async function memory(bench: Bench, engines: Engines): Promise<Figure> {
  const held: Record<string, number> = {};
  for (const name of ["docker", "runsc"] as const) {
    const source = new SandboxStarter({
      ...{ engine: engines[name], owner: "bench", image: bench.image, runtime: "runsc", limits: LIMITS },
    });
    const sandboxes = await Promise.all(Array.from({ length: TOGETHER }, () => source.acquire(NO_OUTPUT)));
    await delay(2 * SETTLE_MS);
    held[name] = sandboxes.reduce((sum, { id }) => sum + proportionalKb(id), 0) / TOGETHER / 1_024;
    await Promise.all(sandboxes.map((sandbox) => sandbox.dispose()));
  }
  const { docker = Number.NaN, runsc = Number.NaN } = held;
  return {
    name: "memory of a waiting sandbox",
    value: runsc / docker,
    unit: "times",
    against: "Docker's, its shim included",
    bound: { atMost: 1 },
    detail: `${runsc.toFixed(0)} to ${docker.toFixed(0)} MB`,
  };
}

/** The proportional set size of all processes that name a sandbox, and of their children (proc(5), `smaps_rollup`). */
function proportionalKb(id: string): number {
  const parents = new Map<number, number>();
  const named = new Set<number>();
  for (const pid of pidsOf()) {
    const stat = read(`/proc/${pid}/stat`);
    parents.set(pid, Number(/\) \S (\d+)/.exec(stat)?.[1]));
    if (read(`/proc/${pid}/cmdline`).includes(id)) named.add(pid);
  }
  const belongs = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (named.has(pid) || belongs(parents.get(pid)));
  return [...parents.keys()]
    .filter(belongs)
    .reduce(
      (sum, pid) => sum + Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0),
      0,
    );
}

function pidsOf(): number[] {
  return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Trivial programs over MCP, four always in flight, in alternating slices. */
async function inFlight(bench: Bench): Promise<Figure[]> {
  const answered = { docker: [] as number[], runsc: [] as number[] };
  const served = {
    docker: await serveOn(bench, "docker"),
    runsc: await serveOn(bench, "runsc"),
  };
  const times: number[] = [];
  for (let slice = -1; slice < (bench.isQuick ? 1 : SLICES); slice++)
    for (const name of ["docker", "runsc"] as const) {
      await delay(2 * SETTLE_MS);
      const count = await keepRunning(served[name], name === "runsc" ? times : []);
      if (slice >= 0) answered[name].push(count / (SLICE_MS / 1_000));
    }
  await Promise.all([served.docker.close(), served.runsc.close()]);
  const rate = (name: keyof typeof answered) => percentile(answered[name], 0.5);
  return [
    {
      name: `${IN_FLIGHT} in flight, programs a second`,
      value: rate("runsc") / rate("docker"),
      unit: "times",
      against: "Docker's",
      bound: { atLeast: 3.5 },
      detail: `${rate("runsc").toPrecision(3)} to ${rate("docker").toPrecision(3)} a second`,
    },
    {
      name: `${IN_FLIGHT} in flight, without Docker`,
      value: rate("runsc"),
      unit: "runs/s",
      bound: { atLeast: 15 },
      detail: `${show(times)} ms`,
    },
  ];
}

function serveOn({ folder }: Bench, engine: keyof Engines): Promise<Served> {
  return servePtc(makeProject(join(folder, `in-flight-${engine}`), { sandbox: { engine } }));
}

async function keepRunning(ptc: Served, times: number[]): Promise<number> {
  const until = performance.now() + SLICE_MS;
  let count = 0;
  const row = async () => {
    while (performance.now() < until) {
      times.push(await runProgram(ptc, `globalThis.result = ${count};`));
      count++;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, row));
  return count;
}

async function coldRuns(bench: Bench): Promise<Figure> {
  const { measuredMs, baselineMs } = await timeColdRuns(bench, "runsc");
  const against = "`docker run node -e 0`";
  return ratio({ name: "ptc run, cold and without Docker", measuredMs, baselineMs, against, maxRatio: 0.7 });
}
