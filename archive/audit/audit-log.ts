import type { Clock } from "../../base/clock.ts";
/**
 * The audit log: one JSON line for each call and each run, appended to a file that several processes may share. Each write
 * opens the file and appends complete lines only, so the file can be moved or deleted at any time.
 *
 * Nothing waits for the log, and its failures affect nothing else. Lines that cannot be written are kept, up to a bound, and
 * tried again. Lines that had to be dropped are counted in a line of their own.
 */

import type { FileHandle } from "node:fs/promises";
import { messageOf } from "../../base/error-message.ts";
import { endsWithLineFeed, openForAppend } from "./audit-file.ts";
import {
  type AuditedApproval,
  type AuditedCall,
  type AuditedDecision,
  type AuditedEnding,
  type AuditedLogin,
  type AuditedRun,
  type AuditMembers,
  boundMadeUpName,
  renderAuditLine,
} from "./audit-line.ts";

const MAX_WAITING_CHARS = 4 * 1024 * 1024;
const MAX_LINES_AT_A_TIME = 100;
const RETRY_AFTER_MS = 5_000;
/** How long lines of calls are gathered, so that a run of many calls writes a few times. The line of its end is not held. */
const GATHER_MS = 100;
const LINE_FEED = 0x0a;

interface AuditLogOptions {
  /** The file. Missing folders on its path are made for their owner only. */
  path: string;
  clock: Pick<Clock, "wallMs">;
  /** Returns a name without its secrets: names come from servers and programs, and may hold some. */
  redact: (name: string) => string;
  /** Is called once when the log cannot be written, and again only after a successful write in between. */
  onFailure: (message: string) => void;
}

