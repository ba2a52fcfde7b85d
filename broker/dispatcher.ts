import { messageOf } from "../base/faults.ts";
import { isObject, writeJson } from "../base/json.ts";
import { oneLine } from "../base/visible-text.ts";
import { misnamedArgument } from "../catalog/arguments.ts";
import type { Tool } from "../catalog/tool.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import { unwrapResult } from "../catalog/wrapped-result.ts";
import type { CallDecision } from "../protocol/call-decision.ts";
import type { CallError } from "../protocol/messages.ts";
import type { RunContext } from "../protocol/run-context.ts";
import { parseNamespacedName } from "../protocol/tool-names.ts";
import { CallBudget, type ToolServer, type ToolServers } from "../upstream/tool-servers.ts";
import type {
  AskPerson,
  OnCallProgress,
  QuestionAnswer,
  RequestMeta,
  ServerQuestion,
  ToolCall,
} from "../upstream/upstream.ts";
import { UpstreamError, type UpstreamErrorCode } from "../upstream/upstream-error.ts";
import type { Approval, RunApprovals } from "./approvals/approvals.ts";
import type { Ending } from "./approvals/plan-in-force.ts";
import { announceCall, type RunEvents } from "./decision-events.ts";
import type { ElicitationAnswer, ServerElicitation } from "./elicitation/elicitation.ts";
import { parseElicitation } from "./elicitation/parse-elicitation.ts";
import {
  describeSampling,
  MAX_SAMPLES,
  parseSampling,
  type Sampling,
  type SamplingAnswer,
} from "./elicitation/sampling.ts";
import { roundedProblem, withExactNumbersInTurns } from "./exact-numbers.ts";
import type { CallFlow, RunFlow } from "./flow/run-flow.ts";
import { isFailure, isStructured, normalizeResult } from "./normalize-result.ts";
import type { Authorizer, Decision, DecisionGround } from "./policy/authorizer.ts";
import { changesSomething, type DataFlow } from "./policy/data-flow.ts";
import { type RunHistory, RunState } from "./policy/run-history.ts";
import { cutText, describeProblem, type SchemaViolation } from "./schemas/schema-problem.ts";
import type { SchemaValidator } from "./schemas/schema-validator.ts";

const NOT_CONNECTED: ReadonlySet<UpstreamErrorCode> = new Set([
  "start_failed",
  "handshake_failed",
  "login_required",
  "connect_timeout",
  "backing_off",
  "busy",
  "off",
]);

const MAX_REASON_CHARS = 300;
const MAX_NAME_CHARS = 80;

/** What a call answered, or why it did not. */
export type CallAnswer = AnsweredCall | FailedCall;

interface AnsweredCall {
  ok: true;
  data: unknown;
  raw: unknown;
  /** Why the answer contradicts its tool's definition, or what of it the program does not get, in one line. */
  warning?: string | undefined;
  /** The size of the server's result. */
  bytes: number;
}

interface FailedCall {
  ok: false;
  error: CallError;
  /** The tool's answer, if it contradicts the definition, or the structured content of a failure. */
  data?: unknown;
  raw?: unknown;
  /** The server at which a person has to log in first. */
  loginAt?: string;
  /** The problem between ptc and the server. */
  upstream?: UpstreamErrorCode;
  /** The size of the server's result. */
  bytes: number;
}

interface Decided extends DecisionGround {
  /** When the call began and how long it took, if it was made before its run was suspended. */
  earlier?: { startedMs: number; durationMs: number };
  decision: CallDecision;
  /** Who approved or denied the call, if anyone was asked. */
  approver?: string;
  /** The origins of its values, if any of them may carry a label. */
  flow?: CallFlow | undefined;
  /** How much of the call's time a person took to answer, if it is a millisecond or more. */
  waitedMs?: number;
  /** How much of it its server took to start, to be connected to and to list its tools, if that is a millisecond or more. */
  connectMs?: number;
}

/** The outcome of a call. */
export type CallOutcome = CallAnswer & Decided;

