import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Bench, type Figure, type Measurement, percentile, ratio, show } from "../measurement.ts";
import { makeProject, runProgram, type Served, serveExecutor, servePtc, timeCall } from "../peers.ts";

const CALLS = 100;
/** Long enough for the pool to be full again. */
const REFILL_MS = 700;
const IN_FLIGHT = 4;
const SLICE_MS = 8_000;
const AT_ONCE = `await Promise.all(Array.from({ length: ${CALLS} }, () => mcp__echo__echo({ text: "x" })));`;

/** Programs over MCP in interpreters in WebAssembly, alternately with the same behind gVisor without Docker. */
export const wasm: Measurement = {
  name: "wasm",
  about: "programs with the engine wasm over MCP, against gVisor without Docker",
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
        await inFlight(bench, light, walled),
      ];
    } finally {
      await Promise.all([light.close(), walled.close(), executor?.close()]);
    }
  },
};

const AGAINST = "gVisor without Docker";

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
  const figures = (against: string, baselineMs: readonly number[]) =>
    [0.5, 0.95].map((at) =>
      ratio({ name: `${name}, p${at * 100}`, measuredMs: took.wasm, against, baselineMs, at }),
    );
  return [
    ...figures(AGAINST, took.runsc),
    ...(executor === undefined ? [] : figures("`executor mcp`", took.executor)),
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

/** Trivial programs, some always in flight, in slices that alternate. */
async function inFlight(bench: Bench, light: Served, walled: Served): Promise<Figure> {
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
  return {
    name: `${IN_FLIGHT} in flight with the engine wasm, programs a second`,
    value: percentile(rates.wasm, 0.5) / percentile(rates.runsc, 0.5),
    unit: "times",
    against: AGAINST,
    detail: `${show(rates.wasm)} to ${show(rates.runsc)} a second`,
  };
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
