import type { RunArchiver } from "../../archive/archive-store.ts";
import type { AuditLog } from "../../archive/audit/audit-log.ts";
import { boundCount, boundDuration, boundInstant } from "../../archive/bounds.ts";
import {
  boundWhy,
  type CallToArchive,
  NO_ARGUMENTS,
  type RunToArchive,
  unkeptOutcome,
} from "../../archive/build-record.ts";
import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/faults.ts";
import { writeJson } from "../../base/json.ts";
import { settlesWithin } from "../../base/waiting.ts";
import type { CallGoingOut } from "../../broker/decision-events.ts";
import type { CallFlow } from "../../broker/flow/run-flow.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { ApprovalAnswered, PolicyDecided } from "../../protocol/call-decision.ts";
import { digestOf, textDigest } from "../../protocol/canonical-json.ts";
import { PROTOCOL_VERSION } from "../../protocol/limits.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { parseNamespacedName } from "../../protocol/tool-names.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import type { Redacted } from "../../secrets/text-redaction.ts";
import type { ObservedCall } from "../call-log.ts";
import { maxKeptBytes } from "../output/runner-output.ts";
import { boundConsole } from "../output/whole-output.ts";
import { renderRedactedJson } from "./redacted-json.ts";
import type { BegunRun, RecordedPii, RunRecorder, RunRecording, RunReport } from "./run-recorder.ts";

export interface RecorderOptions extends RunAuditOptions {
  /** Without one, runs are only audited. */
  archive: Pick<RunArchiver, "begin"> | undefined;
  /**
   * Whether a run is answered only once it is archived, so that what somebody was answered is there also when this process is killed
   * the moment after. An archive that does not answer holds a run up for some seconds.
   */
  archivesBeforeAnswer?: boolean | undefined;
  redactor: Redactor;
  /** Redacts arguments, so that a replay can compare them. Defaults to `redactor`. */
  comparing?: Redactor | undefined;
  /** Which personal data is redacted at present. */
  pii?: (() => RecordedPii | undefined) | undefined;
  /** What each server said it is, by configured name. */
  servers: ReadonlyMap<string, { name: string; version: string }>;
  versions: { ptc: string; node: string };
  clock: Pick<Clock, "wallMs">;
}

/** How long an answer waits for its run to be archived, if it waits at all. */
const ARCHIVED_WITHIN_MS = 10_000;

/** How many values of a call have their origins recorded, and how many origins each has. */
const MAX_VALUES = 100;
const MAX_ORIGINS = 8;

/** Limits of texts in archive/run-record.ts. Names from programs and servers may be longer, also through redaction. */
const MAX_NAME_CHARS = 512;
const MAX_FILE_NAME_CHARS = 4_096;
const MAX_APPROVER_CHARS = 256;
const MAX_ACTOR_CHARS = 256;
const MAX_CLIENT_CHARS = 128;
const MAX_SESSION_CHARS = 128;
const MAX_LOGIN_CHARS = 256;
const MAX_GROUPS = 1_000;
const MAX_RUNTIME_CHARS = 4_096;
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

class ArchivedRecording implements RunRecording {
  readonly #run: BegunRun;
  readonly #options: RecorderOptions;
  readonly #audit: RunAudit;
  readonly #startedAt: number;
  #recording: ReturnType<RunArchiver["begin"]> | undefined;
  readonly #called = new Set<string>();
  #calls = 0;
  #redactions = 0;
  /** The program and its data without secrets. */
  #program: { code: Redacted<string>; data: Redacted<unknown> } | undefined;
  #isAudited = false;
  #ended: Promise<string | undefined> | undefined;
  readonly beforeEffect: RunRecording["beforeEffect"];
  /** The first problem with recording the run, in one line. */
  #problem: string | undefined;

