import { randomUUID } from "node:crypto";
import { ArchiveError } from "../archive/archive-error.ts";
import type { FoundRuns } from "../archive/run-reference.ts";
import { messageOf } from "../base/faults.ts";
import { withTextNumbers } from "../base/json.ts";
import { findPrototypeMember } from "../base/prototype-member.ts";
import { RecentlyUsed } from "../base/recently-used.ts";
import { oneLine } from "../base/visible-text.ts";
import { keepableCalls } from "../broker/approvals/approval-scope.ts";
import { describePlanned } from "../broker/approvals/approval-text.ts";
import { LATER } from "../broker/approvals/approvals.ts";
import { isApprovable } from "../broker/approvals/plan.ts";
import { NOT_SAMPLED } from "../broker/elicitation/sampling.ts";
import type { Viewer } from "../broker/policy/authorizer.ts";
import { CatalogError } from "../catalog/catalog-error.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import type { ObservedCall } from "../execution/call-log.ts";
import type { ExecutedProgram } from "../execution/output/executed-run.ts";
import type { PlannedProgram } from "../execution/output/planned-program.ts";
import type { PendingApproval as Pending } from "../execution/pending/pending-approvals.ts";
import { PendingError } from "../execution/pending/tickets.ts";
import { loadReplayable } from "../execution/replay/load-replayable.ts";
import type { OpenService } from "../project/service.ts";
import { identityKey, type RunContext } from "../protocol/run-context.ts";
import { parseTraceContext } from "../protocol/trace-context.ts";
import { SandboxError } from "../sandbox/sandbox-error.ts";
import {
  type AnswerTo,
  type AskPerson,
  buildElicitation,
  type Question,
  readAnswer as readElicitation,
} from "../server/mcp/elicitation.ts";
import type { ClientRequest, RequestObserver } from "../server/mcp/programs/client-request.ts";
import type { McpConnection, McpService } from "../server/mcp/service.ts";
import { renderTicket } from "../server/mcp/tools/own-tools.ts";
import { errorReply, type ProgramReply } from "../server/mcp/tools/reply.ts";
import { localActor } from "../system/local-actor.ts";
import { StateDirectoryError } from "../system/state-directory.ts";
import {
  type ApprovalAnswer,
  type ApprovalQuestion,
  type Approve,
  type CallOptions,
  type Elicitation,
  type OnElicit,
  type PendingApproval,
  type Plan,
  type Planned,
  type PlanOptions,
  type Ptc,
  PtcError,
  type PtcErrorCode,
  type PtcOptions,
  type PtcTool,
  type Replay,
  type Run,
  type RunCall,
  type RunEvent,
  type RunOptions,
  type ToolReply,
  type Waiting,
} from "./api.ts";
import { checkOptions, principalOf, readAnswer } from "./options.ts";

/** The most conversations whose state ptc holds. Beyond that, the one unused the longest starts anew. */
const MAX_CONVERSATIONS = 1_000;
const PATIENCE_MS = 2_000;
const MAX_REASON_CHARS = 300;

type Definitions = Awaited<ReturnType<McpConnection["listTools"]>>;

/** An open ptc, with connections for code that speaks MCP. */
export class OpenPtc implements Ptc {
  readonly #defaults: PtcOptions;
  readonly #open: OpenService;
  readonly #onClose: () => void;
  readonly #connections = new Map<string, { connection: McpConnection; requests: number }>();
  /** Connections whose messages others carry. */
  readonly #carried = new Set<McpConnection>();
  /** Runs that are not archived yet. */
  readonly #recording = new Set<Promise<unknown>>();
  /** The tool definitions for everybody, and those for principals, by their identity in rules. */
  #own: Definitions = [];
  readonly #definitions = new RecentlyUsed<string, Definitions>({ maxEntries: MAX_CONVERSATIONS });
  #instructions = "";
  #closing: Promise<void> | undefined;

  constructor(defaults: PtcOptions, open: OpenService, onClose: () => void) {
    this.#defaults = defaults;
    this.#open = open;
    this.#onClose = onClose;
  }

