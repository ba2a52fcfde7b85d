/**
 * What `ptc serve` offers over MCP, independent of the transport. There are two lifetimes. A `McpService` lives as long as the
 * process. It holds the programs with their limits, the waiting programs, and the outputs of runs. A `McpConnection` lives as long as
 * one client is connected. It holds the principal, what the client's model has been told, and the client's direct tools. The data of
 * one request (what the client can show, its trace, its progress) is a `ClientRequest`.
 */

import type { SharedFacts } from "../../archive/shared-facts.ts";
import { messageOf } from "../../base/faults.ts";
import { isObject, jsonLine } from "../../base/json.ts";
import { oneLine } from "../../base/visible-text.ts";
import { Grants } from "../../broker/approvals/approvals.ts";
import { withExactNumbers } from "../../broker/exact-numbers.ts";
import { Conversation } from "../../broker/flow/conversation.ts";
import type { Viewer } from "../../broker/policy/authorizer.ts";
import { ConversationRuns } from "../../broker/policy/run-history.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { DirectCall, ProgramRequest, ProgramRunner, RunsTogether } from "../../execution/run-request.ts";
import { languageNamed, languageOfInterpreter } from "../../languages/languages.ts";
import type { UnresolvedProgram } from "../../languages/resolve-program.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { ClientView } from "../../tools/client-names.ts";
import type { DirectTool } from "../../tools/direct-tools.ts";
import type { ExposedProgram } from "../../tools/exposed-programs.ts";
import type { LiveCatalog } from "../../tools/live-catalog.ts";
import { ClientServerNotices } from "./notices.ts";
import { type OfferAnswer, Offers } from "./offers.ts";
import type { Presenting } from "./present-call.ts";
import {
  type ClientConnection,
  ClientNotices,
  type ClientRequest,
  type ProgramAnswer,
} from "./programs/client-request.ts";
import type { LiveRun, RunEnd } from "./programs/live-run.ts";
import { endOfProgram } from "./programs/program-reply.ts";
import { type ProgramLimits, Programs, type ProgramsOptions } from "./programs/programs.ts";
import { SharedConversation } from "./shared-conversations.ts";
import {
  answerInspectTool,
  answerListCallableTools,
  answerSearchTools,
  type ShownLanguages,
  type ToldReasons,
  whyOff,
} from "./tools/discovery.ts";
import { buildInstructions, chooseExamples } from "./tools/instructions.ts";
import {
  buildToolDefinitions,
  ExecuteProgramArguments,
  InspectToolArguments,
  ListCallableToolsArguments,
  parseArguments,
  ReadOutputArguments,
  SearchToolsArguments,
  ticketIn,
} from "./tools/own-tools.ts";
import { answerReadOutput, type OutputSource } from "./tools/read-output.ts";
import { errorReply, type ProgramReply, type ToolReply } from "./tools/reply.ts";

export interface ServiceOptions extends ProgramsOptions {
  version: string;
  runner: ProgramRunner;
  /** The printers of the languages that are on now. */
  printers: () => ShownLanguages;
  limits: () => ProgramLimits & ShownLimits;
  catalog: LiveCatalog;
  /** Provides the outputs of runs that were too long to show. */
  outputs: OutputSource;
  /** Receives the clients' requests. */
  telemetry?: Telemetry | undefined;
  /** Why no program can run in a session of this name now; `undefined` when one can. If absent, there are no sessions. */
  whyNoSession?: ((name: string) => string | undefined) | undefined;
  /** Why a schema does not allow a value, in one line. If absent, no value counts as allowed. */
  checkValue?: ((schema: unknown, value: unknown) => Promise<string | undefined>) | undefined;
  /** Every label that data may carry, if labels follow a model's conversation. */
  labels?: (() => readonly string[]) | undefined;
  /**
   * Whether rules see the direct calls of a conversation together (`direct.runs`), and whether any decision goes by what a run has
   * called and read. If absent, each direct call is a run of its own.
   */
  direct?: (() => { readonly isOneRun: boolean; readonly isDecidedByRun: boolean }) | undefined;
  /** What processes share of conversations whose requests come to any of them. If absent, a connection is a conversation. */
  facts?: SharedFacts | undefined;
  /** What clients are given of servers beside tools, by module. If absent, or without an answer, nothing. */
  views?: (() => ReadonlyMap<string, ClientView> | undefined) | undefined;
  /** A line that every reply must contain now; `undefined` when there is none. */
  notice?: () => string | undefined;
  /** Called when a client's first requests are answered; may be called more than once. */
  onReady?: () => void;
}

