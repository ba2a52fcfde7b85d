import { randomUUID } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  inputRequired,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  ProtocolError,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { oneLine } from "../../base/text/one-line.ts";
import type { Viewer } from "../../broker/policy/authorizer.ts";
import type { ProgramRunner } from "../../execution/program-runner.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { parseTraceContext, type TraceContext } from "../../protocol/trace-context.ts";
import type { ServedRequest, Telemetry } from "../../telemetry/telemetry.ts";
import type { DirectDefinition, DirectTool } from "../../tools/direct/direct-tools.ts";
import type { LiveCatalog } from "../../tools/live-catalog.ts";
import type { Presenting } from "./direct/present-call.ts";
import {
  contextOf,
  type ProgramAnswer,
  type ProgramRequest,
  Programs,
  type ProgramsOptions,
} from "./programs/programs.ts";
import type { ProgressSink } from "./programs/run-progress.ts";
import { buildApprovalForm } from "./questions/approval-question.ts";
import { canShowForm, canShowUrl, claimOf } from "./questions/asked-client.ts";
import { buildElicitationForm, buildVisit } from "./questions/elicitation-question.ts";
import type { Question } from "./questions/questions.ts";
import { StdioServerTransport } from "./stdio-server-transport.ts";
import { chooseExamples } from "./tools/choose-example.ts";
import { whyOff } from "./tools/chosen-language.ts";
import { defineExposed, presentExposed } from "./tools/exposed-program.ts";
import { answerInspectTool } from "./tools/inspect-tool.ts";
import { buildInstructions } from "./tools/instructions.ts";
import { answerListCallableTools } from "./tools/list-callable-tools.ts";
import { answerReadOutput, type OutputSource } from "./tools/read-output.ts";
import { errorReply, type ProgramReply, type ToolReply } from "./tools/reply.ts";
import { answerSearchTools, type ToldReasons } from "./tools/search-answer.ts";
import {
  ExecuteProgramArguments,
  InspectToolArguments,
  ListCallableToolsArguments,
  parseArguments,
  ReadOutputArguments,
  SearchToolsArguments,
} from "./tools/tool-arguments.ts";
import { buildToolDefinitions } from "./tools/tool-definitions.ts";

const INVALID_PARAMS = -32602;
const MAX_SHOWN_CHARS = 160;
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
/** How long a person may take to answer a question while the client's request waits for it. */
const ANSWER_TIMEOUT_MS = 10 * 60_000;
const QUESTION = "approval";

/**
 * Serves MCP over stdio, in either era of the protocol. Resolves when the client has disconnected and its programs have
 * ended.
 */
export async function serveMcp(options: ServeOptions): Promise<void> {
  const { catalog, context, stdin, stdout, onWarning } = options;
  const programs = new Programs({
    ...options,
    known: () => catalog.current(context),
  });
  const known = await catalog.current(context);
  const direct = new DirectCalls({
    ...{ catalog, context, programs, runner: options.runner },
    maxShownBytes: () => options.limits().maxOutputBytes,
    checkValue: options.checkValue ?? (async () => "nothing checks it here"),
  });
  const hasDirect = (await direct.definitions()).length > 0;
  const instructions = buildInstructions(
    known.configured,
    options.printers(),
    chooseExamples(known),
    hasDirect,
  );
  const servers = new Set<Server>();
  const told: ToldReasons = new Map();
  catalog.onServersChanged(() => {
    for (const server of servers) void server.sendToolListChanged().catch(() => {});
  });
  const warn = boundWarnings(onWarning);
  const transport = new StdioServerTransport({
    stdin,
    stdout,
    maxMessageBytes: MAX_MESSAGE_BYTES,
    isMessage: (value) => isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value),
    onInputEnd: () => void programs.close(),
  });
  const handle = serveStdio(
    ({ era }) => {
      const server = buildServer({ ...options, instructions, programs, direct, told }, era);
      servers.add(server);
      return server;
    },
    { transport, onerror: (error) => warn(error.message) },
  );
  await transport.closed;
  await handle.close();
  await programs.close();
}

