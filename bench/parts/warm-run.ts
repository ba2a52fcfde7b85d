import { setTimeout as delay } from "node:timers/promises";
import { executeProgram } from "../../execution/program-body.ts";
import { WarmPool } from "../../sandbox/pool/warm-pool.ts";
import type { ProgramParts } from "../../tests/execution/program-parts.ts";
import type { Comparison } from "../figure.ts";
import { benchProgram, LIMITS, openBench } from "./bench-execution.ts";
import type { SandboxedBench } from "./brokered-call.ts";

const ROUNDS = 20;
/** Long enough for the pool to be full again. */
const REFILL_MS = 600;
const CALL = "mcp__bench__page({ page: 1 })";
const PROGRAMS = {
  trivial: "globalThis.result = 0;",
  sequential: `for (let i = 0; i < 100; i++) await ${CALL};`,
  parallel: `await Promise.all(Array.from({ length: 100 }, () => ${CALL}));`,
};

/**
 * Programs from the call of `executeProgram` to their envelope, in sandboxes of a full pool, against a trivial one whose
 * sandbox is started for it. The servers behind the calls answer at once.
 */
export async function measureWarmRun(bench: SandboxedBench): Promise<Comparison[]> {
  const { source, parts, close } = openBench(bench);
  const pool = new WarmPool(source, { bounds: { floor: 2, ceiling: 2 } });
  pool.warm();
  for (const code of Object.values(PROGRAMS)) await time({ ...parts, sandboxes: pool }, code);
  const baselineMs: number[] = [];
  const measuredMs = { trivial: [] as number[], sequential: [] as number[], parallel: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    baselineMs.push(await time({ ...parts, sandboxes: source }, PROGRAMS.trivial));
    for (const name of ["trivial", "sequential", "parallel"] as const) {
      measuredMs[name].push(await time({ ...parts, sandboxes: pool }, PROGRAMS[name]));
    }
  }
  await Promise.all([pool.close(), close()]);
  const against = "a cold sandbox with a trivial one";
  return [
    { name: "trivial program, warm", measuredMs: measuredMs.trivial, against, baselineMs, maxRatio: 0.25 },
    {
      name: "100 calls in turn, warm",
      measuredMs: measuredMs.sequential,
      against,
      baselineMs,
      maxRatio: 0.6,
    },
    { name: "100 calls at once, warm", measuredMs: measuredMs.parallel, against, baselineMs, maxRatio: 0.5 },
  ];
}

async function time(parts: ProgramParts, code: string): Promise<number> {
  const startedAt = performance.now();
  const { envelope, cleared } = await executeProgram({
    ...parts,
    program: benchProgram(code),
    limits: LIMITS,
    typecheck: "off",
    signal: new AbortController().signal,
  });
  const tookMs = performance.now() - startedAt;
  if (!envelope.result.ok)
    throw new Error(`the benchmark's program failed: ${envelope.result.error.message}`);
  await cleared;
  await delay(REFILL_MS);
  return tookMs;
}