interface ShownLimits {
  /** How many bytes of a call's text are shown. */
  readonly maxOutputBytes: number;
  /** How many bytes of a program's output are shown. */
  readonly maxReplyBytes: number;
}

/** The state that lives as long as the process. */
export class McpService {
  readonly options: ServiceOptions;
  readonly programs: Programs;
  readonly #connections = new Set<McpConnection>();

  constructor(options: ServiceOptions) {
    this.options = options;
    this.programs = new Programs(options);
    options.catalog.onServersChanged(() => {
      for (const connection of this.#connections) connection.onToolsChanged();
    });
    options.catalog.onNotice?.((module, principal, notice) => {
      for (const { context, serverNotices } of this.#connections)
        if (principal === undefined || principal === context.principal) serverNotices.take(module, notice);
    });
  }

  /** Adds the user's words to the conversations of all connections. Over standard streams there is one. */
  say(text: string): void {
    for (const { conversation } of this.#connections) conversation.say(text);
  }

  /** Whether another connection of a principal has subscribed to a resource. */
  isSubscribed(uri: string, but: McpConnection): boolean {
    return [...this.#connections].some(
      (each) =>
        each !== but &&
        each.context.principal === but.context.principal &&
        each.serverNotices.subscribed.has(uri),
    );
  }

  /** Opens a client's connection. Its programs run on behalf of `context`. */
  connect(context: RunContext & Viewer, connecting: Connecting = {}): McpConnection {
    const connection = new McpConnection(this, context, connecting, () =>
      this.#connections.delete(connection),
    );
    this.#connections.add(connection);
    return connection;
  }
}

/** How a client is connected. */
interface Connecting {
  /** Whether its requests may be of several conversations, because they name none. */
  readonly isOfMany?: boolean | undefined;
}

const NO_DRY_SESSION = "a program of a session cannot be rehearsed: leave out session or dry_run";
const NO_DRY_TICKET = "a ticket continues a program that has begun: leave out dry_run";

/** The tools that show nothing but definitions. */
const SHOWS_NO_DATA: ReadonlySet<string> = new Set(["search_tools", "inspect_tool", "list_callable_tools"]);

/** The most resources that one client subscribes to. */
const MAX_SUBSCRIPTIONS = 1_000;

/** The part of a program request that a client's request gives. */
type GivenProgram = Pick<ProgramRequest, "program" | "timeoutMs" | "typecheck" | "session" | "resumed">;

/** The state that lives as long as one client is connected. */
export class McpConnection implements ClientConnection {
  readonly notices = new ClientNotices();
  readonly conversation = new Conversation();
  readonly #together: RunsTogether;
  /** Called when the tools of `listTools` have changed. */
  onToolsChanged: () => void = () => {};

  #context: RunContext & Viewer;
  readonly #service: McpService;
  readonly #onClose: () => void;
  readonly #closing = new AbortController();
  /** The reasons that the client has read why servers are not searched. */
  readonly #told: ToldReasons = new Map();
  #direct: Promise<ReadonlyMap<string, DirectTool>> | undefined;
  readonly #elsewhere: SharedConversation | undefined;
  /** What servers offer the client beside tools. */
  readonly offers: Offers;
  /** What servers say to the client unasked. */
  readonly serverNotices: ClientServerNotices;

  constructor(
    service: McpService,
    context: RunContext & Viewer,
    { isOfMany = false }: Connecting,
    onClose: () => void,
  ) {
    const runs = new ConversationRuns();
    this.#together = isOfMany ? { runs } : { runs, grants: new Grants() };
    const { facts } = service.options;
    this.#service = service;
    this.#context = context;
    this.#onClose = onClose;
    this.serverNotices = new ClientServerNotices(
      async (module) =>
        service.options.views?.()?.has(module) === true &&
        (await this.known()).servers.some((server) => server.module === module),
      () => (service.options.labels?.() ?? []).length === 0,
    );
    this.offers = new Offers({
      known: () => this.known(),
      views: () => service.options.views?.() ?? new Map(),
      call: (tool, args, request, asks) =>
        this.#anywhere(tool, () => this.#callMethod(tool, args, request, asks)),
    });
    this.#elsewhere = facts && new SharedConversation(facts, context, this.conversation, runs);
  }

  get context(): RunContext & Viewer {
    return this.#context;
  }

  /** Takes what is known of its principal by now, such as groups that somebody left. Its conversation stays the same. */
  renew(context: RunContext & Viewer): void {
    this.#context = { ...context, ...(this.#context.session && { session: this.#context.session }) };
  }

  get together(): RunsTogether | undefined {
    return this.#service.options.direct?.().isOneRun === true ? this.#together : undefined;
  }

  /** Whether servers offer the client more than tools. */
  get isWhole(): boolean {
    return this.#service.options.runner.call !== undefined && this.#service.options.views?.() !== undefined;
  }

  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** The tools that the client sees now. */
  known(): Promise<ToolCatalog> {
    return this.#service.options.catalog.current(this.context);
  }

  /** Cancels the connection's programs, including any started later. Resolves when all have ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#onClose();
    await this.#service.programs.closeConnection(this);
  }

  /** The text that a client shows its model once. */
  async instructions(): Promise<string> {
    const known = await this.known();
    const hasDirect = (await this.#directTools()).size > 0;
    const { printers } = this.#service.options;
    return buildInstructions(known.configured, printers(), chooseExamples(known), hasDirect);
  }

  /** The definitions of ptc's own tools, which are the same for everybody. */
  async listOwnTools() {
    const { printers } = this.#service.options;
    const { configured } = await this.known();
    return buildToolDefinitions(configured, printers(), this.#hasSessions());
  }

  /** The definitions of `tools/list`: ptc's own tools, the direct tools of servers, and saved programs. */
  async listTools() {
    const own = await this.listOwnTools();
    const direct = [...(await this.#directTools()).values()].map(({ definition }) => definition);
    return [...own, ...direct, ...(await this.#exposed()).map(defineExposed)];
  }

  #hasSessions(): boolean {
    return (
      this.#service.options.whyNoSession?.("any") === undefined &&
      this.#service.options.whyNoSession !== undefined
    );
  }

  /** The names of the arguments that one of ptc's own tools has now. */
  #argumentsOf(tool: string): string[] {
    const own = buildToolDefinitions([], this.#service.options.printers(), this.#hasSessions());
    return Object.keys(own.find(({ name }) => name === tool)?.inputSchema.properties ?? {});
  }

  /** Answers `tools/call`; `undefined` if the client has no tool of this name. */
  async callTool(name: string, args: unknown, request: ClientRequest): Promise<ProgramAnswer | undefined> {
    const answer = await this.#anywhere(name, () => this.#answer(name, args, request));
    const notice = this.#service.options.notice?.();
    return answer?.kind === "reply" && notice !== undefined
      ? { ...answer, reply: withNotice(answer.reply, notice) }
      : answer;
  }

  /** Adds the state of the conversation in other processes to an answer, and informs these before the answer is sent. */
  async #anywhere<Answer extends ProgramAnswer | undefined>(
    name: string,
    work: () => Promise<Answer>,
  ): Promise<Answer | Extract<ProgramAnswer, { kind: "reply" }>> {
    const { labels, direct } = this.#service.options;
    const { isOneRun = false, isDecidedByRun = false } = direct?.() ?? {};
    const matters = (labels?.() ?? []).length > 0 || (isOneRun && isDecidedByRun);
    const elsewhere = matters && !SHOWS_NO_DATA.has(name) ? this.#elsewhere : undefined;
    if (elsewhere === undefined) return work();
    try {
      await elsewhere.take();
    } catch (error) {
      const why = `it is not known what this conversation has read: ${messageOf(error)}; nothing was called, try again`;
      return { kind: "reply", reply: errorReply(why) };
    }
    const answer = await work();
    try {
      await elsewhere.handOn();
      return answer;
    } catch (error) {
      const why = `the answer is withheld, because what it shows could not be noted for later calls: ${messageOf(error)}`;
      const advice = "what was called stays called: do not call it again, but see the archived run";
      return { kind: "reply", reply: errorReply(`${why}; ${advice}`) };
    }
  }

  async #answer(name: string, args: unknown, request: ClientRequest): Promise<ProgramAnswer | undefined> {
    const { printers, outputs } = this.#service.options;
    switch (name) {
      case "execute_program":
        return this.#startOrResume(request, () => this.#execute(args, request));
      case "search_tools":
        return answer(SearchToolsArguments, args, this.#argumentsOf(name), async (parsed) =>
          answerSearchTools(parsed, await this.known(), printers(), this.#told),
        );
      case "inspect_tool":
        return answer(InspectToolArguments, args, this.#argumentsOf(name), async (parsed) =>
          answerInspectTool(parsed, await this.known(), printers()),
        );
      case "list_callable_tools":
        return answer(ListCallableToolsArguments, args, this.#argumentsOf(name), async (parsed) =>
          answerListCallableTools(parsed, await this.known()),
        );
      case "read_output":
        return answer(ReadOutputArguments, args, this.#argumentsOf(name), async (parsed) => {
          const { maxReplyBytes } = this.#service.options.limits();
          const reply = await answerReadOutput(parsed, outputs, this.context, maxReplyBytes);
          return this.#showOutput(parsed.run, reply);
        });
    }
    const direct = (await this.#directTools()).get(name);
    if (direct !== undefined)
      return this.#startOrResume(
        request,
        () => this.#callDirectly(direct, args, request),
        async (reply) =>
          (await import("./present-call.ts")).presentResumed(reply, await this.#presenting(direct)),
      );
    const exposed = (await this.#exposed()).find((program) => program.name === name);
    if (exposed === undefined) return undefined;
    const { timeoutMs } = exposed;
    return this.#startOrResume(
      request,
      () => this.#run({ program: exposed.call(args), timeoutMs, typecheck: "off" }, request),
      (reply) => presentExposed(reply, exposed),
    );
  }

  /** Notes that the model was shown the output of a run. The connection's own runs were noted when they ended. */
  #showOutput(runId: string, reply: ToolReply): ToolReply {
    if (reply.isError === true || this.conversation.knows(runId)) return reply;
    const shown = this.conversation.show(
      (this.#service.options.labels?.() ?? []).map((label) => ({ label })),
    );
    const notes = this.notices.labelled({ shown });
    return {
      ...reply,
      content: [...reply.content, ...notes.map((text) => ({ type: "text" as const, text }))],
    };
  }

  /** Starts a program, or resumes the program whose question the request answers. */
  async #startOrResume(
    request: ClientRequest,
    start: () => Promise<ProgramAnswer>,
    shape: (reply: ProgramReply) => Promise<ProgramReply> = async (reply) => reply,
  ): Promise<ProgramAnswer> {
    const { answers } = request;
    const answer =
      answers === undefined ? await start() : await this.#resume(answers.ticket, answers.response, request);
    return answer.kind === "reply" ? { kind: "reply", reply: await shape(answer.reply) } : answer;
  }

  async #execute(args: unknown, request: ClientRequest): Promise<ProgramAnswer> {
    const { printers, whyNoSession = () => "there are no sessions here" } = this.#service.options;
    const parsed = parseArguments(ExecuteProgramArguments, args, this.#argumentsOf("execute_program"));
    if (!parsed.ok) return { kind: "reply", reply: errorReply(parsed.message) };
    const { code, data = {}, language: named, timeout_seconds, typecheck, session } = parsed.value;
    const isDry = parsed.value.dry_run === true;
    if (isDry && session !== undefined) return { kind: "reply", reply: errorReply(NO_DRY_SESSION) };
    const whyNot = whyOff(named, printers()) ?? (session === undefined ? undefined : whyNoSession(session));
    if (whyNot !== undefined) return { kind: "reply", reply: errorReply(whyNot) };
    const ticket = ticketIn(parsed.value);
    if (ticket !== undefined && isDry) return { kind: "reply", reply: errorReply(NO_DRY_TICKET) };
    if (ticket !== undefined) return this.#resume(ticket, undefined, request);
    const language = named === undefined ? languageOfInterpreter(code) : languageNamed(named);
    const program: UnresolvedProgram = { code, data, ...(language === undefined ? {} : { language }) };
    const timeoutMs = timeout_seconds === undefined ? undefined : Math.ceil(timeout_seconds * 1_000);
    if (isDry) return this.#plan({ program, timeoutMs, typecheck }, request);
    return this.#run({ program, timeoutMs, typecheck, session }, request);
  }

  /** Runs a program when its turn comes. Resolves with its reply or its first question. */
  async #run(given: GivenProgram, request: ClientRequest): Promise<ProgramAnswer> {
    const { programs } = this.#service;
    const live = await programs.admit(request, { patienceMs: given.timeoutMs });
    if ("kind" in live) {
      await given.resumed?.leave(true);
      return live;
    }
    live.start(this.#endOfProgram(live, given));
    return programs.follow(live, request);
  }

  /** Rehearses a program when its turn comes. */
  async #plan(given: GivenProgram, request: ClientRequest): Promise<ProgramAnswer> {
    const { programs } = this.#service;
    const live = await programs.admit(request, { patienceMs: given.timeoutMs });
    if ("kind" in live) return live;
    live.start(this.#endOfPlan(live, given));
    return programs.follow(live, request);
  }

  async #endOfPlan({ request, observer }: LiveRun, given: GivenProgram): Promise<RunEnd> {
    const { runner, limits } = this.#service.options;
    if (runner.plan === undefined) throw new Error("programs are not rehearsed here");
    const planned = await runner.plan(Object.freeze({ ...request, ...given, suspends: false }));
    observer.onPlanned?.(planned);
    const { endOfPlan } = await import("./programs/plan-reply.ts");
    return endOfPlan(planned, this, limits().maxReplyBytes);
  }

  async #endOfProgram(live: LiveRun, given: GivenProgram): Promise<RunEnd> {
    const { options } = this.#service;
    const { request } = live;
    const executed = await options.runner.run(Object.freeze({ ...request, ...given }));
    live.observer.onProgram?.(executed);
    return endOfProgram(executed, this, options);
  }

  /** Continues the program whose question has this ticket. */
  async #resume(ticket: string, response: unknown, request: ClientRequest): Promise<ProgramAnswer> {
    const answer = await this.#service.programs.resume(ticket, response, request);
    if (answer.kind !== "taken") return answer;
    const { resumed } = answer;
    return this.#run({ program: resumed.run.program, resumed }, request);
  }

  async #callDirectly(listed: DirectTool, args: unknown, request: ClientRequest): Promise<ProgramAnswer> {
    const { programs } = this.#service;
    const live = await programs.admit(request, { isCall: true });
    if ("kind" in live) return live;
    live.start(this.#endOfCall(live, listed, args ?? {}));
    return programs.follow(live, request);
  }

  async #endOfCall({ request }: LiveRun, listed: DirectTool, args: unknown): Promise<RunEnd> {
    const { runner } = this.#service.options;
    if (runner.call === undefined) throw new Error("there are no direct calls here");
    const context: RunContext = { ...request.context, source: "direct" };
    const call = { tool: listed.tool.namespacedName, arguments: args };
    // What a single call reports is its server's progress.
    const own = { context, call, withAnswer: true, onCallStarted: undefined };
    const executed = await runner.call(Object.freeze({ ...request, ...own }));
    this.notices.follow(executed);
    return {
      reply: async (_, { hints, notes }) => {
        const { presentCall } = await import("./present-call.ts");
        const reply = await presentCall(executed, await this.#presenting(listed));
        const labelled = this.notices.labelled(executed);
        const more = [...hints, ...labelled, ...notes].map((text) => ({ type: "text" as const, text }));
        return { ...reply, content: [...reply.content, ...more] };
      },
    };
  }

  /** Begins or ends the client's subscription to a resource, where it may be read. */
  async subscribe(uri: string, isWanted: boolean, request: ClientRequest): Promise<OfferAnswer> {
    const { subscribed } = this.serverNotices;
    const isShared = this.#service.isSubscribed(uri, this);
    const isLast = !isWanted && !isShared;
    if (isWanted && !subscribed.has(uri) && subscribed.size >= MAX_SUBSCRIPTIONS)
      return {
        kind: "failed",
        why: "refused",
        message: `there are ${MAX_SUBSCRIPTIONS} subscriptions, the most`,
      };
    const answer: OfferAnswer =
      isWanted || isLast
        ? await this.offers.subscribe(uri, isWanted, request)
        : { kind: "result", result: {} };
    if (answer.kind !== "result") return answer;
    if (isWanted) subscribed.add(uri);
    else subscribed.delete(uri);
    return answer;
  }

  /** Calls a method of a server for the client itself. @param asks whether a person may be asked. */
  #callMethod(tool: string, args: unknown, request: ClientRequest, asks: boolean): Promise<ProgramAnswer> {
    const { ask: _, progress: __, answers: ___, ...unasked } = request;
    const asking: ClientRequest = asks ? request : { ...unasked, progress: undefined, canAsk: false };
    return this.#startOrResume(asking, async () => {
      const { programs } = this.#service;
      const live = await programs.admit(asking, { isCall: true });
      if ("kind" in live) return live;
      live.start(this.#endOfMethod(live, { tool, arguments: args }, asks));
      return programs.follow(live, asking);
    });
  }

  async #endOfMethod({ request }: LiveRun, call: DirectCall, asks: boolean): Promise<RunEnd> {
    const { runner, answerAt } = this.#service.options;
    if (runner.call === undefined) throw new Error("there are no direct calls here");
    const context: RunContext = { ...request.context, source: "direct" };
    const own = { context, call, withAnswer: true, onCallStarted: undefined, suspends: asks };
    const executed = await runner.call(Object.freeze({ ...request, ...own }));
    this.notices.follow(executed);
    return {
      reply: async () => (await import("./present-call.ts")).presentMethod(executed, answerAt?.()),
    };
  }