/** Serves MCP with nothing in it, for a client that has ptc by another way. Resolves when the client has disconnected. */
export async function serveNothing({
  version,
  stdin,
  stdout,
  onWarning,
}: Pick<ServeOptions, "version" | "stdin" | "stdout" | "onWarning">): Promise<void> {
  const warn = boundWarnings(onWarning);
  const transport = new StdioServerTransport({
    stdin,
    stdout,
    maxMessageBytes: MAX_MESSAGE_BYTES,
    isMessage: (value) => isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value),
    onInputEnd: () => {},
  });
  const handle = serveStdio(() => new Server({ name: "ptc", version, title: "ptc" }, { capabilities: {} }), {
    transport,
    onerror: (error) => warn(error.message),
  });
  await transport.closed;
  await handle.close();
}

/** How the person at a client is asked. */
interface Asking extends Pick<ProgramRequest, "canAsk" | "ask" | "client"> {
  /** Whether the client shows addresses and has the person open them. */
  canVisit: boolean;
}

type Era = "legacy" | "modern";

/** What the servers of a connection share. */
interface Connection extends ServeOptions {
  instructions: string;
  programs: Programs;
  direct: DirectCalls;
  told: ToldReasons;
}

function buildServer(
  {
    version,
    catalog,
    context: viewer,
    printers,
    outputs,
    onReady = () => {},
    notice = () => undefined,
    instructions,
    programs,
    direct,
    told,
    telemetry,
    whyNoSession = () => "there are no sessions here",
  }: Connection,
  era: Era,
): Server {
  const server = new Server(
    { name: "ptc", version, title: "ptc" },
    {
      capabilities: { tools: { listChanged: true } },
      instructions,
    },
  );
  server.setRequestHandler("tools/list", async () => {
    const { configured } = await catalog.current(viewer);
    setImmediate(onReady);
    const exposed = (await catalog.exposed?.(viewer)) ?? [];
    const own = buildToolDefinitions(configured, printers(), whyNoSession("any") === undefined);
    return { tools: [...own, ...(await direct.definitions()), ...exposed.map(defineExposed)] };
  });
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    setImmediate(onReady);
    const work = () => callTool(params, context);
    const facts = () => requestFacts(params.name, context, viewer.session);
    const reply = await (telemetry === undefined ? work() : telemetry.serve(facts(), work, isErrorReply));
    const said = notice();
    return said === undefined || !isToolReply(reply) ? reply : withNotice(reply, said);
  });
  const whyNot = ({ language, session }: ExecuteProgramArguments) =>
    whyOff(language, printers()) ?? (session === undefined ? undefined : whyNoSession(session));
  const callTool = async (params: { name: string; arguments?: unknown }, context: ServerContext) => {
    const { name, arguments: args } = params;
    switch (name) {
      case "execute_program":
        return answerProgram(context, programs, askingThrough(server, context, era), (request) =>
          startProgram(args, programs, whyNot, request),
        );
      case "search_tools":
        return answer(SearchToolsArguments, args, async (parsed) =>
          answerSearchTools(parsed, await catalog.current(viewer), printers(), told),
        );
      case "inspect_tool":
        return answer(InspectToolArguments, args, async (parsed) =>
          answerInspectTool(parsed, await catalog.current(viewer), printers()),
        );
      case "list_callable_tools":
        return answer(ListCallableToolsArguments, args, async (parsed) =>
          answerListCallableTools(parsed, await catalog.current(viewer)),
        );
      case "read_output":
        return answer(ReadOutputArguments, args, (parsed) =>
          answerReadOutput(parsed, outputs, viewer.principal),
        );
      default: {
        const listed = await direct.find(name);
        if (listed !== undefined)
          return answerProgram(
            context,
            programs,
            askingThrough(server, context, era),
            (request) => direct.call(listed, args, request),
            (reply) => direct.shape(reply, listed),
          );
        const exposed = (await catalog.exposed?.(viewer))?.find((program) => program.name === name);
        if (exposed === undefined)
          throw new ProtocolError(INVALID_PARAMS, `Unknown tool: ${oneLine(name, MAX_SHOWN_CHARS)}`);
        return answerProgram(
          context,
          programs,
          askingThrough(server, context, era),
          (request) =>
            programs.run(exposed.call(args), { timeoutMs: exposed.timeoutMs, typecheck: "off" }, request),
          (reply) => presentExposed(reply, exposed),
        );
      }
    }
  };
  return server;
}

