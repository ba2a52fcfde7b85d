import type { CallError } from "../protocol/messages.ts";
import { parseNamespacedName } from "../protocol/tool-name.ts";
import type { RunApprovals } from "./approvals.ts";
import { normalizeResult, resultBytes } from "./normalize-result.ts";
import { decide, type Policy } from "./policy.ts";
import type { SchemaValidator } from "./schema-validator.ts";
import type { ToolServer, ToolServers } from "./tool-servers.ts";
import type { KnownTool, ToolTable } from "./tool-table.ts";
import { UpstreamError, type UpstreamErrorCode } from "./upstream-error.ts";

/**
 * What was decided about a call: let through without a question or by an approval, or stopped by one of the checks in front of
 * the server. Of a call that was let through, the server may have failed.
 */
export const CALL_DECISIONS = [
  "allowed",
  "approved-once",
  "approved-for-run",
  "denied",
  "unavailable",
  "drifted",
  "invalid",
  /** Its server could not be started or reached. */
  "unreachable",
  /** Its program ended before it was answered. */
  "unanswered",
] as const;
export type CallDecision = (typeof CALL_DECISIONS)[number];

const NOT_CONNECTED: ReadonlySet<UpstreamErrorCode> = new Set([
  "start_failed",
  "handshake_failed",
  "connect_timeout",
  "backing_off",
]);

/** Who denies where there is nobody to ask. */
export const NOBODY = "nobody";

/** What a call came to. */
export type CallAnswer = {
  /** Size of what the server answered. */
  bytes: number;
} & ({ ok: true; data: unknown; raw: unknown } | { ok: false; error: CallError; raw?: unknown });

interface Decided {
  decision: CallDecision;
  /** Who approved or denied it, where anybody was asked. */
  approver?: string;
}

export type CallOutcome = CallAnswer & Decided;

export interface RequestedCall {
  tool: string;
  arguments: unknown;
  /** The program wants the MCP result too. */
  raw?: boolean | undefined;
}

/** Answers the calls of programs. Every way to fail is an outcome. */
export interface CallDispatcher {
  dispatch(call: RequestedCall, run: { approvals: RunApprovals; signal: AbortSignal }): Promise<CallOutcome>;
}

export interface DispatcherOptions {
  tools: ToolTable;
  policy: Policy;
  servers: ToolServers;
  validator: SchemaValidator;
  /** Takes secrets out of messages: servers quote their environment and their headers. */
  redact?: (message: string) => string;
}

/**
 * Takes one call from name to outcome: known, allowed, unchanged since its types were generated, arguments valid,
 * approved, called, answer valid. Every way to fail is an outcome; nothing is retried.
 */
export class Dispatcher implements CallDispatcher {
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  async dispatch(
    call: RequestedCall,
    run: { approvals: RunApprovals; signal: AbortSignal },
  ): Promise<CallOutcome> {
    const outcome = await this.#decide(call, run);
    if (outcome.ok) return outcome;
    const { redact = (message: string) => message } = this.#options;
    return { ...outcome, error: { ...outcome.error, message: redact(outcome.error.message) } };
  }

