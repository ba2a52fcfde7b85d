import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { SqliteArchiveWriter } from "../../archive/sqlite/writer/sqlite-archive-writer.ts";
import { Dispatcher } from "../../broker/dispatcher.ts";
import { Conversation } from "../../broker/flow/conversation.ts";
import { RunFlow } from "../../broker/flow/run-flow.ts";
import { PolicyAuthorizer } from "../../broker/policy/authorizer.ts";
import { DataFlow } from "../../broker/policy/data-flow.ts";
import { RuleAuthorizer } from "../../broker/policy/rule-authorizer.ts";
import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { ObservedCall } from "../../execution/call-log.ts";
import type { ExecutedProgram } from "../../execution/output/executed-run.ts";
import type { RunLimits } from "../../execution/output/runner-output.ts";
import { executeProgram } from "../../execution/program.ts";
import { ArchivingRecorder } from "../../execution/record/record-runs.ts";
import type { RunReport } from "../../execution/record/run-recorder.ts";
import type { RecordedCall } from "../../execution/replay/recorded-calls.ts";
import { replayProgram } from "../../execution/replay/replay-program.ts";
import type { Program } from "../../languages/program.ts";
import { TYPESCRIPT } from "../../languages/typescript/language.ts";
import { openTypeScript } from "../../languages/typescript/typescript.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { WarmPool } from "../../sandbox/pool/warm-pool.ts";
import { SandboxStarter } from "../../sandbox/sandbox-starter.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { toolOf } from "../../tests/catalog/tool-of.ts";
import type { ProgramParts } from "../../tests/execution/program-parts.ts";
import type { ToolCall } from "../../upstream/upstream.ts";
import type { Comparison } from "../measurement.ts";
import type { SandboxedBench } from "./brokered-call.ts";

const LIMITS: RunLimits = {
  timeoutMs: 60_000,
  maxOutputBytes: 65_536,
  maxStderrBytes: 262_144,
  maxParallelCalls: 10,
  maxToolCalls: 1_000,
};

const TOOL = toolOf("bench", "page", {
  definitionDigest: `sha256:${"0".repeat(64)}`,
  inputSchema: { type: "object", properties: { page: { type: "number" } }, required: ["page"] },
});

const BENCH_TOOLS: ReadonlyMap<string, Tool> = new Map([[TOOL.namespacedName, TOOL]]);

/** Opens what benchmark programs need: real sandboxes, and a server that answers immediately with a kilobyte. */
function openBench({ engine, image }: SandboxedBench) {
  const limits = { memoryMb: 512, cpus: 1, pids: 256 };
  const source = new SandboxStarter({ engine, owner: "bench", image, runtime: "runsc", limits });
  const validator = new IsolatingValidator();
  const call = async ({ arguments: args }: ToolCall) => ({
    content: [
      { type: "text", text: JSON.stringify({ ...(args as object), text: "lorem ipsum ".repeat(80) }) },
    ],
  });
  const server = { definitionDigest: () => TOOL.definitionDigest, call };
  const parts: Omit<ProgramParts, "sandboxes"> = {
    languages: [{ ...TYPESCRIPT, ...openTypeScript() }],
    modules: { modules: () => [], load: async () => undefined },
    dispatcher: new Dispatcher({
      context: { principal: "local", source: "run" },
      tools: BENCH_TOOLS,
      authorizer: new PolicyAuthorizer({
        allow: undefined,
        block: [],
        ask: [],
        neverAsk: [],
        byDefault: "annotated",
      }),
      servers: { connect: async () => server },
      validator,
    }),
    approver: { ask: async () => ({ decision: "denied", by: "nobody" }) },
    redactor: new Redactor([]),
    clock: { monotonicMs: () => performance.now() },
    toolVersion: "bench",
  };
  return { source, parts, server, validator, close: () => validator.close() };
}

function benchProgram(code: string): Program {
  return { code, data: {}, language: "javascript", fileName: "bench.js" };
}

