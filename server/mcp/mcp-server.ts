/**
 * Serves `McpService` over MCP with the SDK, in either era of the protocol. Only this file knows the SDK. It turns a request into a
 * `ClientRequest`, and an answer into a result. Everything else is in `service.ts`.
 */

import { randomUUID } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  InMemoryTransport,
  inputRequired,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  ProtocolError,
  Server,
  type ServerContext,
  type Transport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod/mini";
import { withRawNumbers } from "../../base/json.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { Viewer } from "../../broker/policy/authorizer.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { SKILLS_EXTENSION } from "../../protocol/extensions.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { parseTraceContext, type TraceContext } from "../../protocol/trace-context.ts";
import type { ServedRequest } from "../../telemetry/telemetry.ts";
import {
  buildElicitation,
  canSample,
  canShowForm,
  canShowUrl,
  claimOf,
  type Question,
  readAnswer,
} from "./elicitation.ts";
import type { OfferAnswer } from "./offers.ts";
import type { ClientRequest, ProgramAnswer, ProgressSink } from "./programs/client-request.ts";
import type { McpConnection, McpService } from "./service.ts";
import { StdioServerTransport } from "./stdio-server-transport.ts";
import { isOwnTool } from "./tools/own-tools.ts";
import type { ProgramReply } from "./tools/reply.ts";

const INVALID_PARAMS = -32602;
const MAX_SHOWN_CHARS = 160;
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
/** How long a person may take to answer a question while the client's request waits for it. */
const ANSWER_TIMEOUT_MS = 10 * 60_000;
const QUESTION = "approval";

interface Stdio {
  stdin: Readable;
  stdout: Writable;
  /** Receives problems with the connection. The server continues. */
  onWarning: (message: string) => void;
}

/** The revisions of MCP: with an `initialize` and what follows it (until 2025-11-25), and without (since 2026-07-28). */
export type Era = "legacy" | "modern";

/** How a connection is carried, where it is not by the streams of the process that started ptc. */
export interface Carried {
  /** Seals the state that a client returns with the answer to a question. By default the state is the question's plain ticket. */
  readonly sealer?: StateSealer | undefined;
  /** What is known of who sends a request. By default they may answer whether a call is made. */
  readonly asker?: ((context: ServerContext) => Asker) | undefined;
  /** How a person is asked. By default the client asks. */
  readonly asks?: Required<Pick<ClientRequest, "ask">> | undefined;
  /** Replaces the BigInts of an answer. By default by what `JSON.stringify` writes with all digits. */
  readonly numbers?: (<Value>(value: Value) => Value) | undefined;
  /** Whether the server is for one request alone. */
  readonly isOfRequest?: boolean | undefined;
  /** The reply that the client reads instead of the service's. */
  readonly present?: ((reply: ProgramReply) => ProgramReply) | undefined;
}

/** Who sends one request of a connection. */
export type Asker = Pick<ClientRequest, "mayApprove" | "clientId">;

/** Seals texts for somebody and something: `opened` gives a text back for the same `purpose` alone. */
export interface StateSealer {
  seal(text: string, purpose: string): Promise<string>;
  /** `undefined` for what was not sealed for this purpose, or too long ago. */
  opened(sealed: string, purpose: string): Promise<string | undefined>;
}

/**
 * Serves one client over stdio, on behalf of `context`. Resolves when the client has disconnected and its programs have
 * ended.
 */
export async function serveMcp(
  service: McpService,
  { context, ...stdio }: Stdio & { context: RunContext & Viewer },
): Promise<void> {
  const connection = service.connect(context);
  const instructions = await connection.instructions();
  await overStdio(
    stdio,
    (era) => {
      const server = buildServer(service, connection, instructions, era);
      connection.onToolsChanged = () => void server.sendToolListChanged().catch(() => {});
      return server;
    },
    () => void connection.close(),
  );
  await connection.close();
}

/** Serves MCP without any tools, for a client that already has ptc otherwise. Resolves when the client has disconnected. */
export async function serveNothing({ version, ...stdio }: Stdio & { version: string }): Promise<void> {
  await overStdio(stdio, () => new Server({ name: "ptc", version, title: "ptc" }, { capabilities: {} }));
}

/** The two ends of a connection in memory. */
export function linkInMemory(): [Transport, Transport] {
  return InMemoryTransport.createLinkedPair();
}

/**
 * Serves one client over a transport, which it starts. Resolves when the connection is open.
 *
 * @param options `asks` puts questions to a person instead of the client.
 * @returns `close` ends the connection, and cancels its programs, as the end of either of its sides does.
 */