function isToolReply(reply: object): reply is ProgramReply {
  return "content" in reply;
}

/** A reply with one more text, which leaves the first as it is: clients and programs may parse that. */
function withNotice(reply: ProgramReply, notice: string): ProgramReply {
  return { ...reply, content: [...reply.content, { type: "text", text: `ptc: ${oneLine(notice)}` }] };
}

async function answer<T>(
  schema: Parameters<typeof parseArguments<T>>[0],
  args: unknown,
  act: (parsed: T) => Promise<ToolReply>,
): Promise<ToolReply> {
  const parsed = parseArguments(schema, args);
  return parsed.ok ? act(parsed.value) : errorReply(parsed.message);
}

/** Answers a call that runs a program, or that brings the answer to the question of one. */
async function answerProgram(
  context: ServerContext,
  programs: Programs,
  asking: Asking,
  start: (request: ProgramRequest) => Promise<ProgramAnswer>,
  shape: (reply: ProgramReply) => Promise<ProgramReply> = async (reply) => reply,
): Promise<ReturnType<typeof inputRequired> | ProgramReply> {
  const { mcpReq } = context;
  const { signal } = mcpReq;
  const request = { signal, progress: progressSink(context), trace: traceOf(context), ...asking };
  const ticket = mcpReq.requestState<string>();
  const answered =
    typeof ticket === "string"
      ? await programs.resume(ticket, mcpReq.inputResponses?.[QUESTION], request)
      : await start(request);
  return answered.kind === "reply" ? shape(answered.reply) : present(answered, asking.canVisit);
}

function present(
  { question, ticket }: Extract<ProgramAnswer, { kind: "question" }>,
  canVisit: boolean,
): ReturnType<typeof inputRequired> {
  const shown = buildQuestion(question, canVisit);
  const { mode: _, ...visit } = shown;
  const asked =
    shown.mode === "form" ? inputRequired.elicit(shown) : inputRequired.elicitUrl(visit as typeof shown);
  return inputRequired({ inputRequests: { [QUESTION]: asked }, requestState: ticket });
}

/** The sink for a run's progress; `undefined` unless the client asked for progress. */
function progressSink({ mcpReq }: ServerContext): ProgressSink | undefined {
  const token = mcpReq._meta?.progressToken;
  if (token === undefined) return undefined;
  return {
    report: (progress, message, total) =>
      void mcpReq
        .notify({
          method: "notifications/progress",
          params: {
            progressToken: token,
            progress,
            ...(total === undefined ? {} : { total }),
            ...(message === undefined ? {} : { message }),
          },
        })
        .catch(() => {}),
  };
}

/** A client of the newer era gets a question as the result of its request. An older one is asked while its request waits. */
function askingThrough(server: Server, { mcpReq }: ServerContext, era: Era): Asking {
  if (era === "modern") {
    const envelope: Record<string, unknown> | undefined = mcpReq.envelope;
    const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY];
    const client = claimOf(envelope?.[CLIENT_INFO_META_KEY]);
    return { canAsk: canShowForm(capabilities), canVisit: canShowUrl(capabilities), client };
  }
  const capabilities = server.getClientCapabilities();
  const canVisit = canShowUrl(capabilities);
  return {
    canAsk: canShowForm(capabilities),
    canVisit,
    client: claimOf(server.getClientVersion()),
    ask: async (question, signal) => {
      const shown = buildQuestion(question, canVisit);
      const params = shown.mode === "url" ? { ...shown, elicitationId: randomUUID() } : shown;
      const options = { signal, timeout: ANSWER_TIMEOUT_MS };
      return mcpReq.send({ method: "elicitation/create", params }, options);
    },
  };
}