  /** Lists the servers that were never listed, and reads ptc's own tools as models see them. */
  async open(): Promise<void> {
    await this.#open.listed();
    await this.#during({}, async (connection) => {
      this.#own = await connection.listOwnTools();
      this.#definitions.set(this.#whoOf({}), await connection.listTools());
      this.#instructions = await connection.instructions();
    });
  }

  get instructions(): string {
    return this.#instructions;
  }

  async run(code: string, options: RunOptions = {}): Promise<Run> {
    checkOptions("run", options);
    const { text, run } = await this.#call("execute_program", givenOf(code, options), options);
    if (run !== undefined) return run;
    throw notDone(text);
  }

  async plan(code: string, options: PlanOptions = {}): Promise<Planned> {
    checkOptions("plan", options);
    const given = { ...givenOf(code, options), dry_run: true };
    return this.#during(options, async (connection) => {
      let outcome: Planned | undefined;
      const onPlanned = (planned: PlannedProgram) => {
        outcome = plannedFor(planned.outcome);
      };
      const answer = await connection.callTool(
        "execute_program",
        given,
        this.#request(connection, options, { onPlanned }),
      );
      if (outcome !== undefined) return outcome;
      throw notDone(answer?.kind === "reply" ? textOf(answer.reply.content) : "");
    });
  }

  async resume(
    ticket: string,
    options: CallOptions & { readonly answer?: ApprovalAnswer } = {},
  ): Promise<Run> {
    checkOptions("resume", options);
    const pending = await this.#pending(ticket, options);
    if (options.answer !== undefined) await this.#answer(pending, options.answer, options);
    else if (!pending.isAnswered && this.#approveOf(options) === undefined)
      throw new PtcError(
        "unanswered",
        `nobody has answered yet whether ${pending.request.tool} may be called`,
      );
    const code = renderTicket(ticket);
    const { text, run } = await this.#call("execute_program", { code }, options);
    if (run !== undefined) return run;
    throw new PtcError("unanswered", text.split("\n").join(" "));
  }

  async approvals(options: Pick<CallOptions, "principal"> = {}): Promise<readonly PendingApproval[]> {
    this.#refuseClosed();
    const { principal } = this.#contextOf(options);
    return plainly(async () => {
      const found: PendingApproval[] = [];
      const approvals = await this.#open.host.pendingApprovals();
      for await (const { ticket, askedAt, expiresAt, isAnswered, request } of approvals.whole(principal))
        found.push({
          ticket,
          tool: request.tool,
          isAnswered,
          question: questionOf(request),
          askedAt: new Date(askedAt),
          expiresAt: new Date(expiresAt),
        });
      return found;
    });
  }

  async answer(
    ticket: string,
    answer: ApprovalAnswer,
    options: Pick<CallOptions, "principal"> = {},
  ): Promise<void> {
    await this.#answer(await this.#pending(ticket, options), answer, options);
  }

  async replay(
    reference: string,
    { signal = new AbortController().signal }: Pick<CallOptions, "signal"> = {},
  ): Promise<Replay> {
    this.#refuseClosed();
    return plainly(async () => {
      await Promise.all(this.#recording);
      const { host } = this.#open;
      const found = await host.archive.find(reference);
      const runId = found.kind === "one" ? found.run.run_id : found.kind === "many" && found.runs[0]?.run_id;
      if (!runId) throw new PtcError("archive", notOne(reference, found));
      const loaded = await loadReplayable(host.archive, runId);
      if (!loaded.ok)
        throw new PtcError("archive", `run ${runId} cannot be replayed (${loaded.problem.kind})`);
      const replayed = await host.replay({ ...loaded.replayable, signal });
      const divergence = replayed.divergence ?? replayed.undecided;
      return { same: divergence === undefined, divergence, envelope: withTextNumbers(replayed.envelope) };
    });
  }

  tools(options: CallOptions = {}): readonly PtcTool[] {
    checkOptions("tools", options);
    const definitions = this.#listedFor(options) ?? this.#own;
    return definitions.map((definition) => ({
      name: definition.name,
      ...("title" in definition ? { title: definition.title } : {}),
      description: definition.description ?? "",
      inputSchema: definition.inputSchema,
      ...("annotations" in definition && definition.annotations !== undefined
        ? { annotations: { ...definition.annotations } }
        : {}),
      execute: (args, more = {}) => this.#call(definition.name, args, { ...options, ...more }),
    }));
  }

  async listTools(options: CallOptions = {}): Promise<readonly PtcTool[]> {
    checkOptions("tools", options);
    const who = this.#whoOf(options);
    if (!this.#definitions.has(who))
      this.#definitions.set(who, await this.#during(options, (connection) => connection.listTools()));
    return this.tools(options);
  }

  /** The tools listed for a principal. An invalid principal has none: any call for it reports the error. */
  #listedFor(options: CallOptions) {
    try {
      return this.#definitions.get(this.#whoOf(options));
    } catch (error) {
      if (error instanceof PtcError) return undefined;
      throw error;
    }
  }

  #whoOf(options: CallOptions): string {
    return identityKey(this.#contextOf(options));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A connection for code that speaks MCP over it, such as a server in memory. The caller closes it. */
  connect(options: CallOptions): McpConnection {
    this.#refuseClosed();
    const connection = this.#open.service.connect(this.#contextOf(options));
    this.#carried.add(connection);
    connection.closed.addEventListener("abort", () => this.#carried.delete(connection), { once: true });
    return connection;
  }

  get service(): McpService {
    return this.#open.service;
  }

  /** Who is asked instead of a client; `undefined` if nobody is. */
  asks(options: CallOptions): { ask: AskPerson } | undefined {
    const approve = this.#approveOf(options);
    const { onElicit = this.#defaults.onElicit } = options;
    return approve === undefined && onElicit === undefined
      ? undefined
      : { ask: asking(approve, onElicit, this.warn) };
  }

  /** Receives failures that belong to no run. */
  get warn(): (message: string) => void {
    return this.#defaults.onWarning ?? warnInProcess;
  }

  async #close(): Promise<void> {
    const own = [...this.#connections.values()].map(({ connection }) => connection);
    await Promise.all([...own, ...this.#carried].map((connection) => connection.close()));
    await this.#open.host.close(PATIENCE_MS);
    this.#onClose();
  }

  #refuseClosed(): void {
    if (this.#closing !== undefined) throw new PtcError("closed", "this ptc was closed; create another one");
  }

  async #call(name: string, args: unknown, options: CallOptions): Promise<ToolReply> {
    return this.#during(options, async (connection) => {
      const watch = new Watch(options, (recorded) => this.#note(recorded));
      const answer = await connection.callTool(name, args, this.#request(connection, options, watch));
      // The answer for a tool that is hidden from the principal is that of one that does not exist.
      if (answer === undefined) return watch.replyOf(errorReply(`there is no tool '${oneLine(name)}'`));
      if (answer.kind === "question") throw new Error("a question was handed out that a function answers");
      return watch.replyOf(answer.reply);
    });
  }

  /** Runs work for one conversation, and keeps the state of the conversation for the next time. */
  async #during<T>(options: CallOptions, work: (connection: McpConnection) => Promise<T>): Promise<T> {
    this.#refuseClosed();
    const context = this.#contextOf(options);
    const key = JSON.stringify([context.principal, context.groups, options.conversation]);
    const known = this.#connections.get(key) ?? {
      connection: this.#open.service.connect(context, { isOfMany: options.conversation === undefined }),
      requests: 0,
    };
    this.#connections.delete(key);
    this.#connections.set(key, known);
    this.#forgetOldest();
    known.requests++;
    try {
      for (const text of [options.said ?? []].flat()) known.connection.conversation.say(text);
      return await plainly(() => work(known.connection));
    } finally {
      known.requests--;
    }
  }

  #forgetOldest(): void {
    for (const [key, { connection, requests }] of this.#connections) {
      if (this.#connections.size <= MAX_CONVERSATIONS) return;
      if (requests > 0) continue;
      this.#connections.delete(key);
      void connection.close();
    }
  }

  #contextOf({ principal = this.#defaults.principal }: CallOptions): RunContext & Viewer {
    return { ...principalOf(principal), source: "library", actor: localActor(), session: randomUUID() };
  }

  #approveOf(options: CallOptions): Approve | undefined {
    return options.approve ?? this.#defaults.approve;
  }

  #request(connection: McpConnection, options: CallOptions, observer: RequestObserver): ClientRequest {
    const asks = this.asks(options);
    const { signal = new AbortController().signal, traceparent } = options;
    return {
      connection,
      signal,
      progress: undefined,
      canAsk: asks !== undefined,
      mayApprove: this.#approveOf(options) !== undefined,
      ...asks,
      ...(traceparent === undefined ? {} : { trace: parseTraceContext({ traceparent }) }),
      observer,
    };
  }

  #note(recorded: Promise<unknown>): void {
    this.#recording.add(recorded);
    void recorded.finally(() => this.#recording.delete(recorded));
  }

  async #pending(ticket: string, options: Pick<CallOptions, "principal">): Promise<Pending> {
    this.#refuseClosed();
    const { principal } = this.#contextOf(options);
    const found = await plainly(async () =>
      (await this.#open.host.pendingApprovals()).get(ticket, principal),
    );
    if (found !== undefined) return found;
    throw new PtcError(
      "no_ticket",
      "nothing waits under this ticket: it was used, has expired, or is another principal's",
    );
  }

  async #answer(
    pending: Pending,
    answer: ApprovalAnswer,
    options: Pick<CallOptions, "principal">,
  ): Promise<void> {
    const { principal } = this.#contextOf(options);
    const isFirst = await plainly(async () =>
      (await this.#open.host.pendingApprovals()).answer(
        principal,
        pending,
        readAnswer(answer, pending.request.plan),
      ),
    );
    if (!isFirst) throw new PtcError("answered", "this question was answered before, or has expired");
  }
}

