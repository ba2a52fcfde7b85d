import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ArchiveWriter } from "../../archive/sqlite/writer/archive-writer.ts";
import type { ObservedCall } from "../../execution/call-log.ts";
import type { ExecutedProgram } from "../../execution/output/executed-run.ts";
import { executeProgram } from "../../execution/program-body.ts";
import { ArchivingRecorder } from "../../execution/record/record-runs.ts";
import type { RunReport } from "../../execution/record/run-recorder.ts";
import type { RecordedCall } from "../../execution/replay/recorded-calls.ts";
import { replayProgram } from "../../execution/replay/replay-program.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { WarmPool } from "../../sandbox/pool/warm-pool.ts";
import type { ProgramParts } from "../../tests/execution/program-parts.ts";
import type { Comparison } from "../figure.ts";
import { BENCH_TOOLS, benchProgram, LIMITS, openBench } from "./bench-execution.ts";
import type { SandboxedBench } from "./brokered-call.ts";

const ROUNDS = 30;
const REFILL_MS = 400;
const PROGRAM = benchProgram(`
const pages = await parallel(Array.from({ length: 100 }, (_, page) => () => mcp__bench__page({ page })), { limit: 5 });
console.log(pages.length, Date.now() > 0, Math.random() < 1);
result = pages.reduce((length, { text }) => length + text.length, 0);
`);

/**
 * A run of 100 calls in a warm sandbox, from the call of `executeProgram` to its envelope: archived against not archived, and
 * replayed against the time that the program itself took in its sandbox.
 */
export async function measureArchivedRun(bench: SandboxedBench, folder: string): Promise<Comparison[]> {
  const { source, parts, close } = openBench(bench);
  const pool = new WarmPool(source, { bounds: { floor: 2, ceiling: 2 } });
  pool.warm();
  const archive = new ArchiveWriter({ path: join(folder, "run.db"), keepDays: 30 });
  const recorder = new ArchivingRecorder({
    archive,
    audit: {
      calling: async () => undefined,
      call() {},
      decision() {},
      approval() {},
      run() {},
      async written() {},
    },
    redactor: parts.redactor,
    tools: BENCH_TOOLS,
    servers: new Map(),
    context: { principal: "local", source: "run" },
    versions: { ptc: "bench", node: process.version },
    clock: { wallMs: Date.now },
  });
  const plain = { ...parts, sandboxes: pool };
  const recorded = await recordOnce(plain);
  const times = {
    bare: [] as number[],
    archived: [] as number[],
    own: [] as number[],
    replayed: [] as number[],
  };
  for (let round = 0; round < ROUNDS; round++) {
    const bare = await run(plain);
    times.bare.push(bare.tookMs);
    times.own.push(bare.executed.envelope.result.metrics.duration_ms);
    times.archived.push((await run({ ...plain, recorder })).tookMs);
    times.replayed.push(await replay(plain, recorded));
  }
  await Promise.all([pool.close(), close(), archive.close()]);
  return [
    {
      name: "a run of 100 calls, archived",
      measuredMs: times.archived,
      against: "the same, not archived",
      baselineMs: times.bare,
      maxRatio: 1.05,
    },
    {
      name: "a replay of 100 calls",
      measuredMs: times.replayed,
      against: "the program's own time in its sandbox",
      baselineMs: times.own,
      maxRatio: 1.2,
    },
  ];
}

async function run(parts: ProgramParts): Promise<{ tookMs: number; executed: ExecutedProgram }> {
  const startedAt = performance.now();
  const executed = await executeProgram({ ...parts, ...options(), program: PROGRAM });
  const tookMs = performance.now() - startedAt;
  await settle(executed);
  return { tookMs, executed };
}

type Recorded = { calls: ObservedCall[]; report: RunReport };

async function recordOnce(parts: ProgramParts): Promise<Recorded> {
  const calls: ObservedCall[] = [];
  let report: RunReport | undefined;
  const recording = {
    onCall: (call: ObservedCall) => void calls.push(call),
    end: async (ended: RunReport) => {
      report = ended;
      return undefined;
    },
  };
  await run({ ...parts, recorder: { begin: () => recording } });
  if (report === undefined) throw new Error("the run was not recorded");
  return { calls: calls.sort((a, b) => a.seq - b.seq), report };
}

async function replay(parts: ProgramParts, { calls, report }: Recorded): Promise<number> {
  const { environment, trace, envelope, consoleText } = report;
  const replayed = await replayProgram({
    ...parts,
    ...options(),
    run: {
      program: PROGRAM,
      envelope,
      consoleText,
      emitted: [],
      calls: calls.map(toRecordedCall),
      environment: { ...environment, ...(trace === undefined ? {} : { replay: trace }) },
      knowsModules: true,
    },
  });
  if (replayed.divergence !== undefined) throw new Error(replayed.divergence);
  await settle(replayed);
  return replayed.envelope.result.metrics.duration_ms;
}

function toRecordedCall({ seq, tool, arguments: args, outcome }: ObservedCall): RecordedCall {
  return {
    seq,
    tool,
    argumentsDigest: digestOf(args),
    decision: outcome.decision,
    bytes: outcome.bytes,
    arguments: async () => args,
    outcome: async () => outcome,
  };
}

function options() {
  return { limits: LIMITS, typecheck: "off" as const, signal: new AbortController().signal };
}

async function settle({ envelope, cleared, recorded }: ExecutedProgram): Promise<void> {
  if (!envelope.result.ok)
    throw new Error(`the benchmark's program failed: ${envelope.result.error.message}`);
  await Promise.all([cleared, recorded]);
  await delay(REFILL_MS);
}