/** What a client is to show. One that shows no addresses of its own accord shows them in the text of a form. */
function buildQuestion(question: Question, canVisit: boolean) {
  if (question.kind === "approval") return buildApprovalForm(question.request);
  const { elicitation } = question;
  return elicitation.mode === "url" && canVisit ? buildVisit(elicitation) : buildElicitationForm(elicitation);
}

const MAX_WARNING_CHARS = 300;
const TOLD_EACH = 20;
const THEN_ONE_IN = 1_000;

/** Limits warnings that a client can cause at will: each becomes one short line, and most are dropped when there are many. */
function boundWarnings(onWarning: (message: string) => void): (message: string) => void {
  let count = 0;
  return (message) => {
    count++;
    if (count <= TOLD_EACH) onWarning(oneLine(message, MAX_WARNING_CHARS));
    if (count === TOLD_EACH) onWarning(`from now on only one in ${THEN_ONE_IN} warnings is told`);
    else if (count % THEN_ONE_IN === 0)
      onWarning(`${oneLine(message, MAX_WARNING_CHARS)} (warning ${count})`);
  };
}

/**
 * Starts the program of a call of `execute_program`.
 *
 * @param whyNot why one with these arguments cannot be run just now.
 */
async function startProgram(
  args: unknown,
  programs: Programs,
  whyNot: (parsed: ExecuteProgramArguments) => string | undefined,
  request: ProgramRequest,
): Promise<ProgramAnswer> {
  const parsed = parseArguments(ExecuteProgramArguments, args);
  if (!parsed.ok) return { kind: "reply", reply: errorReply(parsed.message) };
  const refused = whyNot(parsed.value);
  if (refused !== undefined) return { kind: "reply", reply: errorReply(refused) };
  return programs.start(parsed.value, request);
}

interface ServeOptions extends Omit<ProgramsOptions, "known"> {
  /** Is told of the client's requests. */
  telemetry?: Telemetry | undefined;
  version: string;
  catalog: LiveCatalog;
  /** Has the outputs of runs that were too long to show. */
  outputs: OutputSource;
  stdin: Readable;
  stdout: Writable;
  /** Why no program can run in a session of this name just now; `undefined` when one can. Without it, there are none. */
  whyNoSession?: ((name: string) => string | undefined) | undefined;
  /** Why a value is not what a schema allows, in one line; without it, nothing is known to be allowed. */
  checkValue?: ((schema: unknown, value: unknown) => Promise<string | undefined>) | undefined;
  /** A line that every reply is to tell just now; `undefined` when there is none. */
  notice?: () => string | undefined;
  /** Is called when the client's first requests are answered; may be called more than once. */
  onReady?: () => void;
  /** Receives what goes wrong on the connection. The server goes on. */
  onWarning: (message: string) => void;
}

/** A request of the client's, as the MCP server hands it to its handlers. */
interface ReceivedRequest {
  mcpReq: { id: string | number; _meta?: Readonly<Record<string, unknown>> | undefined };
  http?: { req?: { headers: { get(name: string): string | null } } | undefined } | undefined;
}

const TOOL_NAMES: ReadonlySet<string> = new Set([
  "execute_program",
  "search_tools",
  "inspect_tool",
  "list_callable_tools",
  "read_output",
]);

/** What is told of a call of one of ptc's tools. A name that is not ptc's own could be anything, and is not told. */
function requestFacts(name: string, request: ReceivedRequest, session: string | undefined): ServedRequest {
  const tool = TOOL_NAMES.has(name) ? name : name.startsWith("mcp__") ? "direct" : "unknown";
  return { tool, requestId: request.mcpReq.id, session, parent: traceOf(request) };
}