export interface RequestedCall {
  tool: string;
  arguments: unknown;
  /** Whether the program asked for the raw MCP result too. */
  raw?: boolean | undefined;
  /** JSON pointers to numbers in the arguments that the program may have rounded. */
  rounded?: readonly string[] | undefined;
}

/** The run in which a call is made. */
export interface CallingRun {
  approvals: RunApprovals;
  signal: AbortSignal;
  /** The number of the call within its run, from 1. By default calls are numbered as they come. */
  seq?: number | undefined;
  /** The size of the call as the program sent it. */
  bytes?: number | undefined;
  /** Receives what is decided about the call. */
  events?: RunEvents | undefined;
  /** What the request to the server contains in `_meta` besides what MCP needs. */
  meta?: RequestMeta | undefined;
  /** Whether the caller is shown the server's whole answer, whatever a program would get of it. */
  seesAll?: boolean | undefined;
  /** Receives the server's progress reports. */
  onProgress?: OnCallProgress | undefined;
  /** Why a person has to approve the call, also where the policy allows it. */
  asks?: DecisionGround | undefined;
  /** Whether the tool was hidden when the call came. Then it is not made, also where the policy shows it by now. */
  isHidden?: boolean | undefined;
}

/** Answers the calls of programs. Every failure is an outcome. */
export interface CallDispatcher {
  dispatch(call: RequestedCall, run: CallingRun): Promise<CallOutcome>;
}

export interface DispatcherOptions {
  /** Every tool, including those that the policy forbids to programs. */
  tools: Pick<ToolCatalog, "get"> & Partial<Pick<ToolCatalog, "unlisted">>;
  /** The context of the run whose calls it answers. */
  context: RunContext;
  authorizer: Authorizer;
  /** What a resumed run did before. */
  state?: RunState | undefined;
  /** Follows the values of the run's calls. */
  flow?: { readonly run: RunFlow; readonly labels: DataFlow } | undefined;
  servers: ToolServers;
  validator: SchemaValidator;
  /** Redacts messages, because servers quote their environment and headers in them. */
  redact?: (message: string) => string;
  /** Redacts what a server asks the client's model, as what leaves the run; by default as `redact` does. */
  redactForModel?: (text: string) => string;
  /** What becomes of an answer that contradicts its tool's outputSchema: data with a warning, or an error with the data. */
  schemaMismatch?: SchemaMismatch | undefined;
  /** Answers calls in the place of their servers. If absent, all calls are made. */
  rehearsal?: Rehearsal | undefined;
}

/** A call that has passed all checks of a rehearsal but for its approval. */
export interface RehearsedCall {
  /** The number of the call within its run, from 1. */
  readonly seq: number;
  readonly tool: Tool;
  readonly arguments: unknown;
  /** Whether a person would have to approve it, what asks for that, and why. */
  readonly asks: boolean;
  readonly rule?: string | undefined;
  readonly reason?: string | undefined;
}

/** Answers a call of a rehearsal without its server. Resolves with `undefined` for a call that is made. */
export type Rehearsal = (call: RehearsedCall, signal: AbortSignal) => Promise<CallAnswer | undefined>;

type SchemaMismatch = "warn" | "error";

/** Adds up how long a call waits: for a person, or for its server. */
class Wait {
  ms = 0;

  async during<T>(answer: Promise<T>): Promise<T> {
    const since = performance.now();
    try {
      return await answer;
    } finally {
      this.ms += performance.now() - since;
    }
  }
}

/** A call on its way, with what its steps have found out so far. */
interface CallUnderWay {
  readonly call: RequestedCall;
  readonly tool: Tool;
  readonly decision: Decision;
  readonly run: CallingRun;
  /** The number of the call within its run, from 1. */
  readonly seq: number;
  /** The origins of its values, if any of them may carry a label. */
  readonly flow: CallFlow | undefined;
  readonly wait: Wait;
  readonly connecting: Wait;
  readonly budget: CallBudget;
  /** The server of the tool, once it is connected. */
  server?: ToolServer;
  permission: Decided;
  /** Whether the server may have begun the call. */
  isSent: boolean;
  /** The place of the call in a plan that a person has allowed. */
  planned?: number | undefined;
  /** How it has ended, for the plan. */
  ending: Ending;
}