/** Long enough for the pool to be full again. */
const REFILL_MS = 600;
const CALL = "mcp__bench__page({ page: 1 })";
const PROGRAMS = {
  trivial: "globalThis.result = 0;",
  sequential: `for (let i = 0; i < 100; i++) await ${CALL};`,
  parallel: `await Promise.all(Array.from({ length: 100 }, () => ${CALL}));`,
};

/**
 * Programs from the call of `executeProgram` to their envelope, in sandboxes from a full pool, against a trivial program whose
 * sandbox is started for it. The servers behind the calls answer immediately.
 */
export async function measureWarmRun(bench: SandboxedBench): Promise<Comparison[]> {
  const { source, parts, close } = openBench(bench);
  const pool = new WarmPool(source, { bounds: { floor: 2, ceiling: 2 } });
  pool.warm();
  for (const code of Object.values(PROGRAMS)) await time({ ...parts, sandboxes: pool }, code);
  const baselineMs: number[] = [];
  const measuredMs = { trivial: [] as number[], sequential: [] as number[], parallel: [] as number[] };
  for (let round = 0; round < 20; round++) {
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

/** The origin of a value in its second call is unknown, so the program is run again to find out if it depends on the first. */
const UNDECIDED = `const page = await ${CALL}; await mcp__bench__page({ page: 41 + 1 }); globalThis.result = page.page;`;

/**
 * The cost of an experiment: a program with a value whose origin the content does not show, with and without a policy that asks
 * about it, in sandboxes from a full pool, against a trivial program.
 */
export async function measureExperiment(bench: SandboxedBench): Promise<Comparison[]> {
  const { source, parts, close, server, validator } = openBench(bench);
  const pool = new WarmPool(source, { bounds: { floor: 4, ceiling: 4 } });
  pool.warm();
  const labels = new DataFlow(new Map([["bench", { labels: ["l"], accepts: { page: [] }, tools: {} }]]));
  const clock = { wallMs: () => 0 };
  const policy = { allow: undefined, block: [], ask: [], neverAsk: [], byDefault: "annotated" } as const;
  const authorizer = new RuleAuthorizer({ policy, flow: labels, rules: undefined, clock });
  const following = (): ProgramParts => {
    const run = new RunFlow({
      conversation: new Conversation(),
      runId: "1",
      isSticky: true,
      program: [UNDECIDED],
    });
    const dispatcher = new Dispatcher({
      ...{ context: { principal: "local", source: "run" }, tools: BENCH_TOOLS, authorizer, validator },
      ...{ servers: { connect: async () => server }, flow: { run, labels } },
    });
    return { ...parts, sandboxes: pool, dispatcher, flow: run };
  };
  const baselineMs: number[] = [];
  const measuredMs: number[] = [];
  for (let round = 0; round < 12; round++) {
    baselineMs.push(await time({ ...parts, sandboxes: pool }, PROGRAMS.trivial));
    const without = await time({ ...parts, sandboxes: pool }, UNDECIDED);
    measuredMs.push((await time(following(), UNDECIDED)) - without);
    await delay(REFILL_MS);
  }
  await Promise.all([pool.close(), close()]);
  return [{ name: "an experiment", measuredMs, against: "a trivial program", baselineMs, maxRatio: 3 }];
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

const PROGRAM = benchProgram(`
const pages = await parallel(Array.from({ length: 100 }, (_, page) => () => mcp__bench__page({ page })), { limit: 5 });
console.log(pages.length, Date.now() > 0, Math.random() < 1);
result = pages.reduce((length, { text }) => length + text.length, 0);
`);

/**
 * A run of 100 calls in a warm sandbox, from the call of `executeProgram` to its envelope: archived against not archived, and
 * replayed against the program's own time in its sandbox.
 */
export async function measureArchivedRun(bench: SandboxedBench, folder: string): Promise<Comparison[]> {
  const { source, parts, close } = openBench(bench);
  const pool = new WarmPool(source, { bounds: { floor: 2, ceiling: 2 } });
  pool.warm();
  const archive = new SqliteArchiveWriter({ path: join(folder, "run.db"), keepDays: 30 });
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
  for (let round = 0; round < 30; round++) {
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
  await delay(400);
}
