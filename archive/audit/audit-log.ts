import type { Clock } from "../../base/clock.ts";
/**
 * The audit log: one JSON line for each call and each run, appended to a file that several processes may share. Each write
 * opens the file and appends complete lines only, so the file can be moved or deleted at any time.
 *
 * Nothing waits for the log, and its failures affect nothing else. Lines that cannot be written are kept, up to a bound, and
 * tried again. Lines that had to be dropped are counted in a line of their own.
 */

import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { messageOf } from "../../base/error-message.ts";
import { whyFolderIsUnsafe } from "../../base/unsafe-folder.ts";
import { hideFromGit } from "../private-folder.ts";
import {
  type AuditedCall,
  type AuditedEnding,
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
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;

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
    this.#append("call", run, {
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

  /** Notes that a run has ended, and how. Returns at once. */
  run(run: AuditedRun, ending: AuditedEnding): void {
    this.#append("run", run, {
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

  #append(event: "call" | "run", run: AuditedRun, members: AuditMembers): void {
    const { redact, clock } = this.#options;
    const line = {
      time: new Date(clock.wallMs()).toISOString(),
      event,
      run_id: run.runId,
      trace_id: run.traceId,
      principal: redact(run.principal),
      code_digest: run.codeDigest,
      ...members,
    };
    this.#wait([renderAuditLine(line)]);
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

/** Does not follow a symbolic link in the last part of the path (open(2), O_NOFOLLOW), and does not block on a pipe. */
const APPEND =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** @throws Error for a file that cannot be opened, or that another user may control. */
async function openForAppend(path: string): Promise<FileHandle> {
  const folder = dirname(path);
  const made = await mkdir(folder, { recursive: true, mode: 0o700 });
  const [{ mode, uid }, named] = await Promise.all([stat(folder), lstat(folder)]);
  const status = { isLink: named.isSymbolicLink(), mode, uid };
  const problem = whyFolderIsUnsafe(folder, status, process.getuid?.());
  if (problem !== undefined) throw new Error(`its folder ${problem.what}: ${problem.advice}`);
  hideFromGit(folder, made !== undefined);
  const file = await openUnfollowed(path);
  try {
    await checkOwn(file);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openUnfollowed(path: string): Promise<FileHandle> {
  try {
    return await open(path, APPEND, PRIVATE_FILE);
  } catch (error) {
    const isLink = error instanceof Error && "code" in error && error.code === "ELOOP";
    throw isLink ? new Error("it is a symbolic link, which is not followed: remove it") : error;
  }
}

/** Refuses all but a regular file with one link that this user owns, and removes the permissions of others. */
async function checkOwn(file: FileHandle): Promise<void> {
  const status = await file.stat();
  if (!status.isFile()) throw new Error("it is not a regular file: remove it");
  if (process.getuid !== undefined && status.uid !== process.getuid()) {
    throw new Error("it belongs to another user: move it away");
  }
  if (status.nlink > 1) throw new Error("it has a second name elsewhere: remove one of its names");
  if ((status.mode & OTHERS) !== 0) await file.chmod(PRIVATE_FILE);
}

async function endsWithLineFeed(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === LINE_FEED;
}