/** A step ends a call with an outcome, or lets it go on. */
type Ended = CallOutcome | undefined;

/**
 * Takes one call through all checks: known, allowed, unchanged since its types were generated, arguments valid, approved.
 * Then calls the tool and checks its answer. Every failure is an outcome; nothing is retried. Whatever is wrong with the answer of a
 * call that was made, the outcome contains the answer or begins by saying that the call was made: otherwise a model would call again.
 */
export class Dispatcher implements CallDispatcher {
  readonly #options: DispatcherOptions;
  readonly #state: RunState;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#state = options.state ?? new RunState();
  }

  async dispatch(call: RequestedCall, run: CallingRun): Promise<CallOutcome> {
    const outcome = await this.#decide(call, run);
    const { redact = (message: string) => message } = this.#options;
    if (outcome.ok)
      return outcome.warning === undefined ? outcome : { ...outcome, warning: redact(outcome.warning) };
    return { ...outcome, error: { ...outcome.error, message: redact(outcome.error.message) } };
  }

  /** Asks the authorizer. An error counts as a denial. */
  async #authorize(tool: Tool, args: unknown, history: RunHistory): Promise<Decision> {
    const { authorizer, context } = this.#options;
    try {
      return await authorizer.authorize(context, tool, args, history);
    } catch (error) {
      return { kind: "deny", reason: `whether it may be could not be decided (${messageOf(error)})` };
    }
  }

  /** Connects to the tool's server. Ends the call if the tool is not the one that its types were generated from. */
  async #connect(way: CallUnderWay): Promise<Ended> {
    const { tool, call, budget, connecting, run, permission } = way;
    const { servers, context } = this.#options;
    const { principal } = context;
    const connect = (hasDrifted?: true) =>
      connecting.during(
        servers.connect(tool.server, run.signal, {
          principal,
          budget,
          call: { tool: tool.name, arguments: call.arguments },
          ...(hasDrifted && { hasDrifted }),
        }),
      );
    way.server = await connect();
    if (driftOf(tool, way.server) === undefined) return undefined;
    way.server = await connect(true);
    const message = driftOf(tool, way.server);
    return message === undefined
      ? undefined
      : { ...permission, ...refuse(call.tool, "drifted", `'${tool.namespacedName}' ${message}`) };
  }

  async #decide(asked: RequestedCall, run: CallingRun): Promise<CallOutcome> {
    const tool = this.#options.tools.get(asked.tool);
    if (tool === undefined) {
      const why = this.#whyUnknown(asked.tool);
      return refuse(asked.tool, "unavailable", `'${asked.tool}' is not available in execute_program${why}`);
    }
    // Calls are counted in their order, and a small one does not wait for a large one before it.
    const { seq, history: before } = this.#state.begin(tool, run.seq);
    // Rules, people and the server are given the same arguments.
    const call = { ...asked, arguments: await withExactNumbersInTurns(tool.inputSchema, asked.arguments) };
    const follow = this.#following(tool, call, seq);
    const history: RunHistory =
      follow === undefined
        ? before
        : Object.assign(before, { flow: follow, shown: this.#options.flow?.run.conversationLabels });
    const decided = await this.#authorize(tool, call.arguments, history);
    const decision = decisionIn(run, decided);
    const flow = this.#options.flow?.run.isLabelled === true ? await follow?.() : undefined;
    const ground = groundOf(decision);
    if (decision.kind !== "allow" || ground.rule !== undefined)
      run.events?.onDecision?.({
        server: tool.server,
        tool: call.tool,
        decision: decision.kind,
        ...ground,
      });
    const [wait, connecting] = [new Wait(), new Wait()];
    const outcome = await this.#carryOut({
      call,
      tool,
      decision,
      run,
      seq,
      flow,
      wait,
      connecting,
      budget: new CallBudget(),
      permission: { decision: "allowed" },
      isSent: false,
      ending: "failed",
    });
    return {
      ...outcome,
      ...ground,
      ...(wait.ms >= 1 && { waitedMs: wait.ms }),
      ...(connecting.ms >= 1 && { connectMs: connecting.ms }),
      ...(flow && { flow }),
    };
  }

  /** Finds the origins of a call's values, once. */
  #following({ inputSchema }: Tool, call: RequestedCall, seq: number): (() => Promise<CallFlow>) | undefined {
    const run = this.#options.flow?.run;
    if (run === undefined) return undefined;
    let known: Promise<CallFlow> | undefined;
    return () => {
      known ??= run
        .follow({ tool: call.tool, seq, arguments: call.arguments, schema: inputSchema })
        .then((flow) =>
          keepSettled(flow, (settled) => {
            known = Promise.resolve(settled);
          }),
        );
      return known;
    };
  }

  /** Records a tool's answer or failure before the program receives it. */
  #noteRead({ tool, call, seq, flow }: CallUnderWay, answer: readonly unknown[]): void {
    const args = call.arguments;
    const { run, labels } = this.#options.flow ?? {};
    const own = labels?.isConditional(tool) === true ? labels.labelsOf(tool, { arguments: args }) : undefined;
    this.#state.read(tool, seq, own);
    const called = { tool: tool.namespacedName, server: tool.server, seq };
    const parts = labels?.partsOf(tool, { arguments: args });
    run?.answered(called, own ?? labels?.labelsOf(tool) ?? [], flow, answer, parts);
  }

  async #carryOut(way: CallUnderWay): Promise<CallOutcome> {
    const { call, decision, run } = way;
    const refused = refuseByPolicy(call.tool, decision);
    if (refused !== undefined) return refused;
    try {
      return (
        (await this.#check(way)) ??
        (await this.#rehearse(way)) ??
        (await this.#permit(way)) ??
        (await this.#announce(way)) ??
        (await this.#send(way))
      );
    } catch (error) {
      return this.#fail(way, error);
    } finally {
      run.approvals.ended(way.planned, way.ending);
    }
  }

  /** Checks that the tool is unchanged, and that the arguments fit its schema. */
  async #check(way: CallUnderWay): Promise<Ended> {
    const { call, tool } = way;
    const drifted = await this.#connect(way);
    if (drifted !== undefined) return drifted;
    const problem =
      misnamedProblem(tool, call.arguments) ??
      roundedProblem(tool.inputSchema, call.arguments, call.rounded) ??
      (await this.#options.validator.check(tool.inputSchema, call.arguments, tool.server));
    if (problem === undefined) return undefined;
    const message = `'${call.tool}' was not called: ${describeProblem("arguments", problem)}`;
    return refuse(call.tool, "invalid", message);
  }

  /** Answers in the place of the server, in a rehearsal. */
  async #rehearse(way: CallUnderWay): Promise<Ended> {
    const { call, tool, decision, seq, run, permission } = way;
    const asks = decision.kind === "ask";
    const ground = asks ? { rule: decision.rule, reason: decision.reason } : {};
    const rehearsed = { seq, tool, arguments: call.arguments, asks, ...ground };
    const instead = await this.#options.rehearsal?.(rehearsed, run.signal);
    if (instead === undefined) return undefined;
    this.#noteRead(way, answersOf(instead, call.raw));
    return { ...instead, ...permission };
  }

  /** Asks a person, if the policy says so. */
  async #permit(way: CallUnderWay): Promise<Ended> {
    const { call, tool, decision, run, flow, wait } = way;
    if (decision.kind !== "ask") {
      if (changesSomething(tool)) way.planned = await run.approvals.unasked(tool, call.arguments);
      return undefined;
    }
    const { rule } = decision;
    const reasons = new Set([decision.reason, run.asks?.reason].filter((each) => each !== undefined));
    const reason = reasons.size === 0 ? undefined : [...reasons].join("; ");
    const isOfCheck = run.asks !== undefined;
    const reviewer = isOfCheck ? undefined : decision.reviewer;
    const approving = run.approvals.approve(tool, call.arguments, run.signal, {
      rule,
      reason,
      flow,
      isOfCheck,
      reviewer,
    });
    const approval = await wait.during(approving);
    way.permission = { decision: approval.decision, approver: approval.by };
    way.planned = approval.planned;
    if (approval.decision === "denied")
      return { ...refuseApproval(call.tool, approval, reason), approver: approval.by };
    // A person may have taken minutes to answer, and the approval is only for the tool as it was when asked.
    return this.#connect(way);
  }

  /** Notes the call in the audit log before it goes out. */
  async #announce({ call, tool, seq, run, permission }: CallUnderWay): Promise<Ended> {
    const out = { seq, server: tool.server, tool: call.tool, arguments: call.arguments, ...permission };
    const unnoted = await announceCall(tool, out, run.events);
    return unnoted === undefined ? undefined : { ...permission, ...refuse(call.tool, "unaudited", unnoted) };
  }

  /** Calls the tool, and checks its answer. */
  async #send(way: CallUnderWay): Promise<CallOutcome> {
    const { call, tool, run, wait, permission } = way;
    const request: ToolCall = {
      tool: tool.name,
      arguments: call.arguments,
      signal: run.signal,
      ask: this.#asking(tool, run, wait),
      meta: run.meta,
      onProgress: run.onProgress,
    };
    const send = () => {
      way.isSent = true;
      way.ending = "unclear";
      return (way.server as ToolServer).call(request);
    };
    let raw: unknown;
    try {
      raw = await send();
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.code !== "session_ended") throw error;
      // The server did not begin the call. The new session may be with another version of it.
      way.isSent = false;
      way.ending = "failed";
      const drifted = await this.#connect(way);
      if (drifted !== undefined) return drifted;
      raw = await send();
    }
    const answer = await this.#answer(tool, raw, call.raw === true || run.seesAll === true);
    this.#noteRead(way, answersOf(answer, call.raw));
    if (answer.ok) way.ending = { answer: answer.data ?? null };
    else if (isObject(raw) && isFailure(raw)) way.ending = "failed";
    if (answer.ok && way.decision.kind !== "ask" && !changesSomething(tool))
      await run.approvals.read(tool, call.arguments, answer.data);
    return { ...answer, ...permission };
  }

  /** The outcome of a call that something between ptc and the server has ended. @throws the error, if it is a fault of ptc */
  #fail(way: CallUnderWay, error: unknown): CallOutcome {
    const { call, tool, isSent, permission } = way;
    // The text of a server's error is also data from that server.
    if (isSent) this.#noteRead(way, [messageOf(error)]);
    if (!(error instanceof UpstreamError)) {
      if (!isSent) throw error;
      const message = `the call was made: '${call.tool}' answered, and ptc could not read the answer: ${messageOf(error)}`;
      return { ...permission, ok: false, error: callError(call.tool, message, false), bytes: 0 };
    }
    const isReached = !isUnreachable(error, isSent);
    if (!isReached || error.code === "session_ended") way.ending = "failed";
    return {
      ...permission,
      ...(isReached ? {} : { decision: "unreachable" }),
      ok: false,
      upstream: error.code,
      ...(error.code === "login_required" ? { loginAt: tool.server } : {}),
      error: callError(call.tool, describeUpstream(call.tool, error, isSent), error.retryable),
      bytes: 0,
    };
  }

  /** Passes a server's question during a call to the person for whom the program runs. */
  #asking(tool: Tool, { approvals, events }: CallingRun, wait: Wait): AskPerson {
    const { redact = (message: string) => message, redactForModel = redact } = this.#options;
    const by = { server: tool.server, tool: tool.namespacedName };
    let samples = 0;
    return (question, signal) => {
      const elicit = (asked: ServerElicitation) => wait.during(approvals.elicit(asked, signal));
      if (question.isForModel !== true) return answerQuestion(question, by, elicit, redact);
      const sample = (sampling: Sampling) => wait.during(approvals.sample({ ...by, sampling }, signal));
      const note = (decision: string, reason: string) =>
        events?.onDecision?.({ ...by, decision, rule: "servers[].sampling", reason });
      const isOneTooMany = ++samples > MAX_SAMPLES;
      return answerSampling(question, { by, elicit, sample, note, isOneTooMany }, redactForModel);
    };
  }

  /** Why a tool of a known server is not known. Of a server that the principal may not know of nothing is said. */
  #whyUnknown(name: string): string {
    const { authorizer, context } = this.#options;
    const module = parseNamespacedName(name)?.module ?? "";
    if (authorizer.isKnown?.(context, module) === false) return "";
    const why = this.#options.tools.unlisted?.get(module);
    return why === undefined ? "" : `: ${oneLine(why, MAX_REASON_CHARS)}`;
  }

  async #answer(tool: Tool, raw: unknown, seesAll: boolean): Promise<CallAnswer> {
    const name = tool.namespacedName;
    const bytes = resultBytes(raw);
    const normalized = normalizeResult(raw);
    if (!normalized.ok) {
      return {
        ok: false,
        error: callError(name, `'${name}' failed: ${normalized.message}`, false),
        ...(normalized.data === undefined ? {} : { data: normalized.data }),
        raw,
        bytes,
      };
    }
    const { problem, beside } = normalized;
    const mismatch =
      problem === undefined
        ? await this.#mismatchOf(tool, raw, normalized.data)
        : `'${name}' answered ${problem}; its server is to blame`;
    const isWrapped = tool.unwraps === true && isStructured(raw);
    const data = isWrapped ? unwrapResult(normalized.data) : normalized.data;
    const hint = beside === undefined || seesAll ? [] : [describeBeside(name, beside)];
    const warning = [...(mismatch === undefined ? [] : [mismatch]), ...hint].join("; ");
    if (mismatch === undefined || this.#options.schemaMismatch !== "error")
      return { ok: true, data, raw, ...(warning === "" ? {} : { warning }), bytes };
    const message = `the call was made: ${mismatch}; what it answered is the error's data`;
    return { ok: false, error: callError(name, message, false), data, raw, bytes };
  }

  /** Why an answer contradicts its tool's definition, in one line; `undefined` if it does not. */
  async #mismatchOf(tool: Tool, raw: unknown, data: unknown): Promise<string | undefined> {
    if (tool.outputSchema === undefined) return undefined;
    const name = tool.namespacedName;
    if (!isStructured(raw))
      return `'${name}' answered without the structuredContent that its outputSchema promises; its server is to blame`;
    const problem = await this.#options.validator.check(tool.outputSchema, data, tool.server);
    return problem === undefined
      ? undefined
      : `'${name}' answered against its own outputSchema: ${describeProblem("structuredContent", problem)}`;
  }
}