/** Follows one program and reports its outcome. */
class Watch implements RequestObserver {
  readonly #calls: RunCall[] = [];
  readonly #onEvent: ((event: RunEvent) => void) | undefined;
  readonly #onRecording: (recorded: Promise<unknown>) => void;
  readonly #ended = Promise.withResolvers<void>();
  #runId = "";
  #executed: ExecutedProgram | undefined;

  constructor({ onEvent }: CallOptions, onRecording: (recorded: Promise<unknown>) => void) {
    this.#onEvent = onEvent;
    this.#onRecording = onRecording;
  }

  readonly onEvent: RequestObserver["onEvent"] = (event) => {
    // The missed events may include the end.
    if (event.kind === "missed") return this.#ended.resolve();
    const { context: _, ...told } = event;
    this.#runId = told.runId;
    if (told.kind === "ended") this.#ended.resolve();
    this.#tell(told);
  };

  get onConsole(): RequestObserver["onConsole"] {
    if (this.#onEvent === undefined) return undefined;
    return ({ stream, text }) => this.#tell({ runId: this.#runId, kind: "console", stream, text });
  }

  readonly onCall = ({ seq, tool, arguments: args, durationMs, outcome }: ObservedCall) => {
    this.#calls.push({
      seq,
      tool,
      arguments: withTextNumbers(args),
      durationMs,
      ok: outcome.ok,
      decision: outcome.decision,
      ...(outcome.ok ? {} : { error: outcome.error }),
    });
  };

  readonly onProgram = (executed: ExecutedProgram) => {
    this.#executed = executed;
    this.#onRecording(executed.recorded);
  };

  async replyOf(reply: ProgramReply): Promise<ToolReply> {
    const content = reply.content;
    const text = textOf(content);
    const executed = this.#executed;
    const { "ptc/waiting": suspended } = reply._meta ?? {};
    const waiting: Waiting | undefined = suspended && {
      ticket: suspended.ticket,
      tool: suspended.tool,
      expiresAt: new Date(suspended.expires_at),
    };
    const told = { text, content, isError: reply.isError === true, ...(waiting && { waiting }) };
    if (executed === undefined) return told;
    // Events arrive a moment after what they report.
    if (this.#onEvent !== undefined && executed.suspended === undefined) await this.#ended.promise;
    const { envelope, emitted } = executed;
    const result = handedOver(envelope.result);
    const said = content.filter((block) => block.type === "text" && !emitted.includes(block));
    const run: Run = {
      ok: result.ok,
      value: result.ok ? withTextNumbers(result.data) : undefined,
      error: result.ok ? undefined : result.error,
      envelope: withTextNumbers(envelope),
      text: textOf(said),
      emitted,
      calls: this.#calls,
      ...(waiting && { waiting }),
    };
    return { ...told, run };
  }

  #tell(event: RunEvent): void {
    try {
      this.#onEvent?.(event);
    } catch (error) {
      // An observer must not affect the run.
      warnInProcess(`onEvent failed: ${messageOf(error)}`);
    }
  }
}