export async function serveOver(
  service: McpService,
  transport: Transport,
  options: Pick<Carried, "asks" | "numbers" | "present"> & {
    connection: McpConnection;
    onWarning: (message: string) => void;
  },
): Promise<{ close(): Promise<void> }> {
  const { connection, asks, numbers, present, onWarning } = options;
  const instructions = await connection.instructions();
  const warn = boundWarnings(onWarning);
  const handle = serveStdio(
    ({ era }) => buildServer(service, connection, instructions, era, { asks, numbers, present }),
    {
      transport,
      onerror: (error) => warn(error.message),
    },
  );
  const closed = transport.onclose;
  transport.onclose = () => {
    closed?.();
    void connection.close();
  };
  connection.closed.addEventListener("abort", () => void handle.close(), { once: true });
  return { close: () => connection.close() };
}

async function overStdio(
  { stdin, stdout, onWarning }: Stdio,
  build: (era: Era) => Server,
  onInputEnd = () => {},
): Promise<void> {
  const warn = boundWarnings(onWarning);
  const transport = new StdioServerTransport({
    stdin,
    stdout,
    maxMessageBytes: MAX_MESSAGE_BYTES,
    isMessage: (value) => isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value),
    onInputEnd,
  });
  const handle = serveStdio(({ era }) => build(era), { transport, onerror: (error) => warn(error.message) });
  await transport.closed;
  await handle.close();
}

/** One server of the SDK for a connection. @param instructions what the client shows its model once. */
export function buildServer(
  service: McpService,
  connection: McpConnection,
  instructions: string,
  era: Era,
  carried: Carried = {},
): Server {
  const { version, telemetry, onReady = () => {} } = service.options;
  const { numbers = withRawNumbers } = carried;
  const server = new Server(
    { name: "ptc", version, title: "ptc" },
    {
      capabilities: { tools: { listChanged: true }, ...(connection.isWhole ? offeredTo(era) : {}) },
      instructions,
    },
  );
  if (connection.isWhole) serveOffers(server, connection, era, carried);
  server.setRequestHandler("tools/list", async () => {
    const tools = await connection.listTools();
    setImmediate(onReady);
    return { tools: numbers(tools) };
  });
  server.setRequestHandler("tools/call", async ({ params: { name, arguments: args } }, context) => {
    setImmediate(onReady);
    for (const text of saidBy(context)) connection.conversation.say(text);
    const purpose = () => `tools/call ${digestOf([connection.context.principal, name, args ?? null])}`;
    const ticket = await ticketOf(context, purpose, carried);
    const read = readRequest(server, connection, context, { era, ticket, ...carried });
    const request = carried.asks === undefined ? read : { ...read, ...carried.asks, canAsk: true };
    const work = async () => {
      const answer = await connection.callTool(name, args, request);
      if (answer !== undefined) return answer;
      throw new ProtocolError(INVALID_PARAMS, `Unknown tool: ${oneLine(name, MAX_SHOWN_CHARS)}`);
    };
    const answer = await (telemetry === undefined
      ? work()
      : telemetry.serve(requestFacts(name, context, request), work, isError));
    // Others write the message, and know no BigInt.
    if (answer.kind === "reply") return numbers(carried.present?.(answer.reply) ?? answer.reply);
    const state = carried.sealer?.seal(answer.ticket, purpose()) ?? answer.ticket;
    return presentQuestion(answer.question, await state, request.canVisit);
  });
  return server;
}

/** What ptc declares where servers offer clients more than tools. */
function offeredTo(era: Era) {
  const isLegacy = era === "legacy";
  return {
    // A newer client names what it follows in a request that does not reach servers.
    resources: { listChanged: true, ...(isLegacy ? { subscribe: true } : {}) },
    prompts: { listChanged: true },
    completions: {},
    extensions: { [SKILLS_EXTENSION]: {} },
    ...(isLegacy ? { logging: {} } : {}),
  };
}

const INTERNAL_ERROR = -32603;

/** Parameters of the methods of SEP-2640, which the SDK does not know. */
const SkillsPage = z.optional(z.looseObject({ cursor: z.optional(z.string()) }));
const SkillName = z.looseObject({ uri: z.string() });