/** How a tool differs from the one that its types were generated from, phrased to follow its name; `undefined` if it does not. */
function driftOf(tool: Tool, server: ToolServer): string | undefined {
  const digest = server.definitionDigest(tool.name);
  if (digest !== tool.definitionDigest) {
    const what = digest === undefined ? "is no longer listed" : "was changed";
    return `${what} by its server since its types were generated; run \`ptc generate\``;
  }
  const account = server.strangeAccount?.(tool.name);
  return account === undefined
    ? undefined
    : `was not called: for the account '${account}' its server lists another definition of it, or none; its types come from the first account`;
}

/** Wraps a call's values, and reports the new ones once more of them are settled. */
function keepSettled(flow: CallFlow, onSettled: (settled: CallFlow) => void): CallFlow {
  return {
    ...flow,
    async settle(open) {
      const settled = await flow.settle(open);
      onSettled(settled);
      return settled;
    },
  };
}

/** Everything that the program may see of an answer. */
export function answersOf(answer: CallAnswer, isRaw = false): unknown[] {
  const seen = answer.ok ? [answer.data] : [answer.error.message, answer.data];
  return isRaw || !answer.ok ? [...seen, answer.raw] : seen;
}

/** Tells that an answer has content which the function does not return, and where it is. */
function describeBeside(name: string, beside: string): string {
  return `'${name}' also answered ${beside} beside its structuredContent, which is all that its function returns; the content is \`raw.content\` of \`.result(...)\``;
}

