import type { ArchiveWriter } from "../archive/archive-writer.ts";
import type { AuditLog } from "../broker/audit-log.ts";
import type { Redactor } from "../broker/redaction.ts";
import type { ToolTable } from "../broker/tool-table.ts";
import { digestOf } from "../protocol/canonical-json.ts";
import { PROTOCOL_VERSION } from "../protocol/limits.ts";
import { parseNamespacedName } from "../protocol/tool-name.ts";
import type { CallRecord } from "./call-log.ts";
import type { BegunRun, RunRecorder, RunRecording, RunReport } from "./run-recorder.ts";

export interface RecorderOptions {
  /** Without one, runs are only audited. */
  archive: Pick<ArchiveWriter, "begin"> | undefined;
  audit: Pick<AuditLog, "call" | "run">;
  redactor: Redactor;
  tools: ToolTable;
  /** What each server said it is, by configured name. */
  servers: ReadonlyMap<string, { name: string; version: string }>;
  principal: string;
  source: "run" | "serve" | "replay";
  versions: { ptc: string; node: string };
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Records runs in the archive and the audit log, without secrets. */
export class ArchivingRecorder implements RunRecorder {
  readonly #options: RecorderOptions;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  begin(run: BegunRun): RunRecording {
    return new ArchivedRecording(run, this.#options);
  }
}

class ArchivedRecording implements RunRecording {
  readonly #run: BegunRun;
  readonly #options: RecorderOptions;
  readonly #startedAt: number;
  readonly #recording: ReturnType<ArchiveWriter["begin"]> | undefined;
  readonly #called = new Set<string>();
  #calls = 0;
  #redactions = 0;

  constructor(run: BegunRun, options: RecorderOptions) {
    this.#run = run;
    this.#options = options;
    this.#startedAt = options.now();
    this.#recording = options.archive?.begin(run.runId);
  }

  async onCall(call: CallRecord): Promise<void> {
    const { redactor, audit, tools } = this.#options;
    const text = (value: string) => redactor.redactText(value).value;
    const args = redactor.redactValue(call.arguments);
    const { outcome, redactions } = this.#redactOutcome(call);
    const count = args.count + redactions;
    this.#calls++;
    this.#redactions += count;
    this.#called.add(call.tool);
    const server = tools.get(call.tool)?.server ?? parseNamespacedName(call.tool)?.module ?? "";
    const { decision, approver, bytes } = call.outcome;
    audit.call(this.#audited(), {
      server,
      tool: call.tool,
      argumentsDigest: digestOf(args.value),
      resultBytes: bytes,
      durationMs: Math.round(call.durationMs),
      decision,
      approver,
      redactions: count,
    });
    await this.#recording?.addCall({
      facts: {
        seq: call.seq - 1,
        // A program can call what it likes.
        tool: text(call.tool),
        server: text(server),
        started_ms: call.startedMs,
        duration_ms: call.durationMs,
        decision,
        ...(approver === undefined ? {} : { approver: text(approver) }),
        ok: call.outcome.ok,
        result_bytes: bytes,
        redactions: count,
      },
      argumentsJson: JSON.stringify(args.value ?? null),
      outcomeJson: JSON.stringify(outcome),
    });
  }

  async end(report: RunReport): Promise<string | undefined> {
    const { envelope } = report;
    const { audit } = this.#options;
    const code = this.#options.redactor.redactText(report.program.code);
    const data = this.#options.redactor.redactValue(report.program.data);
    this.#redactions += report.redactions + code.count + data.count;
    audit.run(this.#audited(), {
      outcome: envelope.result.ok ? "ok" : envelope.result.error.type,
      calls: this.#calls,
      durationMs: envelope.duration_ms,
      redactions: this.#redactions,
    });
    if (this.#recording === undefined) return undefined;
    const result = await this.#recording.finish({
      facts: this.#facts(report),
      code: code.value,
      dataJson: JSON.stringify(data.value ?? null),
      consoleText: report.consoleText,
      envelope,
      modules: [...report.modules].map(([module, text]) => ({
        module,
        text: this.#options.redactor.redactText(text).value,
      })),
      environmentJson: JSON.stringify({ ...report.environment, trace: report.trace }),
    });
    return result.ok ? undefined : result.message;
  }

  #facts(report: RunReport) {
    const { tools, servers, principal, source, versions } = this.#options;
    const { program, envelope, limits, typecheck, bundle } = report;
    const called = [...this.#called].sort().flatMap((name) => tools.get(name) ?? []);
    const serversCalled = [...new Set(called.map(({ server }) => server))];
    return {
      run_id: envelope.run_id,
      trace_id: envelope.trace_id,
      principal,
      source,
      started_at: this.#startedAt,
      language: program.language,
      file_name: program.fileName,
      input_digest: envelope.input_digest,
      bundle_digest: bundle === undefined ? null : digestOf(bundle),
      sandbox_image: envelope.sandbox_image,
      tools: called.map(({ namespacedName, definitionDigest }) => ({
        tool: namespacedName,
        digest: definitionDigest,
      })),
      versions: { ...versions, protocol: PROTOCOL_VERSION },
      servers: serversCalled.flatMap((server) => {
        const known = servers.get(server);
        return known === undefined ? [] : [{ server, name: known.name, version: known.version }];
      }),
      options: {
        timeout_ms: limits.timeoutMs,
        max_output_bytes: limits.maxOutputBytes,
        max_stderr_bytes: limits.maxStderrBytes,
        max_parallel_calls: limits.maxParallelCalls,
        max_tool_calls: limits.maxToolCalls,
        typecheck,
      },
      redactions: this.#redactions,
    };
  }

  #redactOutcome({ outcome, raw }: CallRecord): { outcome: object; redactions: number } {
    const { redactor } = this.#options;
    const kept = outcome.ok
      ? { ok: true, data: outcome.data ?? null, ...(raw ? { raw: outcome.raw } : {}) }
      : {
          ok: false,
          error: outcome.error,
          ...(raw && outcome.raw !== undefined ? { raw: outcome.raw } : {}),
        };
    const { value, count } = redactor.redactValue(kept);
    return { outcome: value as object, redactions: count };
  }

  #audited() {
    const { runId, traceId, inputDigest } = this.#run;
    return { runId, traceId, principal: this.#options.principal, codeDigest: inputDigest };
  }
}
