import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, SseError } from "@modelcontextprotocol/client";
import { messageOf } from "../../base/faults.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { FaultMask } from "../../secrets/redaction-secrets.ts";
import { AuthorizationError, LoginRequiredError } from "../authorization/authorization.ts";
import { UpstreamError, type UpstreamErrorCode } from "../upstream-error.ts";
import type { HttpAnswer } from "./bounded-fetch.ts";
import { failureLine } from "./failure-line.ts";
import { LaunchError } from "./launch-server.ts";
import type { McpServerTarget } from "./mcp-server-target.ts";
import type { AnswerFault } from "./message-gate.ts";
import { RequestError, type RequestFailure } from "./server-session.ts";
import { SessionEndedError } from "./session-end.ts";
import { type StartSpent, whySlow } from "./start-time.ts";
import type { StdioDiagnosis } from "./stdio-transport.ts";
import { ToolListingError } from "./tool-listing.ts";

/** The facts of a failure between ptc and a server. */
export interface FaultFacts {
  kind:
    | "answer"
    | "closed"
    | "garbage"
    | "http"
    | "listing"
    | "login"
    | "token"
    | "negotiation"
    | "network"
    | "other"
    | "session"
    | "timeout"
    | "violation";
  cause: unknown;
  /** The code of a JSON-RPC error. */
  rpcCode?: number;
  /** Why the server's answer cannot be used. */
  unusable?: AnswerFault;
  status?: number;
  networkReason?: string;
}

/** More work than a program normally does to start. */
const NOTABLE_WORK_MS = 5_000;

/** What to do about a server that is only slow. */
const LONGER = "connect_timeout_seconds of the server gives it longer";

type Diagnosis = Readonly<StdioDiagnosis> | undefined;

/** Builds the errors of one server. Each message is one line that says what to do, without the server's secrets. */
export class UpstreamFaults {
  readonly #target: McpServerTarget;
  readonly #secrets: () => readonly string[];

  /** @param secrets has the texts to mask in messages, in addition to the values of the server's env and headers. */
  constructor(target: McpServerTarget, secrets: () => readonly string[]) {
    this.#target = target;
    this.#secrets = secrets;
  }