/** A failure between ptc and a server, with what is known of whether the call was made. */
function describeUpstream(name: string, { code, message }: UpstreamError, sent: boolean): string {
  if (sent && code === "protocol_error")
    return `the call was made: '${name}' failed, because its answer cannot be read: ${message}`;
  if (code === "session_ended") return `'${name}' was not called: ${message}, and a new one as well`;
  const unsure = sent && code === "disconnected" ? "; the call may have been made" : "";
  return `'${name}' failed: ${message}${unsure}`;
}

/** The problem with an argument that the tool does not have but its schema may accept. */
function misnamedProblem({ inputSchema }: Tool, args: unknown): SchemaViolation | undefined {
  const misnamed = misnamedArgument(inputSchema, args);
  if (misnamed === undefined) return undefined;
  const { name, meant } = misnamed;
  const advice = meant === undefined ? "it takes no arguments" : `did you mean '${meant}'?`;
  return { place: `.${cutText(name, MAX_NAME_CHARS)}`, message: `is not a known property; ${advice}` };
}

/** Whether the call never reached the server. A cancelled call proves nothing about the server. */
function isUnreachable({ code }: UpstreamError, sent: boolean): boolean {
  return NOT_CONNECTED.has(code) || (!sent && code !== "cancelled");
}

/** The ground of a decision, without members if it has none, like most decisions. */
function groundOf({ rule, reason }: DecisionGround): DecisionGround {
  return { ...(rule === undefined ? {} : { rule }), ...(reason === undefined ? {} : { reason }) };
}