/** The result for the embedding program. A result that could change a prototype when its members are copied is refused. */
function handedOver(result: ExecutedProgram["envelope"]["result"]): ExecutedProgram["envelope"]["result"] {
  const at = result.ok ? findPrototypeMember(result.data) : undefined;
  if (at === undefined) return result;
  const message = `the result has a member named __proto__, at ${oneLine(at)}, and is not handed over: give that member another name`;
  return { ok: false, error: { type: "ResultNotSerializable", message } } as typeof result;
}

function textOf(content: ToolReply["content"]): string {
  return content.flatMap((block) => (block.type === "text" ? block.text : [])).join("\n");
}

/** Asks the functions of the program. */
function asking(
  approve: Approve | undefined,
  onElicit: OnElicit | undefined,
  warn: (message: string) => void,
): AskPerson {
  return async (question, signal) => {
    switch (question.kind) {
      case "approval":
        return (await decide(question.request, approve, signal, warn)) as never;
      case "elicitation":
        return (await elicit(question, onElicit, signal)) as never;
      case "sampling":
        return NOT_SAMPLED as never;
    }
  };
}

/** Calls `approve`. If it fails, the question stays open, and a warning tells the embedding program why. */
async function decide(
  request: Pending["request"],
  approve: Approve | undefined,
  signal: AbortSignal,
  warn: (message: string) => void,
) {
  if (approve === undefined) return LATER;
  try {
    return readAnswer(await approve(questionOf(request), signal), request.plan);
  } catch (error) {
    const why = oneLine(messageOf(error), MAX_REASON_CHARS);
    if (!signal.aborted) warn(`approve failed, so ${oneLine(request.tool)} waits for an answer: ${why}`);
    return LATER;
  }
}