/** Serves what servers offer beside tools. */
function serveOffers(server: Server, connection: McpConnection, era: Era, carried: Carried): void {
  const { numbers = withRawNumbers } = carried;
  const { offers, serverNotices } = connection;
  const sent = (sending: Promise<void>) => void sending.catch(() => {});
  // Each request of a newer client over HTTP has its own server, which ends with it.
  if (carried.isOfRequest !== true)
    serverNotices.sink = {
      listChanged: (list) =>
        sent(list === "resources" ? server.sendResourceListChanged() : server.sendPromptListChanged()),
      updated: (uri) => sent(server.sendResourceUpdated({ uri })),
      message: (params) => sent(server.sendLoggingMessage(numbers(params))),
    };
  const answer = async (
    method: string,
    asked: unknown,
    context: ServerContext,
    work: (request: ClientRequest) => Promise<OfferAnswer>,
  ) => {
    const purpose = () => `${method} ${digestOf([connection.context.principal, asked ?? null])}`;
    const ticket = await ticketOf(context, purpose, carried);
    const read = readRequest(server, connection, context, { era, ticket, ...carried });
    const request = carried.asks === undefined ? read : { ...read, ...carried.asks, canAsk: true };
    const answered = await work(request);
    switch (answered.kind) {
      case "result":
        return numbers(answered.result);
      case "question": {
        const state = carried.sealer?.seal(answered.ticket, purpose()) ?? answered.ticket;
        return presentQuestion(answered.question, await state, request.canVisit);
      }
      case "failed":
        throw new ProtocolError(
          answered.why === "unknown" ? INVALID_PARAMS : INTERNAL_ERROR,
          answered.message,
          answered.data,
        );
    }
  };
  for (const method of ["resources/list", "resources/templates/list", "prompts/list"] as const)
    server.setRequestHandler(method, async ({ params }, context) =>
      answered(
        await answer(method, params, context, (request) => offers.list(method, params?.cursor, request)),
      ),
    );
  server.setRequestHandler("resources/read", async ({ params }, context) =>
    answered(
      await answer("resources/read", params.uri, context, (request) => offers.read(params.uri, request)),
    ),
  );
  if (era === "legacy")
    for (const method of ["resources/subscribe", "resources/unsubscribe"] as const)
      server.setRequestHandler(method, async ({ params: { uri } }, context) =>
        answered(
          await answer(method, uri, context, (request) =>
            connection.subscribe(uri, method === "resources/subscribe", request),
          ),
        ),
      );
  server.setRequestHandler("prompts/get", async ({ params: { name, arguments: args } }, context) =>
    answered(
      await answer("prompts/get", [name, args ?? null], context, (request) =>
        offers.prompt(name, args, request),
      ),
    ),
  );
  // The protocol asks for these from 2026-07-28 on (SEP-2549), and the SDK adds them to its own methods alone.
  const fresh = era === "modern" ? { ttlMs: 0, cacheScope: "private" } : {};
  server.setRequestHandler("skills/list", { params: SkillsPage }, async (params, context) => ({
    ...fresh,
    ...(await answer("skills/list", params?.cursor, context, (request) =>
      offers.list("skills/list", params?.cursor, request),
    )),
  }));
  server.setRequestHandler("skills/get", { params: SkillName }, async ({ uri }, context) => ({
    ...fresh,
    ...(await answer("skills/get", uri, context, (request) => offers.skill(uri, request))),
  }));
  server.setRequestHandler("completion/complete", async ({ params }, context) => {
    const { ref, argument, context: known } = params;
    const complete = { argument, ...(known === undefined ? {} : { context: known }) };
    return answered(
      await answer("completion/complete", params, context, (request) =>
        offers.complete(ref, complete, request),
      ),
    );
  });
}

/** `Offers` has given an answer the form that its method has, which the SDK's types ask for. */
function answered(result: object): never {
  return result as never;
}

/** The ticket of the question that a request answers; `undefined` where it answers none. @param purpose what its state is for. */
async function ticketOf(
  { mcpReq }: ServerContext,
  purpose: () => string,
  { sealer }: Carried,
): Promise<string | undefined> {
  const state: unknown = mcpReq.requestState<string>();
  if (typeof state !== "string") return undefined;
  const ticket = sealer === undefined ? state : await sealer.opened(state, purpose());
  if (ticket === undefined)
    throw new ProtocolError(INVALID_PARAMS, "requestState is not of this request, or has expired");
  return ticket;
}

/** What a request brings: what its client can show, and what it waits for. */
function readRequest(
  server: Server,
  connection: McpConnection,
  context: ServerContext,
  { era, ticket, asker }: Carried & { era: Era; ticket: string | undefined },
): ClientRequest & { canVisit: boolean } {
  const { mcpReq } = context;
  const read = readClient(server, context, era);
  return {
    connection,
    signal: mcpReq.signal,
    progress: progressSink(context),
    trace: traceOf(context),
    ...(ticket === undefined ? {} : { answers: { ticket, response: mcpReq.inputResponses?.[QUESTION] } }),
    ...read,
    ...asker?.(context),
  };
}