/** What counts of the policy's decision about a call in this run. */
function decisionIn({ asks, isHidden }: CallingRun, decided: Decision): Decision {
  if (decided.kind !== "allow" && decided.kind !== "ask") return decided;
  if (isHidden === true) return { kind: "unavailable" };
  return decided.kind === "allow" && asks !== undefined ? { kind: "ask", ...asks } : decided;
}

/** Refuses a call that the policy hides or forbids. */
function refuseByPolicy(name: string, decision: Decision): Ended {
  if (decision.kind === "unavailable") {
    const why =
      decision.isTold === true && decision.reason !== undefined ? `: ${oneLine(decision.reason)}` : "";
    return refuse(name, "unavailable", `'${name}' is not available in execute_program${why}`);
  }
  if (decision.kind !== "deny") return undefined;
  return refuse(name, "forbidden", `'${name}' was not called: ${oneLine(decision.reason)}`);
}

function refuse(name: string, decision: CallDecision, message: string): CallOutcome {
  return { ok: false, error: callError(name, message, false), decision, bytes: 0 };
}

/** A model reads this, often one with a shell, so it says what was decided, and never how to change the decision. */
function refuseApproval(name: string, { isUnasked, why }: Approval, reason?: string): CallOutcome {
  const decided = why ?? (isUnasked === true ? "nobody can be asked here" : "was refused by the user");
  const because = reason === undefined ? "" : `: ${oneLine(reason)}`;
  const advice = isUnasked === true && reason !== undefined ? UNASKED_ADVICE : "";
  const refused = refuse(name, "denied", `'${name}' needs an approval and ${decided}${because}${advice}`);
  return refused.ok ? refused : { ...refused, error: { ...refused.error, type: "ApprovalDenied" } };
}