async function elicit(
  question: Extract<Question, { kind: "elicitation" }>,
  onElicit: OnElicit | undefined,
  signal: AbortSignal,
): Promise<AnswerTo<typeof question>> {
  const unasked = (why: string) => ({ action: "unasked" as const, why });
  if (onElicit === undefined) return unasked("the program that ptc is a library of has no onElicit");
  const { runId, server, tool } = question.elicitation;
  const shown = buildElicitation(question, true);
  try {
    const response = await onElicit({ runId, server, tool, ...shown } as Elicitation, signal);
    return readElicitation(question, response, undefined);
  } catch (error) {
    return unasked(`onElicit failed: ${oneLine(messageOf(error), MAX_REASON_CHARS)}`);
  }
}

function questionOf({
  runId,
  tool,
  arguments: args,
  reason,
  origins,
  isAgain = false,
  plan,
  differs,
}: Pending["request"]): ApprovalQuestion {
  const about = { runId, tool, arguments: withTextNumbers(args), reason, origins, isAgain };
  return {
    ...about,
    ...(plan === undefined ? {} : { plan: planFor(plan) }),
    ...(differs === undefined ? {} : { differs }),
  };
}

/** The arguments of `execute_program`. */
function givenOf(code: string, { data, language, timeoutMs, typecheck, session }: RunOptions): object {
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    throw new PtcError("invalid", "timeoutMs must be more than 0 milliseconds");
  return withoutAbsent({
    code,
    data,
    language,
    typecheck,
    session,
    timeout_seconds: timeoutMs === undefined ? undefined : timeoutMs / 1_000,
  });
}

/** Why a program did not run. */
function notDone(text: string): PtcError {
  return new PtcError(/^\[Script/.test(text) ? "busy" : "invalid", text.split("\n").join(" "));
}

/** The outcome of a dry run, for the embedding program. */
function plannedFor(outcome: PlannedProgram["outcome"]): Planned {
  return outcome.kind === "changes" ? { kind: "changes", plan: planFor(outcome.plan) } : outcome;
}

/** A plan for the embedding program. */
function planFor(plan: NonNullable<Pending["request"]["plan"]>): Plan {
  const { digest, calls, more } = plan;
  const keepable = keepableCalls(plan);
  return {
    digest,
    calls: calls.map((call, index) => ({
      number: index + 1,
      tool: call.tool,
      arguments: withTextNumbers(call.arguments),
      isApprovable: isApprovable(call),
      isKeepable: keepable.includes(index + 1),
      notes: describePlanned(call),
    })),
    ...(more === undefined ? {} : { more }),
  };
}

/** The reference needs no escaping, because the lookup accepts only digits, letters, dashes and a colon. */
function notOne(reference: string, found: FoundRuns): string {
  if (found.kind !== "ambiguous") return `no run or input in the archive begins with ${reference}`;
  return `several runs or inputs begin with ${reference}: give more of ${found.candidates.join(", ")}`;
}

function withoutAbsent(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Reports a warning for which there is no listener. */
export function warnInProcess(message: string): void {
  process.emitWarning(message, "PtcWarning");
}

/** Runs work and turns its expected errors into `PtcError`s. Faults of ptc are thrown unchanged. */
export async function plainly<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new PtcError(code, oneLine((error as Error).message), { cause: error });
  }
}

function codeOf(error: unknown): PtcErrorCode | undefined {
  if (error instanceof ConfigurationError || error instanceof CatalogError) return "invalid";
  if (error instanceof SandboxError || error instanceof StateDirectoryError) return "no_sandbox";
  if (error instanceof PendingError || error instanceof ArchiveError) return "archive";
  return undefined;
}
