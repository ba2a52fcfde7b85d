import type { AuditLog } from "../../archive/audit/audit-log.ts";
import type { ApprovalAnswered, CallGoingOut, PolicyDecided } from "../../broker/decision-events.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { parseNamespacedName } from "../../protocol/tools/tool-name.ts";
import type { ObservedCall } from "../call-log.ts";
import type { BegunRun, RunReport } from "./run-recorder.ts";

export interface RunAuditOptions {
  audit: Pick<AuditLog, "calling" | "call" | "decision" | "approval" | "run" | "written">;
  /** Whether each call with an effect waits until it is noted on the disk. */
  isStrict?: boolean | undefined;
  tools: Pick<ToolCatalog, "get">;
  context: RunContext;
}

/** How long an answer waits for a log that cannot be written just now. */
const WRITE_PATIENCE_MS = 2_000;

/** Writes what the audit log has of one run. Throws what the log throws. */
export class RunAudit {
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

  call(call: ObservedCall, values: { argumentsDigest: string; redactions: number }): void {
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

  /** Resolves when what was noted is written, or after a bounded time. */
  written(): Promise<void> {
    return this.#options.audit.written(WRITE_PATIENCE_MS);
  }

  #named() {
    const { runId, traceId, inputDigest } = this.#run;
    const { principal, clientSession, client } = this.#options.context;
    return { runId, traceId, principal, clientSession, client, codeDigest: inputDigest };
  }
}

/** The server that a call names, whether there is one or not. */
export function calledServer({ tool }: ObservedCall, tools: Pick<ToolCatalog, "get">): string {
  return tools.get(tool)?.server ?? parseNamespacedName(tool)?.module ?? "";
}