export class AuditLog {
  readonly #options: AuditLogOptions;
  #waiting: string[] = [];
  #waitingChars = 0;
  #lost = 0;
  /** Whether the file may end within a line, which the next write must end first. */
  #maybeTorn = true;
  #failedAtMs: number | undefined;
  #reported = false;
  #writing: Promise<void> | undefined;
  /** Whether a run has ended, or the log is to be closed: then nothing is gathered any more. */
  #hurry = false;
  #endGathering: (() => void) | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  /** Notes one call. Returns at once. */
  call(run: AuditedRun, call: AuditedCall): void {
    const { redact } = this.#options;
    const name = (text: string) => (call.known ? redact(text) : boundMadeUpName(redact(text)));
    this.#append("call", this.#of(run), {
      server: name(call.server),
      tool: name(call.tool),
      ...(call.known ? {} : { unknown_tool: true }),
      arguments_digest: call.argumentsDigest,
      result_bytes: call.resultBytes,
      duration_ms: call.durationMs,
      decision: call.decision,
      approver: call.approver && redact(call.approver),
      redactions: call.redactions,
    });
  }

  /** Notes what policy decided about a call. Returns at once. */
  decision(run: AuditedRun, { server, tool, decision, rule, reason }: AuditedDecision): void {
    const { redact } = this.#options;
    this.#append("decision", this.#of(run), {
      server: boundMadeUpName(redact(server)),
      tool: boundMadeUpName(redact(tool)),
      decision,
      rule: rule && redact(rule),
      reason: reason && redact(reason),
    });
  }

  /** Notes how a question about a call was answered. Returns at once. */
  approval(run: AuditedRun, approval: AuditedApproval): void {
    const { redact } = this.#options;
    this.#append("approval", this.#of(run), {
      server: redact(approval.server),
      tool: redact(approval.tool),
      arguments_digest: approval.argumentsDigest,
      decision: approval.decision,
      scope: approval.scope && redact(approval.scope),
      approver: redact(approval.approver),
      how: approval.how && redact(approval.how),
    });
  }

  /** Notes what happened to a login. It belongs to no run, since all runs share logins. Returns at once. */
  login({ principal, server, event, reason }: AuditedLogin): void {
    const { redact } = this.#options;
    this.#append(
      "login",
      { principal: redact(principal) },
      {
        server: redact(server),
        login: event,
        reason: reason && redact(reason),
      },
    );
  }

  /** Notes that a run has ended, and how. Returns at once. */
  run(run: AuditedRun, ending: AuditedEnding): void {
    this.#append("run", this.#of(run), {
      outcome: ending.outcome,
      calls: ending.calls,
      duration_ms: ending.durationMs,
      redactions: ending.redactions,
    });
  }

  /** Resolves after everything is written, or one more attempt has failed. Never rejects. */
  async close(): Promise<void> {
    this.#writeSoon();
    await this.#writing;
    this.#failedAtMs = undefined;
    this.#writeSoon();
    await this.#writing;
  }

  #of({ runId, traceId, principal, codeDigest }: AuditedRun): AuditMembers {
    const { redact } = this.#options;
    return { run_id: runId, trace_id: traceId, principal: redact(principal), code_digest: codeDigest };
  }

  #append(
    event: "call" | "decision" | "approval" | "login" | "run",
    whose: AuditMembers,
    members: AuditMembers,
  ): void {
    const time = new Date(this.#options.clock.wallMs()).toISOString();
    this.#wait([renderAuditLine({ time, event, ...whose, ...members })]);
    if (event === "run") this.#writeSoon();
    else this.#start();
  }

  #wait(lines: string[]): void {
    this.#waiting.push(...lines);
    for (const line of lines) this.#waitingChars += line.length;
    while (this.#waitingChars > MAX_WAITING_CHARS) {
      this.#waitingChars -= this.#waiting.shift()?.length ?? 0;
      this.#lost++;
    }
  }

  #start(): void {
    this.#writing ??= this.#write();
  }

  #writeSoon(): void {
    this.#hurry = true;
    this.#endGathering?.();
    this.#start();
  }

  /** Waits a moment for more lines, unless they are to be written soon. */
  async #gather(): Promise<void> {
    // Lines noted in the same turn of the event loop are written together.
    await null;
    if (this.#hurry) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, GATHER_MS);
      this.#endGathering = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#endGathering = undefined;
  }

  async #write(): Promise<void> {
    try {
      await this.#gather();
      const { clock } = this.#options;
      if (this.#failedAtMs !== undefined && clock.wallMs() - this.#failedAtMs < RETRY_AFTER_MS) return;
      while (this.#waiting.length > 0) {
        await this.#writeSome();
        await this.#gather();
      }
      this.#failedAtMs = undefined;
      this.#reported = false;
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#hurry = false;
      this.#writing = undefined;
    }
  }

  async #writeSome(): Promise<void> {
    const lines = this.#waiting.splice(0, MAX_LINES_AT_A_TIME);
    for (const line of lines) this.#waitingChars -= line.length;
    const lost = this.#lost;
    if (lost > 0) lines.unshift(this.#renderLost(lost));
    let written = 0;
    try {
      const file = await openForAppend(this.#options.path);
      try {
        written = await this.#writeLines(file, lines);
      } finally {
        await file.close();
      }
    } finally {
      if (lost > 0 && written > 0) this.#lost -= lost;
      const unwritten = lines.slice(Math.max(written, lost > 0 ? 1 : 0));
      const newer = this.#waiting;
      this.#waiting = [];
      this.#waitingChars = 0;
      this.#wait([...unwritten, ...newer]);
    }
    if (written < lines.length) throw new Error("only a part was written");
  }

  /** Returns how many lines were written completely. */
  async #writeLines(file: FileHandle, lines: readonly string[]): Promise<number> {
    const torn = this.#maybeTorn && !(await endsWithLineFeed(file));
    this.#maybeTorn = true;
    const bytes = Buffer.from(`${torn ? "\n" : ""}${lines.join("")}`);
    const { bytesWritten } = await file.write(bytes);
    if (bytesWritten === bytes.length) {
      this.#maybeTorn = false;
      return lines.length;
    }
    const whole = bytes.subarray(torn ? 1 : 0, bytesWritten);
    return whole.reduce((count, byte) => (byte === LINE_FEED ? count + 1 : count), 0);
  }

  #renderLost(lines: number): string {
    return renderAuditLine({
      time: new Date(this.#options.clock.wallMs()).toISOString(),
      event: "lost",
      lines,
    });
  }

  #fail(error: unknown): void {
    this.#failedAtMs = this.#options.clock.wallMs();
    if (this.#reported) return;
    this.#reported = true;
    const reason = messageOf(error);
    this.#options.onFailure(
      `the audit log ${this.#options.path} cannot be written: ${reason}; runs go on, and what is missing is written when it can be again`,
    );
  }
}
