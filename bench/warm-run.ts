import { setTimeout as delay } from "node:timers/promises";
import { Dispatcher } from "../broker/dispatcher.ts";
import { Redactor } from "../broker/redaction.ts";
import { IsolatingValidator } from "../broker/schema-validator.ts";
import type { KnownTool } from "../broker/tool-table.ts";
import { type ExecutionParts, executeProgram } from "../execution/execute-program.ts";
import { OnDemandSource } from "../sandbox/on-demand-source.ts";
import type { SandboxSource } from "../sandbox/sandbox.ts";
import { WarmPool } from "../sandbox/warm-pool.ts";
import type { SandboxedBench } from "./brokered-call.ts";
import type { Comparison } from "./report.ts";

const ROUNDS = 20;
/** Long enough for the pool to be full again. */
const REFILL_MS = 600;
const LIMITS = {
  timeoutMs: 60_000,
  maxOutputBytes: 65_536,
  maxStderrBytes: 262_144,
  maxParallelCalls: 10,
  maxToolCalls: 1_000,
};
const TOOL: KnownTool = {
  namespacedName: "mcp__bench__add",
  server: "bench",
  name: "add",
  definitionDigest: "same",
  inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
  outputSchema: undefined,
  destructive: false,
};
const CALL = "mcp__bench__add({ a: 1 })";
const PROGRAMS = {
  trivial: "globalThis.result = 0;",
  sequential: `for (let i = 0; i < 100; i++) await ${CALL};`,
  parallel: `await Promise.all(Array.from({ length: 100 }, () => ${CALL}));`,
};

/**
 * Programs from the call of `executeProgram` to their envelope, in sandboxes of a full pool, against a trivial one whose
 * sandbox is started for it. The servers behind the calls answer at once.
 */
export async function measureWarmRun({ engine, state, image }: SandboxedBench): Promise<Comparison[]> {
  const limits = { memoryMb: 512, cpus: 1, pids: 256 };
  const source = new OnDemandSource({ engine, state, owner: "bench", image, runtime: "runsc", limits });
  const pool = new WarmPool(source, { size: 2 });
  const validator = new IsolatingValidator();
  const server = {
    definitionDigest: () => "same",
    call: async () => ({ content: [{ type: "text", text: '{"sum":2}' }] }),
  };
  const dispatcher = new Dispatcher({
    tools: new Map([[TOOL.namespacedName, TOOL]]),
    policy: { allow: undefined, block: [], ask: [], neverAsk: [] },
    servers: { connect: async () => server },
    validator,
  });
  const time = async (sandboxes: SandboxSource, code: string) => timeProgram({ sandboxes, dispatcher }, code);

  pool.prime();
  for (const code of Object.values(PROGRAMS)) await time(pool, code);
  const baselineMs: number[] = [];
  const measuredMs = { trivial: [] as number[], sequential: [] as number[], parallel: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    baselineMs.push(await time(source, PROGRAMS.trivial));
    for (const name of ["trivial", "sequential", "parallel"] as const) {
      measuredMs[name].push(await time(pool, PROGRAMS[name]));
    }
  }
  await Promise.all([pool.close(), validator.close()]);
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

async function timeProgram(
  wired: Pick<ExecutionParts, "sandboxes" | "dispatcher">,
  code: string,
): Promise<number> {
  const parts: ExecutionParts = {
    ...wired,
    modules: { declarations: "", modules: () => [], load: async () => undefined },
    approver: { ask: async () => ({ decision: "denied", by: "nobody" }) },
    redactor: new Redactor([]),
    clock: { nowMs: () => performance.now() },
    toolVersion: "bench",
  };
  const startedAt = performance.now();
  const { envelope, cleared } = await executeProgram(
    { code, data: {}, language: "javascript", fileName: "bench.js" },
    parts,
    { limits: LIMITS, typecheck: "off", signal: new AbortController().signal },
  );
  const tookMs = performance.now() - startedAt;
  if (!envelope.result.ok)
    throw new Error(`the benchmark's program failed: ${envelope.result.error.message}`);
  await cleared;
  await delay(REFILL_MS);
  return tookMs;
}
