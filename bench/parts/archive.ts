import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { RunToArchive } from "../../archive/build-record.ts";
import type { CallFacts } from "../../archive/run-record.ts";
import { openForReading, openForWriting } from "../../archive/sqlite/connection.ts";
import { findRuns, listRunPage, readStats } from "../../archive/sqlite/sqlite-archive-store.ts";
import { SqliteArchiveWriter } from "../../archive/sqlite/writer/sqlite-archive-writer.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";
import type { Comparison } from "../measurement.ts";

const ROUNDS = 30;
const CALLS = 100;
const RUNS = 100_000;
const TOOLS = 50;
/** Names of the first tools; the others are numbered. */
const TOOL_NAMES = ["rare", "never"];
const MAX_LOOKUP_MS = 50;

/** Measures handing a run to the archive, and finding one among many. `folder` is for temporary archives. */
export async function measureArchive(folder: string): Promise<Comparison[]> {
  return [
    ...(await measureRecording(join(folder, "recording.db"))),
    ...measureLookups(join(folder, "lookups.db")),
  ];
}

/** Time on the thread that answers calls, compared with encoding the frames of the replies, which it does anyway. */
async function measureRecording(path: string): Promise<Comparison[]> {
  const writer = new SqliteArchiveWriter({ path, keepDays: 30 });
  const baselineMs: number[] = [];
  const measuredMs: number[] = [];
  const settledMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const results = Array.from({ length: CALLS }, (_, seq) => page(round * CALLS + seq));
    baselineMs.push(
      time(() => {
        for (const [id, data] of results.entries()) {
          encodeFrame({ type: "reply", id, ok: true, data }, MAX_REPLY_FRAME_BYTES);
        }
      }),
    );
    const startedAt = performance.now();
    const run = endedRun(round);
    const recording = writer.begin(run.facts.run_id);
    for (const [seq, data] of results.entries()) {
      void recording.addCall({
        facts: callFacts(seq),
        argumentsJson: JSON.stringify({ page: seq }),
        outcomeJson: JSON.stringify({ ok: true, data }),
      });
    }
    const archived = recording.finish(run);
    measuredMs.push(performance.now() - startedAt);
    const result = await archived;
    if (!result.ok) throw new Error(result.message);
    settledMs.push(performance.now() - startedAt);
  }
  await writer.close();
  const sorted = settledMs.toSorted((a, b) => a - b);
  console.error(
    `a run of ${CALLS} calls is in the archive ${sorted[ROUNDS / 2]?.toPrecision(3)} ms after its end`,
  );
  const name = `handing a run of ${CALLS} calls to the archive`;
  return [{ name, measuredMs, against: "making the frames of its replies", baselineMs, maxRatio: 3 }];
}

function measureLookups(path: string): Comparison[] {
  const inputDigests = fill(path);
  const db = openForReading(path);
  const lookup = (name: string, work: (round: number) => unknown): Comparison => ({
    name: `${name}, of ${RUNS} runs`,
    measuredMs: Array.from({ length: ROUNDS }, (_, round) => time(() => work(round))),
    against: `${MAX_LOOKUP_MS} ms`,
    baselineMs: [MAX_LOOKUP_MS],
    maxRatio: 1,
  });
  const digestOfRound = (round: number) => inputDigests[round * 307] ?? "";
  const found = findRuns(db, digestOfRound(0));
  if (found.kind === "none") throw new Error("the archive to measure with is not filled");
  const comparisons = [
    lookup("the newest 50 runs", () => listRunPage(db, { limit: 50 })),
    lookup("the newest 50 that failed", () => listRunPage(db, { limit: 50, status: "failed" })),
    lookup("the newest 50 of a rare failure", () => listRunPage(db, { limit: 50, status: "OutOfMemory" })),
    lookup("the newest 50 that called a tool", () => listRunPage(db, { limit: 50, tool: "mcp__bench__*7" })),
    lookup("a rare failure that called a tool", () =>
      listRunPage(db, { limit: 50, status: "OutOfMemory", tool: "mcp__bench__7" }),
    ),
    lookup("a tool that was hardly called", () => listRunPage(db, { limit: 50, tool: "mcp__bench__rare" })),
    lookup("runs of one digest", (round) => findRuns(db, digestOfRound(round))),
    lookup("runs of a digest's first 12 digits", (round) => findRuns(db, digestOfRound(round).slice(0, 19))),
  ];
  const statsMs = time(() => readStats(db));
  console.error(`counts over ${RUNS} runs take ${statsMs.toPrecision(3)} ms`);
  db.close();
  return comparisons;
}

