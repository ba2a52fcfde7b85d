/**
 * The audit log: one JSON line for each call, decision, approval, login and run. Each line links to the one before, in a chain
 * that several processes may share. The chain is a file (chain/chained-file.ts), which can be moved or deleted at any time, or
 * rows of a database (../postgres/postgres-audit.ts).
 *
 * Only callers that ask for it wait for the log, and its failures affect nothing else. Lines that cannot be written are kept, up
 * to a bound, and tried again. A separate line counts the lines that had to be dropped.
 */

import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/faults.ts";
import { settlesWithin } from "../../base/waiting.ts";
import type { ApprovalAnswered, PolicyDecided } from "../../protocol/call-decision.ts";
import {
  type AuditEvent,
  type AuditedAccess,
  type AuditedActor,
  type AuditedCall,
  type AuditedConnection,
  type AuditedEnding,
  type AuditedLogin,
  type AuditedRun,
  type AuditMembers,
  boundMadeUpName,
  renderAuditLine,
  type SentCall,
} from "./audit-line.ts";
import type { AuditChain } from "./chain/audit-chain.ts";
import { ChainedFile } from "./chain/chained-file.ts";

const MAX_WAITING_CHARS = 4 * 1024 * 1024;
const MAX_LINES_AT_A_TIME = 100;
const RETRY_AFTER_MS = 5_000;
/** How long the log gathers lines, so that a run of many calls causes few writes. The line of a run's end does not wait. */
const GATHER_MS = 100;
const MEBIBYTE = 1024 * 1024;
const DAY_MS = 86_400_000;
/** Bounds where no settings are given. */
const USUAL_BOUNDS = { maxBytes: 64 * MEBIBYTE, keepMs: 365 * DAY_MS };

/** Sends the lines that were written, in order, to another place. `send` neither waits nor throws. */
export interface AuditSink {
  /** @param lines the lines as written, with their line feeds. */
  send(lines: readonly string[]): void;
  /** Resolves when all lines are sent or given up. Never rejects. */
  close(): Promise<void>;
}

interface AuditLogOptions {
  /** The path of the file. The log creates missing folders for their owner only. */
  path: string;
  /** Keeps the lines of several processes instead of the file. The line of a run's end is on the disk before it counts as written. */
  chain?: AuditChain | undefined;
  clock: Pick<Clock, "wallMs">;
  /** Returns a name without its secrets. Names come from servers and programs, and may contain secrets. */
  redact: (name: string) => string;
  /** Called once when the log cannot be written, and again only after a successful write in between. */
  onFailure: (message: string) => void;
  /** How large a file may grow before the log begins another, and how long it keeps earlier files. */
  bounds?: { maxBytes: number; keepMs: number } | undefined;
  /** The account and machine that write the lines. Every line of a call, decision, approval, login or run has them. */
  actor?: AuditedActor | undefined;
  /** Receives the lines too. */
  sink?: AuditSink | undefined;
}

interface WaitingLine {
  text: string;
  /** Called when the line is on the disk, not only written, or with the reason why it is not. */
  onFlushed?: ((problem?: string) => void) | undefined;
  /** Whether the line, and all before it, are to be on the disk. */
  isFlushed?: boolean;
}

