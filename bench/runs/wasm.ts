import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Bench, type Figure, type Measurement, percentile, ratio, show } from "../measurement.ts";
import {
  addToExecutor,
  BENCH_SERVERS,
  makeProject,
  PTC,
  runProgram,
  type Served,
  serveExecutor,
  servePtc,
  timeCall,
} from "../peers.ts";
import { timeColdRuns } from "./shell.ts";

const CALLS = 100;
/** Long enough for the pool to be full again. */
const REFILL_MS = 700;
const IN_FLIGHT = 4;
const SLICE_MS = 8_000;
const MB = 1_000_000;
const AT_ONCE = `await Promise.all(Array.from({ length: ${CALLS} }, () => mcp__echo__echo({ text: "x" })));`;

/** Programs in interpreters in WebAssembly, alternately with the same behind gVisor without Docker, and in executor, which has no wall. */
export const wasm: Measurement = {
  name: "wasm",
  about: "programs with the engine wasm, against gVisor without Docker, and `executor mcp`",
  async measure(bench: Bench) {
    const [light, walled] = await Promise.all([serveOn(bench, "wasm"), serveOn(bench, "runsc")]);
    const executor = await serveExecutor(join(bench.folder, "wasm-executor"));
    if (executor === undefined)
      bench.skip(
        "the engine wasm against `executor mcp`",
        "its package is not installed (npm install --prefix bench)",
      );
    try {
      return [
        ...(await trivial(bench, light, walled, executor)),
        await calls(bench, light, walled),
        ...(executor === undefined ? [] : [await callsOfPeer(bench, light, executor)]),
        ...(await inFlight(bench, light, walled)),
        await cold(bench),
        ...sizes(),
      ];
    } finally {
      await Promise.all([light.close(), walled.close(), executor?.close()]);
    }
  },
};

const AGAINST = "gVisor without Docker";
const EXECUTOR = "`executor mcp`";

function serveOn({ folder }: Bench, engine: "wasm" | "runsc"): Promise<Served> {
  const wasm = engine === "wasm" ? { wasm: { tools: "all" } } : {};
  return servePtc(
    makeProject(join(folder, `light-${engine}`), { sandbox: { engine, warm: IN_FLIGHT, ...wasm } }),
  );
}

async function trivial(
  bench: Bench,
  light: Served,
  walled: Served,
  executor: Served | undefined,
): Promise<Figure[]> {
  const took = { wasm: [] as number[], runsc: [] as number[], executor: [] as number[] };
  for (let round = -3; round < bench.rounds(40); round++) {
    await delay(REFILL_MS);
    const peerMs = executor && (await timeCall(executor, "execute", { code: `return ${round};` }));
    const wasmMs = await runProgram(light, `globalThis.result = ${round};`);
    await delay(REFILL_MS);
    const runscMs = await runProgram(walled, `globalThis.result = ${round};`);
    if (round < 0) continue;
    took.wasm.push(wasmMs);
    took.runsc.push(runscMs);
    if (peerMs !== undefined) took.executor.push(peerMs);
  }
  const name = "trivial run over MCP with the engine wasm";
  const figures = (against: string, baselineMs: readonly number[], maxRatio?: number) =>
    [0.5, 0.95].map((at) =>
      ratio({ name: `${name}, p${at * 100}`, measuredMs: took.wasm, against, baselineMs, at, maxRatio }),
    );
  return [
    ...figures(AGAINST, took.runsc),
    ...(executor === undefined ? [] : figures(EXECUTOR, took.executor, 0.8)),
  ];
}

async function calls(bench: Bench, light: Served, walled: Served): Promise<Figure> {
  const measuredMs: number[] = [];
  const baselineMs: number[] = [];
  for (let round = -1; round < bench.rounds(15); round++) {
    await delay(REFILL_MS);
    const wasmMs = await runProgram(light, AT_ONCE);
    await delay(REFILL_MS);
    const runscMs = await runProgram(walled, AT_ONCE);
    if (round < 0) continue;
    measuredMs.push(wasmMs);
    baselineMs.push(runscMs);
  }
  const name = `${CALLS} calls at once with the engine wasm`;
  return ratio({ name, measuredMs, against: AGAINST, baselineMs });
}

/** In turn, because executor starts the server again for each call, and a hundred processes at once measure the machine. */
async function callsOfPeer(bench: Bench, light: Served, executor: Served): Promise<Figure> {
  for (const server of BENCH_SERVERS) await addToExecutor(executor, server);
  const inTurn = (call: string) => `for (let i = 0; i < ${CALLS}; i++) await ${call}({ text: "x" });`;
  const measuredMs: number[] = [];
  const baselineMs: number[] = [];
  for (let round = 0; round < (bench.isQuick ? 1 : 3); round++) {
    baselineMs.push(await timeCall(executor, "execute", { code: inTurn("tools.echo.user.echo.echo") }));
    await delay(REFILL_MS);
    measuredMs.push(await runProgram(light, inTurn("mcp__echo__echo")));
  }
  const name = `${CALLS} calls in turn with the engine wasm`;
  return ratio({ name, measuredMs, against: EXECUTOR, baselineMs, maxRatio: 1 });
}

/** `ptc run` of a trivial program, started from a shell without a background host, against the simplest possible container. */
async function cold(bench: Bench): Promise<Figure> {
  const { measuredMs, baselineMs } = await timeColdRuns(bench, "wasm");
  const name = "ptc run, cold and alone with the engine wasm";
  return ratio({ name, measuredMs, against: "`docker run node -e 0`", baselineMs, maxRatio: 0.6 });
}

/** What the engine takes on disk. */
function sizes(): Figure[] {
  const places = [
    ["the engine wasm in the package", join(PTC, "../../wasm")],
    ["Pyodide, which is installed beside it", join(import.meta.dirname, "../../node_modules/pyodide")],
  ] as const;
  return places.map(([name, folder]) => ({
    name: `size on disk: ${name}`,
    value:
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0) / MB,
    unit: "MB",
  }));
}

/** Trivial programs, some always in flight, in slices that alternate. */
async function inFlight(bench: Bench, light: Served, walled: Served): Promise<Figure[]> {
  const rates: Record<"wasm" | "runsc", number[]> = { wasm: [], runsc: [] };
  for (let slice = -1; slice < (bench.isQuick ? 1 : 3); slice++)
    for (const [name, served] of [
      ["wasm", light],
      ["runsc", walled],
    ] as const) {
      await delay(2 * REFILL_MS);
      const count = await keepRunning(served);
      if (slice >= 0) rates[name].push(count / (SLICE_MS / 1_000));
    }
  return [
    {
      name: `${IN_FLIGHT} in flight with the engine wasm, programs a second`,
      value: percentile(rates.wasm, 0.5) / percentile(rates.runsc, 0.5),
      unit: "times",
      against: AGAINST,
      detail: `${show(rates.wasm)} to ${show(rates.runsc)} a second`,
    },
    {
      name: `${IN_FLIGHT} in flight with the engine wasm`,
      value: percentile(rates.wasm, 0.5),
      unit: "runs/s",
      bound: { atLeast: 60 },
    },
  ];
}

async function keepRunning(served: Served): Promise<number> {
  const until = performance.now() + SLICE_MS;
  let count = 0;
  const row = async () => {
    while (performance.now() < until) {
      await runProgram(served, `globalThis.result = ${count};`);
      count++;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, row));
  return count;
}