  constructor(run: BegunRun, options: RecorderOptions) {
    this.#run = run;
    this.#options = options;
    this.#audit = new RunAudit(run, options);
    if (options.isStrict === true) this.beforeEffect = (call) => this.#announce(call);
    this.#startedAt = boundInstant(run.startedAt ?? options.clock.wallMs());
    this.#attempt(() => {
      this.#recording = options.archive?.begin(run.runId);
    });
  }

  async onCall(call: ObservedCall): Promise<void> {
    const { redactor, comparing = redactor } = this.#options;
    const values = await keptValuesOf(call, { redactor, comparing }, (text) => this.#text(text));
    this.#calls++;
    this.#redactions += values.redactions;
    this.#called.add(call.tool);
    if (call.outcome.earlier === undefined) this.#attempt(() => this.#audit.call(this.#named(call), values));
    try {
      await this.#recording?.addCall(this.#handedCall(call, values));
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /** A rehearsal is not archived. What it read from servers is in the audit log. */
  readonly onRehearsed = async (call: ObservedCall): Promise<void> => {
    if (call.outcome.earlier !== undefined) return;
    const { redactor, comparing = redactor } = this.#options;
    const values = await keptValuesOf(call, { redactor, comparing }, (text) => this.#text(text));
    this.#attempt(() => this.#audit.call(this.#named(call), values, true));
  };

  onDecision(decided: PolicyDecided): void {
    this.#attempt(() => this.#audit.decision(decided));
  }

  onApproval(answered: ApprovalAnswered): void {
    this.#attempt(() => this.#audit.approval(answered));
  }

  async beforeAnswer(report: RunReport): Promise<{ problem: string | undefined } | undefined> {
    this.#auditEnd(report);
    if (this.#options.archivesBeforeAnswer !== true) {
      await this.#audit.written();
      return undefined;
    }
    const written = Promise.all([this.end(report), this.#audit.written(ARCHIVED_WITHIN_MS)]);
    if (await settlesWithin(written, ARCHIVED_WITHIN_MS)) return { problem: await this.end(report) };
    const { runId } = this.#run;
    return {
      problem: `run ${runId} is not archived yet: its archive does not answer, and ptc goes on trying`,
    };
  }

  #auditEnd(report: RunReport): void {
    this.#isAudited = true;
    this.#attempt(() => {
      const { code, data } = this.#redactProgram(report);
      this.#redactions += report.redactions + code.count + data.count;
    });
    this.#attempt(() => this.#audit.end(report, { calls: this.#calls, redactions: this.#redactions }));
  }

  async beforeSuspension(): Promise<void> {
    await this.#audit.written();
  }

  end(report: RunReport): Promise<string | undefined> {
    this.#ended ??= this.#end(report);
    return this.#ended;
  }

  async #end(report: RunReport): Promise<string | undefined> {
    if (!this.#isAudited) {
      this.#auditEnd(report);
      await this.#audit.written();
    }
    let handed: RunToArchive | undefined;
    try {
      handed = this.#handedRun(report);
    } catch (error) {
      this.#giveUp(error);
    }
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

  #redactProgram({ program }: RunReport): { code: Redacted<string>; data: Redacted<unknown> } {
    const { redactor } = this.#options;
    this.#program ??= {
      code: redactor.redactText(program.code),
      data: redactor.redactValue(program.data ?? null),
    };
    return this.#program;
  }

  async #announce(call: CallGoingOut): Promise<string | undefined> {
    try {
      const { redactor, comparing = redactor } = this.#options;
      const { json } = await renderRedactedJson(call.arguments ?? null, comparing, "canonical");
      return await this.#audit.calling(call, textDigest(json));
    } catch (error) {
      return messageOf(error);
    }
  }

  #named(call: ObservedCall): ObservedCall {
    return this.#options.tools.get(call.tool) === undefined ? { ...call, tool: this.#text(call.tool) } : call;
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
    const { decision, approver, rule, reason, bytes, ok, waitedMs, connectMs } = call.outcome;
    const warning = call.outcome.ok ? call.outcome.warning : undefined;
    return {
      facts: {
        seq: call.seq - 1,
        // A program can call tools by any text, so the name is redacted and cut.
        tool: this.#text(call.tool),
        server: this.#text(calledServer(call, this.#options.tools)),
        started_ms: boundDuration(call.startedMs),
        duration_ms: boundDuration(call.durationMs),
        ...(waitedMs === undefined ? {} : { waited_ms: boundDuration(Math.min(waitedMs, call.durationMs)) }),
        ...(connectMs === undefined
          ? {}
          : { connect_ms: boundDuration(Math.min(connectMs, call.durationMs)) }),
        decision,
        ...(approver === undefined ? {} : { approver: this.#text(approver, MAX_APPROVER_CHARS) }),
        ...(rule === undefined ? {} : { rule: this.#text(rule) }),
        ...(reason === undefined ? {} : { reason: this.#text(reason) }),
        ...this.#values(call.outcome.flow),
        ok,
        ...(warning === undefined ? {} : { warning: this.#text(warning) }),
        result_bytes: boundCount(bytes),
        redactions: boundCount(redactions),
        ...(unkept === undefined ? {} : { unkept }),
      },
      argumentsJson,
      outcomeJson,
    };
  }

  /** Where the values of a call came from. Only the first `MAX_VALUES` values with known origins or labels are kept. */
  #values(flow: CallFlow | undefined): Pick<CallToArchive["facts"], "values"> | undefined {
    const told = (flow?.leaves ?? []).filter(
      ({ origins, labels, undecided }) =>
        labels.length > 0 ||
        undecided.length > 0 ||
        origins.some(({ kind }) => kind === "user" || kind === "result"),
    );
    if (told.length === 0) return undefined;
    const values = told.slice(0, MAX_VALUES).map(({ path, origins, labels, undecided }) => ({
      path: this.#text(path),
      origins: origins.slice(0, MAX_ORIGINS).map(({ kind, tool, seq, isEarlier, labels: own }) => ({
        kind,
        ...(tool === undefined ? {} : { tool: this.#text(tool), call: boundCount((seq ?? 1) - 1) }),
        ...(isEarlier === undefined ? {} : { earlier: true as const }),
        labels: [...own],
      })),
      labels: [...labels],
      ...(undecided.length === 0 ? {} : { undecided: [...undecided] }),
    }));
    return { values };
  }

  #handedRun(report: RunReport): RunToArchive {
    const { code, data } = this.#redactProgram(report);
    const { redactor } = this.#options;
    const consoleText = boundConsole(report.consoleText, report.limits.maxOutputBytes);
    return {
      facts: this.#facts(report),
      code: code.value,
      dataJson: writeJson(data.value),
      files: report.program.files,
      consoleText,
      stderrText: report.stderrText,
      emittedJson: report.emitted.length === 0 ? undefined : writeJson(report.emitted),
      wholeConsoleText: consoleText === report.consoleText ? undefined : report.consoleText,
      wholeResultJson: report.wholeResultJson,
      envelope: report.envelope,
      modules: [...report.modules].map(([module, text]) => ({
        module,
        text: redactor.redactText(text).value,
      })),
      environmentJson: writeJson({ ...report.environment, trace: report.trace }),
    };
  }

  #facts(report: RunReport): RunToArchive["facts"] {
    const pii = this.#options.pii?.();
    const { tools, servers, context, versions } = this.#options;
    const { program, envelope, limits, typecheck, bundle, session } = report;
    const called = [...this.#called].sort().flatMap((name) => tools.get(name) ?? []);
    return {
      run_id: envelope.run_id,
      trace_id: envelope.trace_id,
      principal: context.principal,
      ...loginOf(context, (text) => this.#text(text, MAX_LOGIN_CHARS)),
      source: context.source,
      ...(context.clientSession === undefined
        ? {}
        : { client_session: this.#text(context.clientSession, MAX_SESSION_CHARS) }),
      ...this.#who(),
      started_at: this.#startedAt,
      language: program.language,
      file_name: program.fileName.slice(0, MAX_FILE_NAME_CHARS),
      input_digest: envelope.input_digest,
      bundle_digest: bundle === undefined ? null : digestOf(bundle),
      sandbox_image: envelope.sandbox_image,
      ...(envelope.sandbox_engine === undefined ? {} : { sandbox_engine: envelope.sandbox_engine }),
      tools: called.map(({ namespacedName, definitionDigest }) => ({
        tool: namespacedName.slice(0, MAX_NAME_CHARS),
        digest: definitionDigest,
      })),
      versions: {
        ...versions,
        protocol: PROTOCOL_VERSION,
        ...(report.runtime === undefined ? {} : { runtime: this.#text(report.runtime, MAX_RUNTIME_CHARS) }),
      },
      servers: describeServers(called, servers, (text) => this.#text(text)),
      options: {
        timeout_ms: limits.timeoutMs,
        max_output_bytes: limits.maxOutputBytes,
        max_kept_bytes: maxKeptBytes(limits),
        ...(limits.maxResult === undefined ? {} : { max_result: { ...limits.maxResult } }),
        max_stderr_bytes: limits.maxStderrBytes,
        max_parallel_calls: limits.maxParallelCalls,
        max_tool_calls: limits.maxToolCalls,
        typecheck,
        modules: report.knownModules.slice(0, MAX_KNOWN_MODULES),
        ...(pii === undefined ? {} : { pii: { ...pii } }),
      },
      redactions: boundCount(this.#redactions),
      ...(session === undefined ? {} : { session }),
    };
  }

  #who(): Pick<RunToArchive["facts"], "actor" | "client"> {
    const { actor, client } = this.#options.context;
    const text = (name: string) => this.#text(name, MAX_CLIENT_CHARS);
    const version = client?.version;
    return {
      ...(actor === undefined
        ? {}
        : {
            actor: {
              ...actor,
              user: this.#text(actor.user, MAX_ACTOR_CHARS),
              host: this.#text(actor.host, MAX_ACTOR_CHARS),
            },
          }),
      ...(client === undefined
        ? {}
        : {
            client: { name: text(client.name), ...(version === undefined ? {} : { version: text(version) }) },
          }),
    };
  }

  #text(text: string, maxChars = MAX_NAME_CHARS): string {
    return this.#options.redactor.redactText(text).value.slice(0, maxChars);
  }
}

/** What the called servers said they are, each once. */
function describeServers(
  called: readonly { server: string }[],
  servers: RecorderOptions["servers"],
  text: (text: string) => string,
) {
  return [...new Set(called.map(({ server }) => server))].flatMap((server) => {
    const known = servers.get(server);
    return known === undefined ? [] : [{ server, name: text(known.name), version: text(known.version) }];
  });
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

/** Stands for the digest of arguments that cannot be written as JSON. */
const UNKNOWN_DIGEST = "unknown";

/**
 * The values of a call as JSON without secrets. When that fails, only these values are missing from the archive.
 *
 * @param comparing redacts arguments, `redactor` all else.
 * @param text bounds and redacts a name.
 */
async function keptValuesOf(
  call: ObservedCall,
  { redactor, comparing }: { redactor: Redactor; comparing: Redactor },
  text: (name: string) => string,
): Promise<KeptValues> {
  try {
    const args = await renderRedactedJson(call.arguments ?? null, comparing, "canonical");
    const outcome = await renderRedactedJson(keptOutcome(call, text), redactor, "as it is");
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

function keptOutcome({ outcome, raw }: ObservedCall, text: (name: string) => string): object {
  const kept = raw && outcome.raw !== undefined ? { raw: outcome.raw } : {};
  if (outcome.ok) return { ok: true, data: outcome.data ?? null, ...kept };
  const { type, server, tool, message, retryable } = outcome.error;
  const names = { server: text(server), tool: text(tool) };
  const data = outcome.data === undefined ? {} : { data: outcome.data };
  return { ok: false, error: { type, ...names, message, retryable }, ...data, ...kept };
}

interface RunAuditOptions {
  audit: Pick<AuditLog, "calling" | "call" | "decision" | "approval" | "run" | "written">;
  /** Whether each call with an effect waits until it is noted on the disk. */
  isStrict?: boolean | undefined;
  tools: Pick<ToolCatalog, "get">;
  context: RunContext;
}

/** How long an answer waits for a log that cannot be written just now. */
const WRITE_PATIENCE_MS = 2_000;

/** Writes the entries of one run to the audit log. Throws what the log throws. */
class RunAudit {
  readonly #run: BegunRun;
  readonly #options: RunAuditOptions;

  constructor(run: BegunRun, options: RunAuditOptions) {
    this.#run = run;
    this.#options = options;
  }

  /** Resolves when the call is noted on the disk, or with the reason why it is not. */
  calling({ seq, server, tool, decision, approver }: CallGoingOut, argumentsDigest: string) {
    return this.#options.audit.calling(this.#named(), {
      seq,
      server,
      tool,
      argumentsDigest,
      decision,
      approver,
    });
  }

  call(
    call: ObservedCall,
    values: { argumentsDigest: string; redactions: number },
    isRehearsed = false,
  ): void {
    const { audit, tools } = this.#options;
    const { decision, approver, bytes } = call.outcome;
    audit.call(this.#named(), {
      seq: call.seq,
      server: calledServer(call, tools),
      tool: call.tool,
      known: tools.get(call.tool) !== undefined,
      argumentsDigest: values.argumentsDigest,
      resultBytes: bytes,
      durationMs: Math.round(call.durationMs),
      decision,
      approver,
      redactions: values.redactions,
      ...(isRehearsed ? { rehearsed: true } : {}),
    });
  }

  decision(decided: PolicyDecided): void {
    this.#options.audit.decision(this.#named(), decided);
  }

  approval(answered: ApprovalAnswered): void {
    this.#options.audit.approval(this.#named(), answered);
  }

  end({ envelope, session }: RunReport, { calls, redactions }: { calls: number; redactions: number }): void {
    this.#options.audit.run(this.#named(), {
      outcome: envelope.result.ok ? "ok" : envelope.result.error.type,
      calls,
      durationMs: envelope.duration_ms,
      redactions,
      session,
    });
  }

  /** Resolves when all entries are written, or after a bounded time. */
  written(patienceMs = WRITE_PATIENCE_MS): Promise<void> {
    return this.#options.audit.written(patienceMs);
  }

  #named() {
    const { runId, traceId, inputDigest } = this.#run;
    const { principal, name, groups, clientId, clientSession, client } = this.#options.context;
    const whose = { principal, name, groups, clientId, clientSession, client };
    return { runId, traceId, ...whose, codeDigest: inputDigest };
  }
}

/** The groups and the name that a login gives its principal, in the form of a record. */
function loginOf(
  { name, groups, boundGroups, clientId }: RunContext,
  textOf: (text: string) => string,
): Pick<RunToArchive["facts"], "principal_name" | "groups" | "bound_groups" | "client_id"> {
  const kept = (own: readonly string[]) => own.slice(0, MAX_GROUPS).map((group) => textOf(group));
  return {
    ...(name === undefined ? {} : { principal_name: textOf(name) }),
    ...(groups === undefined || groups.length === 0 ? {} : { groups: kept(groups) }),
    ...(boundGroups === undefined || boundGroups.length === 0 ? {} : { bound_groups: kept(boundGroups) }),
    ...(clientId === undefined ? {} : { client_id: textOf(clientId) }),
  };
}

/** The server that a call names, whether it exists or not. */
function calledServer({ tool }: ObservedCall, tools: Pick<ToolCatalog, "get">): string {
  return tools.get(tool)?.server ?? parseNamespacedName(tool)?.module ?? "";
}
