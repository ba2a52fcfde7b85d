import type { RunArchiver } from "../../archive/archive-store.ts";
import { boundCount, boundDuration, boundInstant } from "../../archive/bounds.ts";
import {
  boundWhy,
  type CallToArchive,
  NO_ARGUMENTS,
  type RunToArchive,
  unkeptOutcome,
} from "../../archive/run-to-archive.ts";
import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/error-message.ts";
import { textDigest } from "../../base/text-digest.ts";
import type { ApprovalAnswered, PolicyDecided } from "../../broker/decision-events.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { PROTOCOL_VERSION } from "../../protocol/limits.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import type { ObservedCall } from "../call-log.ts";
import { maxKeptBytes } from "../output/runner-output.ts";
import { boundConsole } from "../output/whole-output.ts";
import { renderRedactedJson } from "./redacted-json.ts";
import { calledServer, RunAudit, type RunAuditOptions } from "./run-audit.ts";
import type { BegunRun, RunRecorder, RunRecording, RunReport } from "./run-recorder.ts";

export interface RecorderOptions extends RunAuditOptions {
  /** Without one, runs are only audited. */
  archive: Pick<RunArchiver, "begin"> | undefined;
  redactor: Redactor;
  /** What each server said it is, by configured name. */
  servers: ReadonlyMap<string, { name: string; version: string }>;
  versions: { ptc: string; node: string };
  clock: Pick<Clock, "wallMs">;
}

/** Limits of texts in archive/run-record.ts. Names from programs and servers may be longer, also through redaction. */
const MAX_NAME_CHARS = 512;
const MAX_FILE_NAME_CHARS = 4_096;
const MAX_APPROVER_CHARS = 256;
/** The names of more modules than this are not recorded. Messages list fewer. */
const MAX_KNOWN_MODULES = 1_000;

/**
 * Records runs in the archive and the audit log, without secrets. Nothing here throws or rejects: the first problem is
 * reported in one line at the end of the run. A failure of one log does not affect the other.
 */
export class ArchivingRecorder implements RunRecorder {
  readonly #options: RecorderOptions;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  begin(run: BegunRun): RunRecording {
    return new ArchivedRecording(run, this.#options);
  }
}

/** The archived form of a call's values. */
interface KeptValues {
  argumentsDigest: string;
  argumentsJson: string;
  outcomeJson: string;
  redactions: number;
  /** Why the values are not archived. */
  unkept?: string;
}

class ArchivedRecording implements RunRecording {
  readonly #run: BegunRun;
  readonly #options: RecorderOptions;
  readonly #audit: RunAudit;
  readonly #startedAt: number;
  #recording: ReturnType<RunArchiver["begin"]> | undefined;
  readonly #called = new Set<string>();
  #calls = 0;
  #redactions = 0;
  /** The first problem with recording the run, in one line. */
  #problem: string | undefined;

