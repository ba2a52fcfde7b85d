import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import type { AuditedCall, AuditedRun } from "../../../archive/audit/audit-line.ts";
import { AuditLog, type AuditSink } from "../../../archive/audit/audit-log.ts";
import type { CallDecision } from "../../../protocol/call-decision.ts";
import { Redactor } from "../../../secrets/redaction.ts";

const REDACTOR = new Redactor(["s3cr3t-Token-value"]);

export const RUN: AuditedRun = {
  runId: "run-1",
  traceId: "ab".repeat(16),
  principal: "local",
  codeDigest: `sha256:${"0".repeat(64)}`,
};

export function call(tool: string, decision: CallDecision = "allowed"): AuditedCall {
  return {
    seq: 1,
    server: "files",
    tool,
    known: decision !== "unavailable",
    argumentsDigest: `sha256:${"1".repeat(64)}`,
    resultBytes: 12,
    durationMs: 3,
    decision,
    redactions: 0,
  };
}

/** Has each test of this file write audit logs in a folder of its own. */
export function useAuditFolder(): AuditFolder {
  const audit = new AuditFolder();
  beforeEach(() => audit.make());
  afterEach(() => rm(audit.folder, { recursive: true }));
  return audit;
}

class AuditFolder {
  folder = "";
  /** Where the log is, in a folder that there is not yet. */
  path = "";
  /** What was told of a log that could not be written. */
  readonly failures: string[] = [];
  nowMs = 0;

  async make(): Promise<void> {
    this.folder = await mkdtemp(join(tmpdir(), "ptc-audit-"));
    this.path = join(this.folder, ".ptc", "audit.jsonl");
    this.failures.length = 0;
    this.nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
  }

  open(at = this.path, sink?: AuditSink): AuditLog {
    return new AuditLog({
      path: at,
      sink,
      clock: { wallMs: () => this.nowMs },
      redact: (name) => REDACTOR.redactText(name).value,
      onFailure: (message) => this.failures.push(message),
    });
  }

  /** The lines, without what links them, and without those that the log writes about itself. */
  async lines(at = this.path): Promise<Record<string, unknown>[]> {
    const text = await readFile(at, "utf8");
    expect(text.endsWith("\n")).toBe(true);
    return text
      .slice(0, -1)
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ event }) => event !== "log")
      .map(({ seq, prev, ...line }) => line);
  }
}