  async #presenting(listed: DirectTool): Promise<Presenting> {
    const { limits, answerAt, checkValue = async () => "nothing checks it here" } = this.#service.options;
    const now = (await this.known()).get(listed.tool.namespacedName);
    return {
      listed,
      maxShownBytes: limits().maxOutputBytes,
      checkOutput: async (value) =>
        checkValue((await import("./present-call.ts")).promisedOutput(listed), value),
      isAsListed: now?.definitionDigest === listed.tool.definitionDigest,
      answerAt: answerAt?.(),
    };
  }

  /**
   * The direct tools of this client, by their listed names. They are chosen once, so that the definitions in a model's context stay
   * valid. The configuration in force at the time of a call decides about the call.
   */
  #directTools(): Promise<ReadonlyMap<string, DirectTool>> {
    this.#direct ??= this.#chooseDirectTools();
    return this.#direct;
  }

  async #chooseDirectTools(): Promise<ReadonlyMap<string, DirectTool>> {
    const { catalog, runner } = this.#service.options;
    const chosen = runner.call === undefined ? undefined : await catalog.direct?.(this.context);
    return new Map((chosen?.tools ?? []).map((tool) => [tool.definition.name, tool]));
  }

  async #exposed(): Promise<readonly ExposedProgram[]> {
    return (await this.#service.options.catalog.exposed?.(this.context)) ?? [];
  }
}