  /** The tool's server as it is now, or why the tool is not what it was. */
  async #connect(
    tool: KnownTool,
    signal: AbortSignal,
  ): Promise<{ server: ToolServer; drift?: undefined } | { drift: string }> {
    const { servers } = this.#options;
    let server = await servers.connect(tool.server, signal);
    if (server.definitionDigest(tool.name) === tool.definitionDigest) return { server };
    server = await servers.connect(tool.server, signal, { hasDrifted: true });
    const digest = server.definitionDigest(tool.name);
    if (digest === tool.definitionDigest) return { server };
    const what = digest === undefined ? "is no longer listed" : "has changed";
    return {
      drift: `'${tool.namespacedName}' ${what} by its server since its types were generated; run \`ptc generate\``,
    };
  }

  async #decide(
    call: RequestedCall,
    run: { approvals: RunApprovals; signal: AbortSignal },
  ): Promise<CallOutcome> {
    const { tools, policy, validator } = this.#options;
    const tool = tools.get(call.tool);
    const decision = tool === undefined ? "unavailable" : decide(policy, tool);
    if (tool === undefined || decision === "unavailable") {
      return refuse(call.tool, "unavailable", `'${call.tool}' is not available in execute_program`);
    }
    let permission: Decided = { decision: "allowed" };
    let sent = false;
    try {
      let found = await this.#connect(tool, run.signal);
      if (found.drift !== undefined) return refuse(call.tool, "drifted", found.drift);
      const problem = await validator.check(tool.inputSchema, call.arguments);
      if (problem !== undefined) {
        const message = `'${call.tool}' was not called: ${describeProblem("arguments", problem)}`;
        return refuse(call.tool, "invalid", message);
      }
      if (decision === "ask") {
        const approval = await run.approvals.approve(tool, call.arguments, run.signal);
        permission = { decision: approval.decision, approver: approval.by };
        if (approval.decision === "denied")
          return { ...refuseApproval(call.tool, approval.by), approver: approval.by };
        // Answering may have taken minutes, and what was approved is the tool as it was.
        found = await this.#connect(tool, run.signal);
        if (found.drift !== undefined)
          return { ...refuse(call.tool, "drifted", found.drift), approver: approval.by };
      }
      sent = true;
      const raw = await found.server.call(tool.name, call.arguments, run.signal);
      return { ...(await this.#answer(tool, raw)), ...permission };
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      return {
        ...permission,
        ...(isUnreachable(error, sent) ? { decision: "unreachable" } : {}),
        ok: false,
        error: callError(call.tool, `'${call.tool}' failed: ${error.message}`, error.retryable),
        bytes: 0,
      };
    }
  }

  async #answer(tool: KnownTool, raw: unknown): Promise<CallAnswer> {
    const name = tool.namespacedName;
    const bytes = resultBytes(raw);
    const normalized = normalizeResult(raw);
    if (!normalized.ok) {
      return {
        ok: false,
        error: callError(name, `'${name}' failed: ${normalized.message}`, false),
        raw,
        bytes,
      };
    }
    if (tool.outputSchema !== undefined && isStructured(raw)) {
      const problem = await this.#options.validator.check(tool.outputSchema, normalized.data);
      if (problem !== undefined) {
        const message = `'${name}' answered against its own outputSchema: ${describeProblem("structuredContent", problem)}`;
        return { ok: false, error: callError(name, message, false), raw, bytes };
      }
    }
    return { ok: true, data: normalized.data, raw, bytes };
  }
}

/** Whether the server never got the call. A call that is cancelled says nothing of the server. */
function isUnreachable({ code }: UpstreamError, sent: boolean): boolean {
  return NOT_CONNECTED.has(code) || (!sent && code !== "cancelled");
}

function describeProblem(subject: string, problem: string): string {
  return `${subject}${problem.startsWith(".") || problem.startsWith("[") ? "" : " "}${problem}`;
}

function isStructured(raw: unknown): boolean {
  return (
    typeof raw === "object" &&
    raw !== null &&
    "structuredContent" in raw &&
    raw.structuredContent !== undefined
  );
}

function refuse(name: string, decision: CallDecision, message: string): CallOutcome {
  return { ok: false, error: callError(name, message, false), decision, bytes: 0 };
}

function refuseApproval(name: string, by: string): CallOutcome {
  const refused = refuse(
    name,
    "denied",
    `'${name}' needs an approval and ${by === NOBODY ? "nobody can be asked here; list it under approvals.allow in ptc.yaml to allow it" : "did not get it"}`,
  );
  return refused.ok ? refused : { ...refused, error: { ...refused.error, type: "ApprovalDenied" } };
}

function callError(name: string, message: string, retryable: boolean): CallError {
  const parsed = parseNamespacedName(name);
  return { type: "ToolError", server: parsed?.module ?? "", tool: parsed?.tool ?? name, message, retryable };
}