/** The trace that a request belongs to: its own `_meta` says it, whatever carries it, else the HTTP request that it came with. */
function traceOf({ mcpReq, http }: ReceivedRequest): TraceContext | undefined {
  const { traceparent, tracestate } = mcpReq._meta ?? {};
  const own = parseTraceContext({ traceparent, tracestate });
  if (own !== undefined || http?.req === undefined) return own;
  const { headers } = http.req;
  return parseTraceContext({
    traceparent: headers.get("traceparent"),
    tracestate: headers.get("tracestate"),
  });
}

/** Whether a reply tells of a failure. */
function isErrorReply(reply: object): boolean {
  return "isError" in reply && reply.isError === true;
}

interface DirectCallsOptions {
  catalog: LiveCatalog;
  runner: ProgramRunner;
  programs: Programs;
  context: RunContext & Viewer;
  /** How many bytes of text are shown. */
  maxShownBytes: () => number;
  /** Why a value is not what a schema allows, in one line. */
  checkValue: (schema: unknown, value: unknown) => Promise<string | undefined>;
}

/**
 * The tools of servers that one client has directly. They are chosen once: what a model has in its context stays, so that it need
 * not be read anew. A call is decided by what is in force when it is made.
 */
class DirectCalls {
  readonly #options: DirectCallsOptions;
  #chosen: Promise<ReadonlyMap<string, DirectTool>> | undefined;

  constructor(options: DirectCallsOptions) {
    this.#options = options;
  }

  /** The definitions of the tools, as `tools/list` has them. */
  async definitions(): Promise<DirectDefinition[]> {
    return [...(await this.#tools()).values()].map(({ definition }) => definition);
  }

  /** The tool that was listed under this name. */
  async find(name: string): Promise<DirectTool | undefined> {
    return (await this.#tools()).get(name);
  }

  /** Makes a call, or goes on with what the client was asked about it. */
  async call(listed: DirectTool, args: unknown, request: ProgramRequest): Promise<ProgramAnswer> {
    const { programs, runner, context } = this.#options;
    const call = { tool: listed.tool.namespacedName, arguments: args ?? {} };
    const from: RunContext = { ...contextOf(context, request), source: "direct" };
    return programs.call(async (options) => {
      if (runner.call === undefined) throw new Error("there are no direct calls here");
      const executed = await runner.call(call, { ...options, context: from, withAnswer: true });
      programs.notices.follow(executed);
      return {
        reply: async (_, { hints, notes }) => {
          const { presentCall } = await import("./direct/present-call.ts");
          const reply = await presentCall(executed, await this.#presenting(listed));
          const more = [...hints, ...notes].map((text) => ({ type: "text" as const, text }));
          return { ...reply, content: [...reply.content, ...more] };
        },
      };
    }, request);
  }

  /** The reply to a call that may have gone on as a program. */
  async shape(reply: ProgramReply, listed: DirectTool): Promise<ProgramReply> {
    const { presentResumed } = await import("./direct/present-call.ts");
    return presentResumed(reply, await this.#presenting(listed));
  }

  async #presenting(listed: DirectTool): Promise<Presenting> {
    const { catalog, context, maxShownBytes, checkValue } = this.#options;
    const now = (await catalog.current(context)).get(listed.tool.namespacedName);
    return {
      listed,
      maxShownBytes: maxShownBytes(),
      checkOutput: (value) => checkValue(listed.definition.outputSchema, value),
      isAsListed: now?.definitionDigest === listed.tool.definitionDigest,
    };
  }

  #tools(): Promise<ReadonlyMap<string, DirectTool>> {
    this.#chosen ??= this.#choose();
    return this.#chosen;
  }

  async #choose(): Promise<ReadonlyMap<string, DirectTool>> {
    const { catalog, runner, context } = this.#options;
    const chosen = runner.call === undefined ? undefined : await catalog.direct?.(context);
    return new Map((chosen?.tools ?? []).map((tool) => [tool.definition.name, tool]));
  }
}
