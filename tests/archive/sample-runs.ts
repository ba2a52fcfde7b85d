import { createHash, randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ArchiveResult } from "../../archive/archive-store.ts";
import type { CallToArchive, RunToArchive } from "../../archive/build-record.ts";
import { openForWriting } from "../../archive/sqlite/connection.ts";
import type { Database } from "../../archive/sqlite/database.ts";
import type { WriterReply } from "../../archive/writer/archive-writer.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import type { RunResult } from "../../protocol/envelope.ts";

export interface SampleOptions {
  runId?: string;
  code?: string;
  data?: unknown;
  startedAt?: number;
  principal?: string;
  source?: "run" | "replay";
  clientSession?: string;
  actor?: RunToArchive["facts"]["actor"];
  client?: RunToArchive["facts"]["client"];
  result?:
    | { ok: true; data: unknown }
    | { ok: false; error: { type: "ScriptError"; message: string; retryable: boolean } };
  consoleText?: string;
  stderrText?: string;
  calls?: number;
  /** What each call answers, by its place. */
  answer?: (seq: number) => unknown;
  tool?: string;
  files?: RunToArchive["files"];
}

/** A run as the rest of ptc would hand it over, with calls that answer something small. */
export function sampleRun(options: SampleOptions = {}): { run: RunToArchive; calls: CallToArchive[] } {
  const runId = options.runId ?? randomUUID();
  const code = options.code ?? "console.log('hello')";
  const data = options.data ?? { b: 1, a: 2 };
  const inputDigest = digestOf({ code, data, language: "typescript" });
  const callCount = options.calls ?? 2;
  const result = options.result ?? { ok: true as const, data: { done: true } };
  const metrics = { duration_ms: 5, tool_calls: callCount, tool_result_bytes: callCount * 10 };
  return {
    calls: Array.from({ length: callCount }, (_, seq) =>
      sampleCall(seq, options.answer?.(seq) ?? { sum: seq }, options.tool),
    ),
    run: {
      facts: {
        run_id: runId,
        trace_id: randomBytes(16).toString("hex"),
        principal: options.principal ?? "local",
        source: options.source ?? "run",
        ...(options.clientSession !== undefined && { client_session: options.clientSession }),
        ...(options.actor !== undefined && { actor: options.actor }),
        ...(options.client !== undefined && { client: options.client }),
        started_at: options.startedAt ?? Date.UTC(2030, 0, 2),
        language: "typescript",
        file_name: "program.ts",
        input_digest: inputDigest,
        bundle_digest: sha256("bundle"),
        sandbox_image: null,
        tools: [{ tool: options.tool ?? "mcp__math__add", digest: sha256("definition") }],
        versions: { ptc: "1.2.3", node: "v24.0.0", protocol: 1 },
        servers: [{ server: "math", name: "Math", version: "1.0" }],
        options: { typecheck: "error" },
        redactions: 0,
      },
      code,
      files: options.files,
      dataJson: JSON.stringify(data),
      consoleText: options.consoleText ?? "hello\n",
      stderrText: options.stderrText ?? "",
      modules: [{ module: "math", text: "export const add = 1;\n" }],
      environmentJson: JSON.stringify({ seed: runId, clock: [1, 2, 3] }),
      envelope: {
        run_id: runId,
        trace_id: "t",
        tool_name: "execute_program",
        tool_version: "1.2.3",
        input_digest: inputDigest,
        output_digest: digestOf(result),
        sandbox_image: null,
        duration_ms: 7,
        approval_state: "NOT_REQUIRED",
        result: { ...result, metrics } as RunResult,
      },
    },
  };
}

export function sampleCall(seq: number, data: unknown, tool = "mcp__math__add"): CallToArchive {
  const outcomeJson = JSON.stringify({ ok: true, data });
  return {
    facts: {
      seq,
      tool,
      server: tool.split("__")[1] ?? "",
      started_ms: seq * 1.5,
      duration_ms: 1.25,
      decision: "allowed",
      ok: true,
      result_bytes: outcomeJson.length,
      redactions: 0,
    },
    argumentsJson: JSON.stringify({ b: seq, a: 1 }),
    outcomeJson,
  };
}

export function sha256(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** An archive to write that does not wait for the disk: for tests that store many runs. */
export function openQuickly(path: string): Database {
  const db = openForWriting(path);
  db.exec("PRAGMA synchronous = OFF");
  return db;
}

/** A folder for one test file's archives, and how to remove it. */
export function temporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "ptc-archive-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** What a writer of runs answers: the runs of which it has taken calls, and what became of those that have ended. */
export function keptReplies() {
  const taken: string[] = [];
  const results = new Map<string, ArchiveResult>();
  const reply = (answer: WriterReply) => {
    if (answer.kind === "taken") taken.push(answer.runId);
    else results.set(answer.runId, answer.result);
  };
  return { taken, results, reply };
}
