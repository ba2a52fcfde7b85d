import type { McpServerTarget } from "./mcp-server-target.ts";
import type { RawResultFault } from "./raw-results.ts";
import type { StdioDiagnosis } from "./stdio-transport.ts";
import { UpstreamError, type UpstreamErrorCode } from "./upstream-error.ts";

/** What went wrong between ptc and a server. */
export interface FaultFacts {
  kind:
    | "answer"
    | "closed"
    | "garbage"
    | "http"
    | "listing"
    | "negotiation"
    | "network"
    | "other"
    | "timeout"
    | "violation";
  cause: unknown;
  /** Of a JSON-RPC error. */
  rpcCode?: number;
  /** Why a JSON-RPC error of ours stands in for the server's answer. */
  replaced?: RawResultFault | undefined;
  status?: number;
  networkReason?: string;
}

type Diagnosis = Readonly<StdioDiagnosis> | undefined;

/** Words the faults of one server: each in one line that says what to do, and without its secrets. */
export class UpstreamFaults {
  readonly #target: McpServerTarget;
  readonly #secrets: readonly string[];

  constructor(target: McpServerTarget, secrets: readonly string[]) {
    this.#target = target;
    const own = Object.values(target.transport === "stdio" ? target.env : target.headers);
    const parts = [...secrets, ...own].flatMap((secret) => [secret, ...secret.split(/\s+/)]);
    this.#secrets = [...new Set(parts)]
      .filter(({ length }) => length >= 4)
      .sort((a, b) => b.length - a.length);
  }

  build(code: UpstreamErrorCode, text: string, cause?: unknown): UpstreamError {
    let message = text;
    for (const secret of this.#secrets) message = message.replaceAll(secret, "[redacted]");
    return new UpstreamError(code, `server '${this.#target.name}' ${toPlainLine(message)}`, { cause });
  }

  ofConnect(facts: FaultFacts, timeoutMs: number, diagnosis: Diagnosis): UpstreamError {
    const { kind, cause, status = 0 } = facts;
    if (diagnosis?.spawnError !== undefined) return this.#ofSpawn(diagnosis.spawnError);
    if (diagnosis?.exit !== undefined) {
      const text = `did not start: it ${describeEnd(diagnosis)}; run its command by hand to see why`;
      return this.build("start_failed", text, cause);
    }
    if (kind === "timeout") return this.ofConnectTimeout(timeoutMs, diagnosis);
    if (kind === "network") {
      return this.build(
        "start_failed",
        `${this.#unreachable(facts)}; check that it runs, and its url`,
        cause,
      );
    }
    if (status === 401 || status === 403) {
      return this.build(
        "handshake_failed",
        `refused the connection with HTTP ${status}; check its headers`,
        cause,
      );
    }
    if (kind === "http") {
      const text = `answered HTTP ${status} at ${this.#place()}, where an MCP endpoint should be; check its url`;
      return this.build("handshake_failed", text, cause);
    }
    const text = `did not complete the MCP handshake: ${reasonOf(cause)}${describeOutput(diagnosis)}; is it an MCP server?`;
    return this.build("handshake_failed", text, cause);
  }

  ofConnectTimeout(timeoutMs: number, diagnosis: Diagnosis): UpstreamError {
    const text = `did not complete the MCP handshake within ${timeoutMs / 1_000} s${describeOutput(diagnosis)}`;
    return this.build("connect_timeout", `${text}; is it an MCP server?`);
  }

  ofRequest(
    facts: FaultFacts,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    diagnosis: Diagnosis,
  ): UpstreamError {
    const { kind, cause, status } = facts;
    if (signal?.aborted) return this.build("cancelled", "was told that the call is cancelled", cause);
    switch (kind) {
      case "answer":
        return this.#ofAnswer(facts);
      case "timeout":
        return this.build(
          "call_timeout",
          `did not answer within ${timeoutMs / 1_000} s; it may still be at work`,
          cause,
        );
      case "network":
        return this.build("disconnected", this.#unreachable(facts), cause);
      case "http":
        // What a server answers that has forgotten the session (MCP 2025-11-25, "Session Management").
        if (status === 404) return this.build("disconnected", "has ended the session", cause);
        return this.build(
          "remote_error",
          `answered HTTP ${status}${status === 401 ? "; check its headers" : ""}`,
          cause,
        );
      case "listing":
        return this.build("protocol_error", reasonOf(cause), cause);
      case "garbage":
        return this.build("protocol_error", "answered something that is no JSON-RPC message", cause);
      case "violation":
      case "negotiation":
        return this.build("protocol_error", `broke the protocol: ${reasonOf(cause)}`, cause);
      case "closed":
      case "other":
        return this.ofLoss(diagnosis, cause);
    }
  }

  ofLoss(diagnosis: Diagnosis, cause?: unknown): UpstreamError {
    return this.build("disconnected", describeEnd(diagnosis), cause);
  }

  #ofAnswer({ replaced, rpcCode, cause }: FaultFacts): UpstreamError {
    switch (replaced) {
      case "oversize":
        return this.build(
          "protocol_error",
          "answered with a message too large to read; ask it for less at a time",
        );
      case "too_deep":
        return this.build("protocol_error", "answered with a value that is nested too deeply");
      case "malformed_error":
        return this.build("protocol_error", "answered with an error that is no JSON-RPC error");
      case "stream_ended":
        return this.build("disconnected", "ended its response before it had answered");
      case undefined:
        return this.build("remote_error", `rejected the request: ${reasonOf(cause)} (${rpcCode})`, cause);
    }
  }

  #ofSpawn(error: Error): UpstreamError {
    const code = (error as NodeJS.ErrnoException).code ?? error.message;
    const command = this.#target.transport === "stdio" ? this.#target.command : "";
    const advice = code === "ENOENT" ? "check its command and its cwd" : "check its command";
    return this.build(
      "start_failed",
      `did not start: spawn ${command} ${code}; ${advice} in the configuration`,
      error,
    );
  }

  #unreachable({ networkReason }: FaultFacts): string {
    return `cannot be reached at ${this.#place()}: ${networkReason ?? "no connection"}`;
  }

  /** Host and port alone: paths and queries of a URL can hold secrets. */
  #place(): string {
    return this.#target.transport === "stdio" ? "its command" : new URL(this.#target.url).host;
  }
}

function describeEnd(diagnosis: Diagnosis): string {
  if (diagnosis?.overflowed === true) {
    return "answered with a message too large to read, and was ended; ask it for less at a time";
  }
  if (diagnosis?.exit === undefined) return "closed the connection";
  const { code, signal } = diagnosis.exit;
  return `${signal === null ? `exited with code ${code}` : `was killed by ${signal}`}${describeOutput(diagnosis)}`;
}

/** The end of what a server wrote to stderr, and the first that it wrote to stdout in place of messages. */
function describeOutput(diagnosis: Diagnosis): string {
  if (diagnosis === undefined) return "";
  const lines = diagnosis.stderrTail.split("\n").filter((line) => line.trim() !== "");
  const last = lines.slice(-3).join(" | ").slice(-300);
  const garbage = diagnosis.firstGarbage;
  const quoted =
    garbage === undefined ? "" : `; its output begins with something that is no message: ${garbage}`;
  return `${last === "" ? "" : `: ${last}`}${quoted}`;
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 300);
}

/** A server's own text must neither steer a terminal nor begin a new line. */
function toPlainLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  return text.replace(/\x1b\[[0-9;]*[A-Za-z]/g, "").replace(/[\x00-\x1f\x7f-\x9f]+/g, " ");
}