/** Advice for an approval that a rule requires: only a person can approve the call; no list of the configuration can. */
const UNASKED_ADVICE = "; tell the user, who can approve the call where a person can be asked";

function callError(name: string, message: string, retryable: boolean): CallError {
  const parsed = parseNamespacedName(name);
  return { type: "ToolError", server: parsed?.module ?? "", tool: parsed?.tool ?? name, message, retryable };
}

/** The bytes of this result that a model would have read: its text and blocks, or else its structured content. */
export function resultBytes(result: unknown): number {
  if (!isObject(result)) return 0;
  const content = Array.isArray(result.content) ? (result.content as unknown[]) : [];
  if (content.length === 0) {
    return result.structuredContent === undefined ? 0 : jsonBytes(result.structuredContent);
  }
  let bytes = 0;
  for (const block of content) {
    bytes +=
      isObject(block) && typeof block.text === "string" ? Buffer.byteLength(block.text) : jsonBytes(block);
  }
  return bytes;
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(writeJson(value) ?? "");
}

interface AskedBy {
  /** The configured name of the server. */
  server: string;
  /** The namespaced name of the called tool. */
  tool: string;
}

/**
 * Asks a person a server's question, and returns the reply for the server. A refusal and a missing answer are passed on as such;
 * nothing is answered on behalf of a person.
 */