/** Inserts rows only, because lists and lookups read nothing else. Returns the input digests, each of ten runs. */
function fill(path: string): string[] {
  const inputDigests = Array.from({ length: RUNS / 10 }, (_, i) => digestOf({ i }));
  const db = openForWriting(path);
  db.transaction(() => {
    for (let tool = 1; tool <= TOOLS; tool++) {
      db.run("INSERT INTO tools VALUES (?, ?, 'bench')", tool, `mcp__bench__${TOOL_NAMES[tool - 1] ?? tool}`);
    }
    for (let id = 1; id <= RUNS; id++) {
      const startedAt = 1_900_000_000_000 + id * 25_000;
      const status = id % 5_000 === 0 ? "OutOfMemory" : id % 9 === 0 ? "ScriptError" : "ok";
      const inputDigest = inputDigests[id % inputDigests.length] ?? "";
      db.run(
        `INSERT INTO runs (id, run_id, record_digest, previous, link, input_digest, started_at, source, principal, status, duration_ms,
           calls, failed_calls, result_bytes, returned_bytes, redactions, file_name, title)
         VALUES (?, ?, ?, ?, ?, ?, ?, 'run', 'local', ?, ?, 12, 1, 50000, 800, 0, ?, ?)`,
        ...[id, randomUUID(), inputDigest, inputDigest, inputDigest, inputDigest, startedAt, status],
        ...[100 + (id % 400), "program.ts", `const pages = await parallel(tasks, { limit: ${id} });`],
      );
      const common = [1, 2, 3].map(
        (step) => TOOL_NAMES.length + 1 + ((id * step) % (TOOLS - TOOL_NAMES.length)),
      );
      const tools = new Set(id % 30_000 === 0 ? [1, ...common] : common);
      for (const tool of tools) {
        db.run("INSERT INTO run_tools VALUES (?, ?, ?, 0, 4, 0, 120.5, 16000)", tool, startedAt, id);
      }
    }
  });
  db.close();
  return inputDigests;
}

function page(seed: number): unknown {
  const rows = Array.from({ length: 15 }, (_, row) => ({
    id: seed * 100 + row,
    name: `customer ${(seed * 31 + row * 7919) % 1000}`,
    total: row * 1.25,
  }));
  return { rows };
}

function callFacts(seq: number): CallFacts {
  const server = "bench";
  const timing = { started_ms: seq, duration_ms: 1 };
  const facts = { decision: "allowed", ok: true, result_bytes: 1_000, redactions: 0 };
  return { seq, tool: "mcp__bench__page", server, ...timing, ...facts };
}

function endedRun(round: number): RunToArchive {
  const runId = randomUUID();
  const input = { code: "globalThis.result = 1", data: { round }, language: "typescript" };
  const inputDigest = digestOf(input);
  const metrics = { duration_ms: 100, tool_calls: CALLS, tool_result_bytes: CALLS * 1_000 };
  return {
    facts: {
      run_id: runId,
      trace_id: runId.replaceAll("-", ""),
      principal: "local",
      source: "run",
      started_at: 1_900_000_000_000,
      language: "typescript",
      file_name: "program.ts",
      input_digest: inputDigest,
      bundle_digest: null,
      sandbox_image: null,
      tools: [],
      versions: { ptc: "0.0.0", node: process.version, protocol: 1 },
      servers: [],
      options: {},
      redactions: 0,
    },
    code: input.code,
    dataJson: JSON.stringify(input.data),
    consoleText: "",
    stderrText: "",
    modules: [],
    environmentJson: "{}",
    envelope: {
      run_id: runId,
      trace_id: "",
      tool_name: "execute_program",
      tool_version: "0.0.0",
      input_digest: inputDigest,
      output_digest: inputDigest,
      sandbox_image: null,
      duration_ms: 120,
      approval_state: "NOT_REQUIRED",
      result: { ok: true, data: 1, metrics },
    },
  };
}

function time(work: () => unknown): number {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}