export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #chain: AuditChain;
  #waiting: WaitingLine[] = [];
  #waitingChars = 0;
  #lost = 0;
  #failedAtMs: number | undefined;
  #reported = false;
  #writing: Promise<void> | undefined;
  /** Set when a run has ended or the log closes. The log then writes without gathering more lines. */
  #hurry = false;
  #endGathering: (() => void) | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    const { path, clock, bounds = USUAL_BOUNDS } = options;
    this.#chain = options.chain ?? new ChainedFile({ path, ...bounds, wallMs: () => clock.wallMs() });
  }

  /**
   * Notes a call that is about to go out. Resolves with `undefined` when its line is on the disk, or else with the reason why it
   * is not. The log then writes the line later, when it can.
   */
  calling(run: AuditedRun, call: SentCall): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#append("calling", this.#of(run), sentMembers(call, this.#options.redact), resolve);
      this.#failedAtMs = undefined;
      this.#writeSoon();
    });
  }

  /** Notes one call. Returns at once. */
  call(run: AuditedRun, call: AuditedCall): void {
    this.#append("call", this.#of(run), callMembers(call, this.#options.redact));
  }

  /** Notes what policy decided about a call. Returns at once. */
  decision(run: AuditedRun, decision: PolicyDecided): void {
    this.#append("decision", this.#of(run), decisionMembers(decision, this.#options.redact));
  }

  /** Notes how a question about a call was answered. Returns at once. */
  approval(run: AuditedRun, approval: ApprovalAnswered): void {
    this.#append("approval", this.#of(run), approvalMembers(approval, this.#options.redact));
  }

  /** Notes what happened to a login. It belongs to no run, since all runs share logins. Returns at once. */
  login(login: AuditedLogin): void {
    const { redact } = this.#options;
    this.#append("login", { principal: redact(login.principal) }, loginMembers(login, redact));
  }

  /** Notes a connection of a server. It belongs to no run, since runs share servers. Returns at once. */
  connection(connection: AuditedConnection): void {
    const { redact } = this.#options;
    const { principal, server, account, host, reason } = connection;
    this.#append(
      "connection",
      { principal: redact(principal) },
      {
        server: redact(server),
        account: account && redact(account),
        destination: redact(host),
        port: connection.port,
        outcome: connection.outcome,
        reason: reason && redact(reason),
        sent_bytes: connection.sentBytes,
        received_bytes: connection.receivedBytes,
        duration_ms: connection.durationMs,
      },
    );
  }

  /** Notes that somebody was given what is another's. Returns at once. */
  access({ principal, action, of, runId, rule }: AuditedAccess): void {
    const { redact } = this.#options;
    const whose = { principal: redact(principal), run_id: runId };
    this.#append("access", whose, { action, of: of && redact(of), rule: rule && redact(rule) });
  }

  /** Notes that a run has ended, and how. Returns at once. */
  run(run: AuditedRun, ending: AuditedEnding): void {
    this.#append("run", this.#of(run), {
      outcome: ending.outcome,
      calls: ending.calls,
      duration_ms: ending.durationMs,
      redactions: ending.redactions,
      session: ending.session?.id,
      session_position: ending.session?.position,
    });
  }

  /** Resolves when the log has handed as much as possible to the system, at the latest after `patienceMs`. Never rejects. */
  async written(patienceMs: number): Promise<void> {
    if (this.#waiting.length > 0) this.#writeSoon();
    if (this.#writing !== undefined) await settlesWithin(this.#writing, patienceMs);
  }

  /** Resolves when everything is written, or one more attempt has failed. Never rejects. */
  async close(): Promise<void> {
    this.#writeSoon();
    await this.#writing;
    this.#failedAtMs = undefined;
    this.#writeSoon();
    await this.#writing;
    await this.#options.sink?.close();
  }

  #of(run: AuditedRun): AuditMembers {
    const { runId, traceId, principal, name, groups, clientId, clientSession, client, codeDigest } = run;
    const { redact } = this.#options;
    return {
      run_id: runId,
      trace_id: traceId,
      principal: redact(principal),
      principal_name: name && redact(name),
      groups: groups && redact(groups.join(", ")),
      client_id: clientId && redact(clientId),
      client: client && redact(client.name),
      client_version: client?.version && redact(client.version),
      client_session: clientSession === undefined ? undefined : redact(clientSession),
      code_digest: codeDigest,
    };
  }

  #append(
    event: AuditEvent,
    whose: AuditMembers,
    members: AuditMembers,
    onFlushed?: WaitingLine["onFlushed"],
  ): void {
    const time = new Date(this.#options.clock.wallMs()).toISOString();
    const { user, uid, host } = this.#options.actor ?? {};
    const who = { ...whose, user, uid, host };
    const isFlushed = event === "run" && this.#options.chain !== undefined;
    this.#wait([{ text: renderAuditLine({ time, event, ...who, ...members }), onFlushed, isFlushed }]);
    if (isFlushed) this.#failedAtMs = undefined;
    if (event === "run") this.#writeSoon();
    else this.#start();
  }

  #wait(lines: readonly WaitingLine[]): void {
    this.#waiting.push(...lines);
    for (const { text } of lines) this.#waitingChars += text.length;
    while (this.#waitingChars > MAX_WAITING_CHARS) {
      const dropped = this.#waiting.shift();
      this.#waitingChars -= dropped?.text.length ?? 0;
      dropped?.onFlushed?.("too many lines wait for it");
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

  /** Waits a moment for more lines, unless something is in a hurry. */
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
    const taken = this.#waiting.splice(0, MAX_LINES_AT_A_TIME);
    for (const { text } of taken) this.#waitingChars -= text.length;
    const lost = this.#lost;
    const lines = lost > 0 ? [{ text: this.#renderLost(lost) }, ...taken] : taken;
    let written = 0;
    try {
      const texts = lines.map(({ text }) => text);
      const flush = taken.some(({ onFlushed, isFlushed }) => isFlushed || onFlushed !== undefined);
      const appended = await this.#chain.append(texts, flush);
      written = appended.written;
      this.#options.sink?.send(appended.lines);
      if (appended.problem !== undefined) throw new Error(appended.problem);
      for (const { onFlushed } of taken) onFlushed?.();
    } catch (error) {
      for (const line of taken) {
        line.onFlushed?.(messageOf(error));
        line.onFlushed = undefined;
      }
      throw error;
    } finally {
      if (lost > 0 && written > 0) this.#lost -= lost;
      const unwritten = taken.slice(Math.max(0, written - (lost > 0 ? 1 : 0)));
      const newer = this.#waiting;
      this.#waiting = [];
      this.#waitingChars = 0;
      this.#wait([...unwritten, ...newer]);
    }
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
    // Callers that await one of the waiting lines get the failure now, without another attempt.
    for (const line of this.#waiting) {
      line.onFlushed?.(messageOf(error));
      line.onFlushed = undefined;
    }
    if (this.#reported) return;
    this.#reported = true;
    const reason = messageOf(error);
    this.#options.onFailure(
      `the audit log ${this.#chain.place} cannot be written: ${reason}; runs go on, and ptc writes the missing lines as soon as it can`,
    );
  }
}

type Redact = (name: string) => string;

function sentMembers(call: SentCall, redact: Redact): AuditMembers {
  return {
    call: call.seq,
    server: redact(call.server),
    tool: redact(call.tool),
    arguments_digest: call.argumentsDigest,
    decision: call.decision,
    approver: call.approver && redact(call.approver),
  };
}

function callMembers(call: AuditedCall, redact: Redact): AuditMembers {
  const name = (text: string) => (call.known ? redact(text) : boundMadeUpName(redact(text)));
  return {
    call: call.seq,
    server: name(call.server),
    tool: name(call.tool),
    ...(call.known ? {} : { unknown_tool: true }),
    arguments_digest: call.argumentsDigest,
    result_bytes: call.resultBytes,
    duration_ms: call.durationMs,
    decision: call.decision,
    approver: call.approver && redact(call.approver),
    redactions: call.redactions,
    ...(call.rehearsed === true ? { rehearsed: true } : {}),
  };
}

function decisionMembers(
  { server, tool, decision, rule, reason, argumentsDigest }: PolicyDecided,
  redact: Redact,
): AuditMembers {
  return {
    server: boundMadeUpName(redact(server)),
    tool: boundMadeUpName(redact(tool)),
    ...(argumentsDigest === undefined ? {} : { arguments_digest: argumentsDigest }),
    decision,
    rule: rule && redact(rule),
    reason: reason && redact(reason),
  };
}

function approvalMembers(approval: ApprovalAnswered, redact: Redact): AuditMembers {
  return {
    server: redact(approval.server),
    tool: redact(approval.tool),
    arguments_digest: approval.argumentsDigest,
    decision: approval.decision,
    scope: approval.scope && redact(approval.scope),
    approver: redact(approval.approver),
    how: approval.how && redact(approval.how),
    credential: approval.credential,
  };
}

function loginMembers({ server, event, reason, credential }: AuditedLogin, redact: Redact): AuditMembers {
  return { server: server && redact(server), login: event, reason: reason && redact(reason), credential };
}

/** A sink that opens another when it gets the first lines. */
export class LazySink implements AuditSink {
  readonly #open: () => Promise<AuditSink>;
  readonly #onFailure: (message: string) => void;
  #opened: Promise<AuditSink | undefined> | undefined;

  constructor(open: () => Promise<AuditSink>, onFailure: (message: string) => void) {
    this.#open = open;
    this.#onFailure = onFailure;
  }

  send(lines: readonly string[]): void {
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#onFailure(`the audit log is not sent anywhere: ${messageOf(error)}`);
      return undefined;
    });
    void this.#opened.then((sink) => sink?.send(lines));
  }

  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }
}