async function answerQuestion(
  { params, isCertain }: ServerQuestion,
  { server, tool }: AskedBy,
  elicit: (asked: ServerElicitation) => Promise<ElicitationAnswer>,
  redact: (text: string) => string,
): Promise<QuestionAnswer> {
  const parsed = parseElicitation(params, redact);
  if (!parsed.ok) return { kind: "invalid", reason: parsed.problem };
  const { elicitation } = parsed;
  const answer = await elicit({ ...elicitation, server, tool: isCertain ? tool : undefined });
  switch (answer.action) {
    case "accept": {
      const content = elicitation.mode === "form" ? { content: answer.values } : {};
      return { kind: "answered", result: { action: "accept", ...content } };
    }
    case "decline":
    case "cancel":
      return { kind: "answered", result: { action: answer.action } };
    case "unasked": {
      const what = elicitation.mode === "form" ? "asks for an input" : `asks to visit ${elicitation.host}`;
      return {
        kind: "unasked",
        reason: `${what} in the middle of the call, which a person has to answer, and ${answer.why ?? "nobody can be asked here"}`,
      };
    }
  }
}

/** How a server's request for an answer of the client's model is seen through. */
interface SeeingThrough {
  readonly by: AskedBy;
  readonly elicit: (asked: ServerElicitation) => Promise<ElicitationAnswer>;
  readonly sample: (sampling: Sampling) => Promise<SamplingAnswer>;
  /** Notes in the audit log what became of it. */
  readonly note: (decision: string, reason: string) => void;
  readonly isOneTooMany: boolean;
}

/** Asks a person whether the client's model may answer, and then the client. */
async function answerSampling(
  { params }: ServerQuestion,
  { by, elicit, sample, note, isOneTooMany }: SeeingThrough,
  redact: (text: string) => string,
): Promise<QuestionAnswer> {
  const refuse = (why: string): QuestionAnswer => {
    note("deny", `no model answered the server: ${why}`);
    return {
      kind: "unasked",
      reason: `asked for an answer of a model in the middle of the call, and ${why}`,
    };
  };
  if (isOneTooMany) return refuse(`a call may ask for ${MAX_SAMPLES}`);
  const parsed = parseSampling(params, redact);
  if (!parsed.ok) {
    note("deny", `no model answered the server: it ${parsed.problem}`);
    return { kind: "invalid", reason: parsed.problem };
  }
  const { sampling } = parsed;
  const asked = { mode: "form" as const, message: describeSampling(sampling), fields: [] };
  const permission = await elicit({ ...asked, ...by });
  if (permission.action === "unasked") return refuse(permission.why ?? "nobody can be asked here");
  if (permission.action !== "accept") return refuse("the user did not allow it");
  const answer = await sample(sampling);
  if (answer.kind === "unsampled") return refuse(answer.why);
  note("allow", `the client's model answered the server, in up to ${sampling.maxTokens} tokens`);
  return { kind: "answered", result: answer.result };
}