  build(code: UpstreamErrorCode, text: string, cause?: unknown): UpstreamError {
    const target = this.#target;
    const whose = target.account === undefined ? "" : ` of the account '${target.account}'`;
    const own = Object.values(target.transport === "stdio" ? target.env : target.headers);
    const places = target.transport === "stdio" ? target.args : [target.url];
    const message = toPlainLine(new FaultMask([...this.#secrets(), ...own], places).mask(text));
    return new UpstreamError(code, `server '${target.name}'${whose} ${message}`, { cause });
  }

  /** @param answer is what the server last answered over HTTP. */
  ofConnect(
    facts: FaultFacts,
    timeoutMs: number,
    diagnosis: Diagnosis,
    answer?: HttpAnswer | undefined,
  ): UpstreamError {
    const { kind, cause, status = 0 } = facts;
    if (diagnosis?.spawnError !== undefined) return this.#ofSpawn(diagnosis.spawnError);
    if (diagnosis?.exit !== undefined) {
      const advice = adviceOnTilde(this.#target) ?? "run its command by hand to see why";
      const text = `did not start: it ${describeEnd(diagnosis)}; ${advice}`;
      return this.build("start_failed", text, cause);
    }
    if (kind === "timeout") return this.ofConnectTimeout({ workedMs: 0, quietMs: timeoutMs }, diagnosis);
    if (kind === "login" || kind === "token") return this.#ofAuthorization(facts, "handshake_failed");
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
    const misplaced = this.#describeMisplaced(facts, answer);
    if (misplaced !== undefined) return this.build("handshake_failed", misplaced, cause);
    const text = `did not complete the MCP handshake: ${reasonOf(cause)}${describeOutput(diagnosis)}; is it an MCP server?`;
    return this.build("handshake_failed", text, cause);
  }

  /** What an answer over HTTP that no MCP endpoint gives shows, and what to do; `undefined` for other failures. */
  #describeMisplaced({ kind, status = 0 }: FaultFacts, answer: HttpAnswer | undefined): string | undefined {
    const target = this.#target;
    if (target.transport === "stdio") return undefined;
    const place = this.#place();
    if (status >= 300 && status < 400) {
      const leads = describeRedirect(answer?.location, new URL(target.url));
      return `answered HTTP ${status} at ${place}, ${leads}`;
    }
    if (kind === "http" && status >= 400) {
      const { why, header } = REFUSALS[status] ?? {
        why: "where an MCP endpoint should be",
        header: undefined,
      };
      const isOwn = Object.keys(target.headers).some((name) => name.toLowerCase() === header);
      const advice = isOwn ? `remove \`${header}\` from its headers` : adviceOnUrl(target.url, status);
      return `answered HTTP ${status} at ${place}, ${why}; ${advice}`;
    }
    const isOther = answer !== undefined && !MESSAGE_TYPES.has(answer.type);
    if (!isOther || (kind !== "violation" && kind !== "http" && kind !== "garbage")) return undefined;
    const advice = adviceOnUrl(target.url, answer.status);
    return `answered with ${describeType(answer.type)} at ${place}, and not with MCP; ${advice}`;
  }

  /** @param spent how the server spent its time: first working, then idle. */
  ofConnectTimeout({ workedMs, quietMs }: StartSpent, diagnosis: Diagnosis): UpstreamError {
    const seconds = (ms: number) => Math.round(ms / 100) / 10;
    const spent =
      workedMs < NOTABLE_WORK_MS
        ? `within ${seconds(quietMs)} s`
        : `within ${seconds(workedMs + quietMs)} s, in the last ${seconds(quietMs)} of which it did nothing`;
    const text = `did not complete the MCP handshake ${spent}${describeOutput(diagnosis)}`;
    return this.build("connect_timeout", `${text}; is it an MCP server? ${LONGER}`);
  }

  /** One line about a start that takes long and continues. A sandbox has all that the server needs before it starts. */
  describeSlowStart(seconds: number, isSandboxed: boolean): string {
    const target = this.#target;
    const why = target.transport === "stdio" && !isSandboxed ? whySlow(target.command) : undefined;
    const text = `is still starting after ${seconds} s${why === undefined ? "" : `: ${why}`}`;
    return this.build("connect_timeout", text).message;
  }

  /** One line about a server whose output is not all messages. What is none is skipped. */
  describeGarbage(first: string): string {
    const text = `prints on its standard output what is no message (such lines are skipped; logs belong on its stderr): ${first}`;
    return this.build("protocol_error", text).message;
  }

  /** The error for a connected server that does not answer `tools/list`. */
  ofListTimeout(timeoutMs: number, cause: unknown): UpstreamError {
    const text = `did not answer tools/list within ${timeoutMs / 1_000} s; ${LONGER}`;
    return this.build("call_timeout", text, cause);
  }

  ofRequest(
    facts: FaultFacts,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    diagnosis: Diagnosis,
    spentMs = 0,
  ): UpstreamError {
    const { kind, cause, status } = facts;
    if (signal?.aborted) return this.build("cancelled", "was told that the call is cancelled", cause);
    switch (kind) {
      case "answer":
        return this.#ofAnswer(facts);
      case "timeout":
        return this.build(
          "call_timeout",
          `did not answer within ${timeoutMs / 1_000} s${describeStart(spentMs)}; it may still be at work`,
          cause,
        );
      case "network":
        return this.build("disconnected", this.#unreachable(facts), cause);
      case "http":
        return this.build(
          "remote_error",
          `answered HTTP ${status}${status === 401 ? "; check its headers" : ""}`,
          cause,
        );
      case "session":
        return this.build("session_ended", "has ended the session", cause);
      case "login":
      case "token":
        return this.#ofAuthorization(facts, "remote_error");
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

  #ofAnswer({ unusable, rpcCode, cause }: FaultFacts): UpstreamError {
    switch (unusable?.kind) {
      case "oversize":
        return this.build(
          "protocol_error",
          "answered with a message too large to read; ask it for less at a time",
        );
      case "refused":
        return this.build("protocol_error", `answered with a message that ${unusable.detail}`);
      case "malformed_error":
        return this.build("protocol_error", "answered with an error that is no JSON-RPC error");
      case "stream_ended":
        return this.build("disconnected", "ended its response before it had answered");
      case undefined:
        return this.build("remote_error", `rejected the request: ${reasonOf(cause)} (${rpcCode})`, cause);
    }
  }

  #ofAuthorization({ kind, cause }: FaultFacts, code: UpstreamErrorCode): UpstreamError {
    if (kind === "token") return this.build(code, reasonOf(cause), cause);
    const why = cause instanceof LoginRequiredError && cause.why !== undefined ? ` (${cause.why})` : "";
    return this.build(
      "login_required",
      `needs a login${why}: run \`ptc auth login ${this.#target.name}\``,
      cause,
    );
  }

  #ofSpawn(error: Error): UpstreamError {
    if (error instanceof LaunchError)
      return this.build("start_failed", `did not start: ${error.message}`, error);
    const code = (error as NodeJS.ErrnoException).code ?? error.message;
    const command = this.#target.transport === "stdio" ? this.#target.command : "";
    const advice = code === "ENOENT" ? adviceOnMissing(command) : "check its command in the configuration";
    return this.build("start_failed", `did not start: spawn ${command} ${code}; ${advice}`, error);
  }

  #unreachable({ networkReason }: FaultFacts): string {
    return `cannot be reached at ${this.#place()}: ${networkReason ?? "no connection"}`;
  }

  /** Only host and port, because the path and query of a URL can contain secrets. */
  #place(): string {
    return this.#target.transport === "stdio" ? "its command" : new URL(this.#target.url).host;
  }
}

/** Statuses that say more than that there is no MCP endpoint, and the header of a request that each is about. */
const REFUSALS: Readonly<Record<number, { why: string; header?: string }>> = {
  405: { why: "where it takes no messages" },
  406: { why: "where it answers in no form that MCP has", header: "accept" },
  415: { why: "where it takes no JSON", header: "content-type" },
};

/** The media types of answers over HTTP (MCP 2025-11-25, "Streamable HTTP"). */
const MESSAGE_TYPES: ReadonlySet<string> = new Set(["application/json", "text/event-stream"]);

function describeType(type: string): string {
  if (type === "") return "something without a Content-Type";
  if (type === "text/html" || type === "application/xhtml+xml") return `a web page (${type})`;
  return type.startsWith("text/") ? `text (${type})` : type;
}

/** What to do about a URL where no MCP endpoint is. */
function adviceOnUrl(url: string, status: number): string {
  const isUsual = /\/(?:mcp|sse)\/?$/.test(new URL(url).pathname);
  return isUsual || status >= 500 ? "check its url" : "check its url: many servers listen at /mcp";
}

/** Where a redirect leads that is not followed, because the server's credentials would go along. */
function describeRedirect(location: URL | undefined, from: URL): string {
  if (location === undefined)
    return "which leads elsewhere, and names no address: ask who runs it for the address, and write that as its url";
  const shown = shownAddress(location, from);
  if (from.protocol === "https:" && location.protocol === "http:")
    return `which leads to ${shown}, where nothing is encrypted: ask who runs it for its address with https`;
  return `which leads to ${shown}: if that is the server's MCP endpoint, write it as its url`;
}

/** A path's segment that is a word or a version. Any other that the configured URL has as well can be a secret. */
const WORD = /^(?:[a-z]+(?:[-_.][a-z]+)*|v\d+)?$/i;

/** An address without what may be secret in it: its query, and what it takes over from the configured URL. */
function shownAddress({ origin, pathname, search }: URL, from: URL): string {
  const known = new Set(from.pathname.split("/"));
  const segments = pathname.split("/").map((each) => (known.has(each) && !WORD.test(each) ? "..." : each));
  return `${origin}${segments.join("/").slice(0, 300)}${search === "" ? "" : "?..."}`;
}

/** What to do about a command that is not there. No shell reads it, so it is one word, and `~` means nothing in it. */
function adviceOnMissing(command: string): string {
  const [first = "", ...words] = command.trim().split(/\s+/);
  if (words.length > 0)
    return `command is one word, and no shell reads it: if ${first} is the program, write the words after it as args (args: [${words.map((word) => JSON.stringify(word)).join(", ")}])`;
  if (command.startsWith("~"))
    return `no shell reads the command, so write the whole path in place of ~, or \${HOME}`;
  return "check its command and its cwd in the configuration";
}

/** How much of a call's time had passed before it was sent; empty if it was little. */
function describeStart(spentMs: number): string {
  return spentMs < 500
    ? ""
    : `, of which starting it and listing its tools took ${(spentMs / 1_000).toFixed(1)} s`;
}

/** What to do about `~` in what a server is started with: few programs read it themselves. */
function adviceOnTilde(target: McpServerTarget): string | undefined {
  if (target.transport !== "stdio") return undefined;
  const argument = target.args.find((each) => /^(?:--?[\w-]+=)?~(?:\/|$)/.test(each));
  const variable = Object.entries(target.env).find(([, value]) => /^~(?:\/|$)/.test(value))?.[0];
  if (argument === undefined && variable === undefined) return undefined;
  const place =
    argument === undefined ? `its variable ${variable}` : `its argument ${argument.slice(0, 200)}`;
  return `no shell reads ${place}, so write \${HOME} in place of ~`;
}

function describeEnd(diagnosis: Diagnosis): string {
  if (diagnosis?.overflowed === true) {
    return "answered with a message too large to read, and was ended; ask it for less at a time";
  }
  if (diagnosis?.deaf === true) return "did not read what it was sent, and was ended";
  if (diagnosis?.exit === undefined) return "closed the connection";
  const { code, signal } = diagnosis.exit;
  return `${signal === null ? `exited with code ${code}` : `was killed by ${signal}`}${describeOutput(diagnosis)}`;
}

/** What a server's stderr says of its failure, and the first output on stdout that was not a message. */
function describeOutput(diagnosis: Diagnosis): string {
  if (diagnosis === undefined) return "";
  const why = failureLine(diagnosis.stderrTail);
  const garbage = diagnosis.firstGarbage;
  const quoted =
    garbage === undefined ? "" : `; its output begins with something that is no message: ${garbage}`;
  return `${why === "" ? "" : `: ${why}`}${quoted}`;
}

function reasonOf(error: unknown): string {
  return messageOf(error).slice(0, 300);
}

/** Makes a server's text one visible line that cannot steer a terminal. Colours are dropped. */
function toPlainLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  return visibleLine(text.replace(/\x1b\[[0-9;]*m/g, "").replace(/[\t\r\n]+/g, " "));
}

/** The facts of an error of the MCP client, independent of its classes. */
export function factsOf(error: unknown): FaultFacts {
  const facts: FaultFacts = { kind: "other", cause: error };
  const authorization = authorizationFaultOf(error);
  if (authorization instanceof LoginRequiredError) return { kind: "login", cause: authorization };
  if (authorization !== undefined) return { kind: "token", cause: authorization };
  if (error instanceof SessionEndedError) return { ...facts, kind: "session" };
  if (error instanceof ToolListingError) return { ...facts, kind: "listing" };
  if (error instanceof RequestError) return { ...facts, ...factsOfRequest(error.failure) };
  if (error instanceof ProtocolError) return { ...facts, kind: "answer", rpcCode: error.code };
  if (error instanceof SdkHttpError) return { ...facts, kind: "http", status: error.status };
  if (error instanceof SseError && error.code !== undefined)
    return { ...facts, kind: "http", status: error.code };
  const networkReason = networkReasonOf(error);
  if (networkReason !== undefined) return { ...facts, kind: "network", networkReason };
  if (error instanceof SyntaxError || (error instanceof Error && error.name === "ZodError")) {
    return { ...facts, kind: "garbage" };
  }
  if (!(error instanceof SdkError)) return facts;
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return { ...facts, kind: "timeout" };
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.NotConnected:
      return { ...facts, kind: "closed" };
    case SdkErrorCode.EraNegotiationFailed:
      return { ...facts, kind: "negotiation" };
    default:
      return { ...facts, kind: "violation" };
  }
}