  constructor(run: BegunRun, options: RecorderOptions) {
    this.#run = run;
    this.#options = options;
    this.#audit = new RunAudit(run, options);
    this.#startedAt = boundInstant(run.startedAt ?? options.clock.wallMs());
    this.#attempt(() => {
      this.#recording = options.archive?.begin(run.runId);
    });
  }

  async onCall(call: ObservedCall): Promise<void> {
    const values = await this.#valuesOf(call);
    this.#calls++;
    this.#redactions += values.redactions;
    this.#called.add(call.tool);
    if (call.outcome.earlier === undefined) this.#attempt(() => this.#audit.call(call, values));
    try {
      await this.#recording?.addCall(this.#handedCall(call, values));
    } catch (error) {
      this.#giveUp(error);
    }
  }

  onDecision(decided: PolicyDecided): void {
    this.#attempt(() => this.#audit.decision(decided));
  }

  onApproval(answered: ApprovalAnswered): void {
    this.#attempt(() => this.#audit.approval(answered));
  }

  async end(report: RunReport): Promise<string | undefined> {
    let handed: RunToArchive | undefined;
    try {
      handed = this.#handedRun(report);
    } catch (error) {
      this.#giveUp(error);
    }
    this.#attempt(() => this.#audit.end(report, { calls: this.#calls, redactions: this.#redactions }));
    if (this.#recording === undefined || handed === undefined) return this.#problem;
    try {
      const result = await this.#recording.finish(handed);
      return result.ok ? this.#problem : result.message;
    } catch (error) {
      this.#giveUp(error);
      return this.#problem;
    }
  }

  suspend(): void {
    const recording = this.#recording;
    this.#recording = undefined;
    this.#attempt(() => recording?.discard());
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#note(error);
    }
  }

  #note(error: unknown): void {
    const reason = messageOf(error);
    this.#problem ??= `run ${this.#run.runId} could not be recorded: ${reason}`;
  }

  /** Stops archiving this run, because an incomplete run must not be archived. */
  #giveUp(error: unknown): void {
    this.#note(error);
    const recording = this.#recording;
    this.#recording = undefined;
    this.#attempt(() => recording?.discard());
  }

  #handedCall(
    call: ObservedCall,
    { argumentsJson, outcomeJson, redactions, unkept }: KeptValues,
  ): CallToArchive {
    const { decision, approver, rule, reason, bytes, ok } = call.outcome;
    return {
      facts: {
        seq: call.seq - 1,
        // A program can call tools by any text, so the name is redacted and cut.
        tool: this.#text(call.tool),
        server: this.#text(calledServer(call, this.#options.tools)),
        started_ms: boundDuration(call.startedMs),
        duration_ms: boundDuration(call.durationMs),
        decision,
        ...(approver === undefined ? {} : { approver: this.#text(approver, MAX_APPROVER_CHARS) }),
        ...(rule === undefined ? {} : { rule: this.#text(rule) }),
        ...(reason === undefined ? {} : { reason: this.#text(reason) }),
        ok,
        result_bytes: boundCount(bytes),
        redactions: boundCount(redactions),
        ...(unkept === undefined ? {} : { unkept }),
      },
      argumentsJson,
      outcomeJson,
    };
  }

  /** The values of a call as JSON without secrets. When that fails, only these values are missing from the archive. */
  async #valuesOf(call: ObservedCall): Promise<KeptValues> {
    const { redactor } = this.#options;
    try {
      const args = await renderRedactedJson(call.arguments ?? null, redactor, "canonical");
      const outcome = await renderRedactedJson(this.#keptOutcome(call), redactor, "as it is");
      return {
        argumentsDigest: textDigest(args.json),
        argumentsJson: args.json,
        outcomeJson: outcome.json,
        redactions: args.redactions + outcome.redactions,
      };
    } catch (error) {
      const reason = messageOf(error);
      return {
        argumentsDigest: UNKNOWN_DIGEST,
        argumentsJson: NO_ARGUMENTS,
        outcomeJson: unkeptOutcome(call.outcome.ok),
        redactions: 0,
        unkept: boundWhy(`its values cannot be written: ${reason}`),
      };
    }
  }

  #keptOutcome({ outcome, raw }: ObservedCall): object {
    const kept = raw && outcome.raw !== undefined ? { raw: outcome.raw } : {};
    if (outcome.ok) return { ok: true, data: outcome.data ?? null, ...kept };
    const { type, server, tool, message, retryable } = outcome.error;
    const names = { server: this.#text(server), tool: this.#text(tool) };
    return { ok: false, error: { type, ...names, message, retryable }, ...kept };
  }

  #handedRun(report: RunReport): RunToArchive {
    const { redactor } = this.#options;
    const code = redactor.redactText(report.program.code);
    const data = redactor.redactValue(report.program.data ?? null);
    const consoleText = boundConsole(report.consoleText, report.limits.maxOutputBytes);
    this.#redactions += report.redactions + code.count + data.count;
    return {
      facts: this.#facts(report),
      code: code.value,
      dataJson: JSON.stringify(data.value),
      consoleText,
      stderrText: report.stderrText,
      emittedJson: report.emitted.length === 0 ? undefined : JSON.stringify(report.emitted),
      wholeConsoleText: consoleText === report.consoleText ? undefined : report.consoleText,
      wholeResultJson: report.wholeResultJson,
      envelope: report.envelope,
      modules: [...report.modules].map(([module, text]) => ({
        module,
        text: redactor.redactText(text).value,
      })),
      environmentJson: JSON.stringify({ ...report.environment, trace: report.trace }),
    };
  }

  #facts(report: RunReport): RunToArchive["facts"] {
    const { tools, servers, context, versions } = this.#options;
    const { program, envelope, limits, typecheck, bundle } = report;
    const called = [...this.#called].sort().flatMap((name) => tools.get(name) ?? []);
    const serversCalled = [...new Set(called.map(({ server }) => server))];
    return {
      run_id: envelope.run_id,
      trace_id: envelope.trace_id,
      principal: context.principal,
      source: context.source,
      started_at: this.#startedAt,
      language: program.language,
      file_name: program.fileName.slice(0, MAX_FILE_NAME_CHARS),
      input_digest: envelope.input_digest,
      bundle_digest: bundle === undefined ? null : digestOf(bundle),
      sandbox_image: envelope.sandbox_image,
      tools: called.map(({ namespacedName, definitionDigest }) => ({
        tool: namespacedName.slice(0, MAX_NAME_CHARS),
        digest: definitionDigest,
      })),
      versions: { ...versions, protocol: PROTOCOL_VERSION },
      servers: serversCalled.flatMap((server) => {
        const known = servers.get(server);
        if (known === undefined) return [];
        return [{ server, name: this.#text(known.name), version: this.#text(known.version) }];
      }),
      options: {
        timeout_ms: limits.timeoutMs,
        max_output_bytes: limits.maxOutputBytes,
        max_kept_bytes: maxKeptBytes(limits),
        max_stderr_bytes: limits.maxStderrBytes,
        max_parallel_calls: limits.maxParallelCalls,
        max_tool_calls: limits.maxToolCalls,
        typecheck,
        modules: report.knownModules.slice(0, MAX_KNOWN_MODULES),
      },
      redactions: boundCount(this.#redactions),
    };
  }

  #text(text: string, maxChars = MAX_NAME_CHARS): string {
    return this.#options.redactor.redactText(text).value.slice(0, maxChars);
  }
}

/** Stands for the digest of arguments that cannot be written as JSON. */
const UNKNOWN_DIGEST = "unknown";
