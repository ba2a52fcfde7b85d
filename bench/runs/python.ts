import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ratio } from "../figure.ts";
import type { Bench, Measurement } from "../measurement.ts";
import { makeProject, runProgram, servePtc } from "../peers/ptc.ts";

const ROUNDS = 20;
const WARM_UP = 2;
/** Long enough for the pool to be full again. */
const REFILL_MS = 700;
const CALLS = 100;

/** The same programs in Python and in TypeScript. */
const PAIRS = [
  {
    name: "a trivial program in Python",
    python: "result = 1",
    typescript: "globalThis.result = 1;",
  },
  {
    name: `${CALLS} calls in turn in Python`,
    python: `for _ in range(${CALLS}):\n    mcp__echo__echo(text="x")`,
    typescript: `for (let i = 0; i < ${CALLS}; i++) await mcp__echo__echo({ text: "x" });`,
  },
  {
    name: `${CALLS} calls in turn in Python, awaited`,
    python: `for _ in range(${CALLS}):\n    await mcp__echo__echo(text="x")`,
    typescript: `for (let i = 0; i < ${CALLS}; i++) await mcp__echo__echo({ text: "x" });`,
  },
];

/** Programs in Python from the client's request to its answer, type check on and the pools full, against TypeScript's. */
export const pythonPrograms: Measurement = {
  name: "python",
  about: `a trivial run and ${CALLS} calls in Python, against TypeScript`,
  async measure(bench: Bench) {
    const settings = { languages: ["typescript", "python"], sandbox: { warm: 4 } };
    const ptc = await servePtc(makeProject(join(bench.folder, "python"), settings));
    const times = PAIRS.map(() => ({ measuredMs: [] as number[], baselineMs: [] as number[] }));
    for (let round = -WARM_UP; round < bench.rounds(ROUNDS); round++)
      for (const [index, { python, typescript }] of PAIRS.entries()) {
        await delay(REFILL_MS);
        const baselineMs = await runProgram(ptc, typescript, "typescript");
        await delay(REFILL_MS);
        const measuredMs = await runProgram(ptc, python, "python");
        if (round < 0) continue;
        times[index]?.measuredMs.push(measuredMs);
        times[index]?.baselineMs.push(baselineMs);
      }
    await ptc.close();
    const none = { measuredMs: [], baselineMs: [] };
    return PAIRS.map(({ name }, index) =>
      ratio({ name, ...(times[index] ?? none), against: "the same in TypeScript", maxRatio: 1.1 }),
    );
  },
};