/** A client of the newer era gets a question as the result of its request. An older client is asked while its request waits. */
function readClient(
  server: Server,
  { mcpReq }: ServerContext,
  era: Era,
): Pick<ClientRequest, "canAsk" | "canSample" | "ask" | "client"> & { canVisit: boolean } {
  if (era === "modern") {
    const envelope: Record<string, unknown> | undefined = mcpReq.envelope;
    const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY];
    const client = claimOf(envelope?.[CLIENT_INFO_META_KEY]);
    const can = { canAsk: canShowForm(capabilities), canSample: canSample(capabilities) };
    return { ...can, canVisit: canShowUrl(capabilities), client };
  }
  const capabilities = server.getClientCapabilities();
  const canVisit = canShowUrl(capabilities);
  const client = claimOf(server.getClientVersion());
  return {
    canAsk: canShowForm(capabilities),
    canSample: canSample(capabilities),
    canVisit,
    client,
    ask: async (question, signal) => {
      if (question.kind === "sampling") {
        const asked = { method: "sampling/createMessage", params: question.request.sampling } as never;
        const response: unknown = await mcpReq.send(asked, { signal, timeout: ANSWER_TIMEOUT_MS });
        return readAnswer(question, response, client);
      }
      const shown = buildElicitation(question, canVisit);
      const params = shown.mode === "url" ? { ...shown, elicitationId: randomUUID() } : shown;
      const options = { signal, timeout: ANSWER_TIMEOUT_MS };
      const response = await mcpReq.send({ method: "elicitation/create", params }, options);
      return readAnswer(question, response, client);
    },
  };
}

/** @param state what the client brings back with the answer. */
function presentQuestion(
  question: Question,
  state: string,
  canVisit: boolean,
): ReturnType<typeof inputRequired> {
  if (question.kind === "sampling") {
    const sampling = inputRequired.createMessage(question.request.sampling as never);
    return inputRequired({ inputRequests: { [QUESTION]: sampling }, requestState: state });
  }
  const shown = buildElicitation(question, canVisit);
  const { mode: _, ...visit } = shown;
  const asked =
    shown.mode === "form" ? inputRequired.elicit(shown) : inputRequired.elicitUrl(visit as typeof shown);
  return inputRequired({ inputRequests: { [QUESTION]: asked }, requestState: state });
}

function progressSink({ mcpReq }: ServerContext): ProgressSink | undefined {
  const token = mcpReq._meta?.progressToken;
  if (token === undefined) return undefined;
  // Progress must grow with every message (MCP 2025-11-25, "Progress"), also where a call waits for its turn before its server reports.
  let sent = Number.NEGATIVE_INFINITY;
  return {
    report: (progress, message, total) => {
      if (progress <= sent) return;
      sent = progress;
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
        .catch(() => {});
    },
  };
}

/** The facts that telemetry records about a call of a ptc tool. A name that is not ptc's own could be anything, and is left out. */
function requestFacts(
  name: string,
  { mcpReq }: ServerContext,
  { connection, trace }: ClientRequest,
): ServedRequest {
  const tool = isOwnTool(name) ? name : name.startsWith("mcp__") ? "direct" : "unknown";
  return { tool, requestId: mcpReq.id, session: connection.context.session, parent: trace };
}

/** The `_meta` key under which a client sends its user's words since its last request, as a text or a list of texts. */
const USER_META_KEY = "ptc/user";

/** The user's own words. They come from the client, not from a model. */
function saidBy({ mcpReq }: ServerContext): string[] {
  const said: unknown = mcpReq._meta?.[USER_META_KEY];
  return (Array.isArray(said) ? said : [said]).filter((text) => typeof text === "string");
}

/** The trace that a request belongs to. Its `_meta` names the trace; otherwise the headers of its HTTP request do. */
function traceOf({ mcpReq, http }: ServerContext): TraceContext | undefined {
  const { traceparent, tracestate } = mcpReq._meta ?? {};
  const own = parseTraceContext({ traceparent, tracestate });
  if (own !== undefined || http?.req === undefined) return own;
  const { headers } = http.req;
  return parseTraceContext({
    traceparent: headers.get("traceparent"),
    tracestate: headers.get("tracestate"),
  });
}

function isError(answer: ProgramAnswer): boolean {
  return answer.kind === "reply" && answer.reply.isError === true;
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
    if (count === TOLD_EACH) onWarning(`from now on only one in ${THEN_ONE_IN} warnings is shown`);
    else if (count % THEN_ONE_IN === 0)
      onWarning(`${oneLine(message, MAX_WARNING_CHARS)} (warning ${count})`);
  };
}
