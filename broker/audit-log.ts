/**
 * The audit log: one JSON line for each call and each run, appended to a file that several processes may share. A write holds
 * whole lines only, and each write opens the file anew, so that it can be moved away or deleted at any time.
 *
 * Nothing waits for it and nothing fails with it. Lines that cannot be written are kept, up to a bound, and tried again; those
 * that had to be given up are counted in a line of their own.
 */
import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { type AuditedCall, type AuditedEnding, type AuditedRun, renderAuditLine } from "./audit-line.ts";
import type { Redactor } from "./redaction.ts";

const MAX_WAITING_CHARS = 4 * 1024 * 1024;
const MAX_LINES_AT_A_TIME = 100;
const RETRY_AFTER_MS = 5_000;
const LINE_FEED = 0x0a;

interface AuditLogOptions {
  /** Folders on the way to it are made, for their owner only. */
  path: string;
  clock: { nowMs(): number };
  /** Names in a line are redacted: a program can call what it likes. */
  redactor: Redactor;
  /** Hears once that the log cannot be written, and again only after it could be written in between. */
  onFailure: (message: string) => void;
}

export class AuditLog {
  readonly #options: AuditLogOptions;
  #waiting: string[] = [];
  #waitingChars = 0;
  #lost = 0;
  /** The file may end within a line, which the next write has to end first. */
  #maybeTorn = true;
  #failedAtMs: number | undefined;
  #reported = false;
  #writing: Promise<void> | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  /** Notes one call. Returns at once. */
  call(run: AuditedRun, call: AuditedCall): void {
    this.#append("call", run, {
      server: call.server,
      tool: call.tool,
      arguments_digest: call.argumentsDigest,
      result_bytes: call.resultBytes,
      duration_ms: call.durationMs,
      decision: call.decision,
      approver: call.approver,
      redactions: call.redactions,
    });
  }

  /** Notes that a run has ended, and how. Returns at once. */
  run(run: AuditedRun, ending: AuditedEnding): void {
    this.#append("run", run, {
      outcome: ending.outcome,
      calls: ending.calls,
      duration_ms: ending.durationMs,
      redactions: ending.redactions,
    });
  }

  /** Resolves when everything is written, or has been tried once more. Never rejects. */
  async close(): Promise<void> {
    await this.#writing;
    this.#failedAtMs = undefined;
    this.#start();
    await this.#writing;
  }

  #append(
    event: "call" | "run",
    run: AuditedRun,
    members: Record<string, string | number | undefined>,
  ): void {
    const { redactor, clock } = this.#options;
    const line = {
      time: new Date(clock.nowMs()).toISOString(),
      event,
      run_id: run.runId,
      trace_id: run.traceId,
      principal: run.principal,
      code_digest: run.codeDigest,
      ...members,
    };
    this.#wait([renderAuditLine(redactor.redactValue(line).value as typeof line)]);
    this.#start();
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

  async #write(): Promise<void> {
    // Whatever else is noted in this turn goes along.
    await null;
    try {
      const { clock } = this.#options;
      if (this.#failedAtMs !== undefined && clock.nowMs() - this.#failedAtMs < RETRY_AFTER_MS) return;
      while (this.#waiting.length > 0) await this.#writeSome();
      this.#failedAtMs = undefined;
      this.#reported = false;
    } catch (error) {
      this.#fail(error);
    } finally {
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

  /** Returns how many lines are in the file as a whole. */
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
      time: new Date(this.#options.clock.nowMs()).toISOString(),
      event: "lost",
      lines,
    });
  }

  #fail(error: unknown): void {
    this.#failedAtMs = this.#options.clock.nowMs();
    if (this.#reported) return;
    this.#reported = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.onFailure(
      `the audit log ${this.#options.path} cannot be written: ${reason}; runs go on, and what is missing is written when it can be again`,
    );
  }
}

async function openForAppend(path: string): Promise<FileHandle> {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
  try {
    return await open(path, flags, 0o600);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return await open(path, flags, 0o600);
  }
}

async function endsWithLineFeed(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === LINE_FEED;
}