function factsOfRequest(failure: RequestFailure): Partial<FaultFacts> {
  switch (failure.kind) {
    case "rejected":
      return { kind: "answer", rpcCode: failure.code };
    case "unusable":
      return { kind: "answer", unusable: failure.fault };
    case "called_off":
      return { kind: "timeout" };
    case "closed":
      return { kind: "closed" };
  }
}

/** An error and its chain of causes. */
function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let fault = error; fault instanceof Error && causes.length < 5; fault = fault.cause)
    causes.push(fault);
  return causes;
}

/** A fault of the login, from the error or its causes. */
function authorizationFaultOf(error: unknown): LoginRequiredError | AuthorizationError | undefined {
  return causesOf(error).find(
    (fault) => fault instanceof LoginRequiredError || fault instanceof AuthorizationError,
  );
}

/** Why the server could not be reached: a system error code such as ECONNREFUSED, from the error or its causes. */
function networkReasonOf(error: unknown): string | undefined {
  for (const fault of causesOf(error)) {
    const { code } = fault as NodeJS.ErrnoException;
    if (typeof code === "string" && /^(?:E[A-Z]{3,}|UND_ERR_\w+|CERT_\w+|\w+_CERT\w*)$/.test(code))
      return code;
    // `fetch` throws a TypeError, with the reason as its cause. The cause may have no code.
    if (fault instanceof TypeError && !(fault.cause instanceof Error && "code" in fault.cause)) {
      return fault.cause instanceof Error ? fault.cause.message : fault.message;
    }
    if (!(fault instanceof SseError) || fault.code !== undefined) continue;
    const named = /\bE[A-Z]{5,}\b/.exec(fault.message) ?? /fetch failed/.exec(fault.message);
    if (named !== null) return named[0];
  }
  return undefined;
}
