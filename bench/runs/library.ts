import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { createPtc, tool } from "../../library/ptc.ts";
import { type Bench, type Measurement, ratio } from "../measurement.ts";
import { makeProject, runProgram, servePtc } from "../peers.ts";

/** Long enough for the pool to be full again. */
const REFILL_MS = 700;
const CALLS = 100;

/** The exports of the built package. */
const BUILT = new URL("../../dist/library/ptc.js", import.meta.url).href;

/** The program times its calls itself, alternating between both kinds, so that other load on the machine affects both. */
const TIMED = `
const time = async (call) => { const began = performance.now(); await call(); return performance.now() - began; };
const times = { own: [], stdio: [] };
for (let i = 0; i < ${CALLS}; i++) {
  times.stdio.push(await time(() => mcp__echo__echo({ text: "x" })));
  times.own.push(await time(() => mcp__functions__echo({ text: "x" })));
}
globalThis.result = times;`;

/** A trivial run through the library, against `ptc serve`, and a call of a function, against one of a server on stdio. */
export const library: Measurement = {
  name: "library",
  about:
    "a trivial run through the library against `ptc serve`, and calls of functions against a stdio server's",
  async measure(bench: Bench) {
    const exported = (await import(BUILT)) as { createPtc: typeof createPtc; tool: typeof tool };
    const settings = { sandbox: { warm: 4 } };
    const served = await servePtc(makeProject(join(bench.folder, "served"), settings));
    const folder = makeProject(join(bench.folder, "library"), settings);
    const echo = exported.tool({
      description: "Echoes",
      input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      execute: ({ text }) => ({ text }),
    });
    const ptc = await exported.createPtc({ config: join(folder, "ptc.yaml"), tools: { echo } });
    const runs = { measuredMs: [] as number[], baselineMs: [] as number[] };
    const calls = { measuredMs: [] as number[], baselineMs: [] as number[] };
    for (let round = -5; round < bench.rounds(60); round++) {
      const code = `globalThis.result = ${round};`;
      await delay(REFILL_MS);
      const baselineMs = await runProgram(served, code);
      await delay(REFILL_MS);
      const began = performance.now();
      const { error } = await ptc.run(code);
      const measuredMs = performance.now() - began;
      if (error !== undefined) throw new Error(error.message);
      if (round < 0) continue;
      runs.measuredMs.push(measuredMs);
      runs.baselineMs.push(baselineMs);
    }
    for (let round = -1; round < bench.rounds(10); round++) {
      await delay(REFILL_MS);
      const { value, error } = await ptc.run(TIMED);
      if (error !== undefined) throw new Error(error.message);
      if (round < 0) continue;
      const { own, stdio } = value as { own: number[]; stdio: number[] };
      calls.measuredMs.push(...own);
      calls.baselineMs.push(...stdio);
    }
    await Promise.all([served.close(), ptc.close()]);
    return [
      ratio({ name: "a trivial run through the library", ...runs, against: "`ptc serve`", maxRatio: 1.05 }),
      ratio({ name: "a call of a function", ...calls, against: "one of a server on stdio", maxRatio: 0.7 }),
    ];
  },
};
