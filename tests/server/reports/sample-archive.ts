import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { RunArchiver } from "../../../archive/archive-store.ts";
import type { ArchivedRun } from "../../../archive/archived-run.ts";
import type { CallToArchive, RunToArchive } from "../../../archive/build-record.ts";
import type { RunFacts } from "../../../archive/run-record.ts";
import { openForWriting } from "../../../archive/sqlite/connection.ts";
import type { Database } from "../../../archive/sqlite/database.ts";
import { readArchived } from "../../../archive/sqlite/sqlite-archive-store.ts";
import { storeRun } from "../../../archive/sqlite/store-run.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";
import type { RunResult } from "../../../protocol/envelope.ts";
import type { FailureType } from "../../../protocol/failure.ts";

interface SampleCall {
  tool?: string;
  from: number;
  took: number;
  arguments?: unknown;
  answer?: unknown;
  /** Makes the call a failed one. */
  error?: string;
  bytes?: number;
  decision?: string;
  approver?: string;
  /** Why its values are not kept. */
  unkept?: string;
}

export interface SampleRun {
  runId?: string;
  code?: string;
  fileName?: string;
  data?: unknown;
  startedAt?: number;
  tookMs?: number;
  consoleText?: string;
  stderrText?: string;
  /** The program's value, unless it failed. */
  value?: unknown;
  failure?: { type: FailureType; message: string };
  calls?: readonly SampleCall[];
  source?: "run" | "serve" | "replay";
  /** The client's own name for its conversation. */
  clientSession?: string;
  user?: string;
  /** What others call themselves: the person, and the server with its version. */
  names?: string;
  /** Limits and modes that it ran under, and the clock and the randomness it had. */
  options?: RunFacts["options"];
  environment?: unknown;
}

const DIGEST = `sha256:${"ab".repeat(32)}`;

/** An archive in a folder of its own. */
export function useArchive(): { path: string; folder: string; db: Database; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "ptc-report-"));
  const path = join(folder, "archive.db");
  const db = openForWriting(path);
  db.exec("PRAGMA synchronous = OFF");
  const remove = () => {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { path, folder, db, remove };
}

/** Archives a run. `read` reads it again, as reports get it. */
export function storeSample(
  db: Database,
  sample: SampleRun,
): { record: RunFacts; read: () => Promise<ArchivedRun> } {
  const { run, calls } = handOver(sample);
  storeRun(db, run, calls);
  return { record: run.facts, read: () => readArchived(db, run.facts.run_id) };
}

/** Archives a run in any store, and returns its id. */
export async function archiveIn(archive: RunArchiver, sample: SampleRun): Promise<string> {
  const { run, calls } = handOver(sample);
  const recording = archive.begin(run.facts.run_id);
  for (const call of calls) await recording.addCall(call);
  expect(await recording.finish(run)).toMatchObject({ ok: true });
  return run.facts.run_id;
}

/** Archives a run that can be replayed, and returns its id. */
export function archiveReplayable(archive: RunArchiver): Promise<string> {
  const bounds = { timeout_ms: 1_000, max_output_bytes: 65_536, max_stderr_bytes: 65_536 };
  return archiveIn(archive, {
    code: "work()",
    options: { ...bounds, max_parallel_calls: 10, max_tool_calls: 1_000, typecheck: "error" },
    environment: { seed: "0".repeat(64), time_zone: "UTC" },
  });
}

function handOver(sample: SampleRun): { run: RunToArchive; calls: CallToArchive[] } {
  return { run: handOverRun(sample), calls: (sample.calls ?? []).map(handOverCall) };
}

function handOverRun(sample: SampleRun): RunToArchive {
  const {
    code = "globalThis.result = 1;\n",
    data = {},
    fileName = "program.ts",
    tookMs = 100,
    calls = [],
  } = sample;
  const runId = sample.runId ?? randomUUID();
  const inputDigest = digestOf({ code, data, language: "typescript" });
  const metrics = {
    duration_ms: tookMs,
    tool_calls: calls.length,
    tool_result_bytes: calls.reduce((sum, { bytes = 0 }) => sum + bytes, 0),
  };
  const result: RunResult =
    sample.failure === undefined
      ? { ok: true, data: sample.value ?? null, metrics }
      : { ok: false, error: { ...sample.failure, retryable: false }, metrics };
  return {
    facts: {
      run_id: runId,
      trace_id: "0af7651916cd43dd8448eb211c80319c",
      principal: sample.names ?? "local",
      source: sample.source ?? "serve",
      ...(sample.clientSession !== undefined && { client_session: sample.clientSession }),
      ...(sample.user !== undefined && {
        actor: { user: sample.user, uid: 1000, host: "desk-7" },
        client: { name: "claude-code", version: "2.1.0" },
      }),
      started_at: sample.startedAt ?? Date.UTC(2026, 10, 20, 9, 30),
      language: "typescript",
      file_name: fileName,
      input_digest: inputDigest,
      bundle_digest: DIGEST,
      sandbox_image: DIGEST,
      tools: [{ tool: sample.names ?? "mcp__github__list_issues", digest: DIGEST }],
      versions: {
        ptc: "1.2.3",
        node: "v24.0.0",
        protocol: 1,
        runtime: "Python 3.11.2; python3-numpy 1:1.24.2",
      },
      servers: [{ server: "github", name: sample.names ?? "GitHub", version: sample.names ?? "2.0" }],
      options: sample.options ?? { timeout_ms: 120_000, typecheck: "error" },
      redactions: 2,
    },
    code,
    dataJson: JSON.stringify(data),
    consoleText: sample.consoleText ?? "",
    stderrText: sample.stderrText ?? "",
    modules: [{ module: "github", text: "export const github = 1;" }],
    environmentJson: JSON.stringify(sample.environment ?? {}),
    envelope: {
      run_id: runId,
      trace_id: "0af7651916cd43dd8448eb211c80319c",
      tool_name: "execute_program",
      tool_version: "1.2.3",
      input_digest: inputDigest,
      output_digest: digestOf({ ...result, metrics: undefined }),
      sandbox_image: DIGEST,
      duration_ms: tookMs + 12,
      approval_state: "NOT_REQUIRED",
      result,
    },
  };
}

function handOverCall(call: SampleCall, seq: number): CallToArchive {
  const tool = call.tool ?? "mcp__github__list_issues";
  const server = tool.split("__")[1] ?? "";
  const outcome =
    call.error === undefined
      ? { ok: true, data: call.answer ?? { seq } }
      : { ok: false, error: { type: "ToolError", server, tool, message: call.error, retryable: false } };
  const outcomeJson = JSON.stringify(outcome);
  return {
    facts: {
      seq,
      tool,
      server,
      started_ms: call.from,
      duration_ms: call.took,
      decision: call.decision ?? "allowed",
      ...(call.approver !== undefined && { approver: call.approver }),
      ...(call.unkept !== undefined && { unkept: call.unkept }),
      ok: call.error === undefined,
      result_bytes: call.bytes ?? outcomeJson.length,
      redactions: 0,
    },
    argumentsJson: JSON.stringify(call.arguments ?? { page: seq }),
    outcomeJson,
  };
}