async function answer<T>(
  schema: Parameters<typeof parseArguments<T>>[0],
  args: unknown,
  served: readonly string[],
  act: (parsed: T) => ToolReply | Promise<ToolReply>,
): Promise<ProgramAnswer> {
  const parsed = parseArguments(schema, args, served);
  return { kind: "reply", reply: parsed.ok ? await act(parsed.value) : errorReply(parsed.message) };
}

/** A reply with one more text. The first text stays unchanged, because clients and programs may parse it. */
function withNotice(reply: ProgramReply, notice: string): ProgramReply {
  return { ...reply, content: [...reply.content, { type: "text", text: `ptc: ${oneLine(notice)}` }] };
}

/** The definition of a saved program as a tool, in the form of `tools/list`. */
function defineExposed({ name, description, inputSchema, outputSchema }: ExposedProgram) {
  return {
    name,
    description,
    inputSchema: { ...inputSchema, type: "object" as const },
    ...(isObjectSchema(outputSchema) ? { outputSchema } : {}),
  };
}

/** The reply to a call of a saved program: only its value, as its schema promises, or a failure like any program's. */
async function presentExposed(reply: ProgramReply, program: ExposedProgram): Promise<ProgramReply> {
  const { _meta: meta, content } = reply;
  const envelope = meta?.["ptc/envelope"] as Envelope | undefined;
  if (reply.isError === true) return reply;
  // A tool with an output schema must return a value or fail. A run that waits for an approval has no value yet.
  if (envelope?.result.ok !== true)
    return isObjectSchema(program.outputSchema) ? { ...reply, isError: true } : reply;
  const { data } = envelope.result;
  const problem = await program.checkValue(data);
  if (problem !== undefined)
    return {
      ...errorReply(`${program.name} gave a value that its output schema does not allow: ${problem}`),
      _meta: { "ptc/envelope": envelope },
    };
  const text = typeof data === "string" ? data : jsonLine(data);
  return {
    content: [{ type: "text", text }, ...content.slice(1)],
    ...(isObjectSchema(program.outputSchema) && isObject(data)
      ? { structuredContent: withExactNumbers(program.outputSchema, data) as typeof data }
      : {}),
    _meta: { "ptc/envelope": envelope },
  };
}

function isObjectSchema(
  schema: Readonly<Record<string, unknown>> | undefined,
): schema is { type: "object"; [key: string]: unknown } {
  return schema?.type === "object";
}
