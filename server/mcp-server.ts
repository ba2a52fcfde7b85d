import type { Readable, Writable } from "node:stream";
import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  ProtocolError,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { buildApprovalForm, parseApprovalAnswer } from "./approval-question.ts";
import { boundWarnings } from "./bounded-warnings.ts";
import {
  type ProgramAnswer,
  type ProgramRequest,
  Programs,
  type ProgramsOptions,
} from "./execute-program.ts";
import { inspectTool } from "./inspect-tool.ts";
import { buildInstructions } from "./instructions.ts";
import { listCallableTools } from "./list-callable-tools.ts";
import type { LiveCatalog } from "./live-catalog.ts";
import { errorReply, type ToolReply } from "./reply.ts";
import type { ProgressSink } from "./run-progress.ts";
import { searchTools } from "./search-tools.ts";
import { StdioTransport } from "./stdio-transport.ts";
import {
  ExecuteProgramArguments,
  InspectToolArguments,
  ListCallableToolsArguments,
  parseArguments,
  SearchToolsArguments,
} from "./tool-arguments.ts";
import { buildToolDefinitions } from "./tool-definitions.ts";

const INVALID_PARAMS = -32602;
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
/** How long a person has to answer a question, where the request waits for it. */
const ANSWER_TIMEOUT_MS = 10 * 60_000;
const QUESTION = "approval";

export interface ServeOptions extends Omit<ProgramsOptions, "known"> {
  version: string;
  catalog: LiveCatalog;
  stdin: Readable;
  stdout: Writable;
  /** Is called, more than once, when the client has what it asked for first. */
  onReady?: () => void;
  /** Is told what went wrong on the connection; the server goes on. */
  onWarning: (message: string) => void;
}

/**
 * Serves MCP over stdio, in either era of the protocol. Resolves when the client has gone and its programs are cleared
 * away.
 */
export async function serveMcp(options: ServeOptions): Promise<void> {
  const { catalog, stdin, stdout, onWarning } = options;
  const programs = new Programs({
    ...options,
    known: () => catalog.current(),
  });
  const view = await catalog.current();
  const instructions = buildInstructions(view.configured);
  const servers = new Set<Server>();
  catalog.onServersChanged(() => {
    for (const server of servers) void server.sendToolListChanged().catch(() => {});
  });
  const warn = boundWarnings(onWarning);
  const transport = new StdioTransport({
    stdin,
    stdout,
    maxMessageBytes: MAX_MESSAGE_BYTES,
    isMessage: (value) => isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value),
    onInputEnd: () => void programs.close(),
  });
  const handle = serveStdio(
    ({ era }) => {
      const server = buildServer(options, instructions, programs, era);
      servers.add(server);
      return server;
    },
    { transport, onerror: (error) => warn(error.message) },
  );
  await transport.closed;
  await handle.close();
  await programs.close();
}

type Era = "legacy" | "modern";

function buildServer(
  { version, catalog, onReady = () => {} }: ServeOptions,
  instructions: string,
  programs: Programs,
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
    const { configured } = await catalog.current();
    setImmediate(onReady);
    return { tools: buildToolDefinitions(configured) };
  });
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    setImmediate(onReady);
    const { name, arguments: args } = params;
    switch (name) {
      case "execute_program":
        return executeProgram(args, context, programs, askingThrough(server, context, era));
      case "search_tools":
        return answer(SearchToolsArguments, args, async (parsed) =>
          searchTools(parsed, await catalog.current()),
        );
      case "inspect_tool":
        return answer(InspectToolArguments, args, async (parsed) =>
          inspectTool(parsed, await catalog.current()),
        );
      case "list_callable_tools":
        return answer(ListCallableToolsArguments, args, async (parsed) =>
          listCallableTools(parsed, await catalog.current()),
        );
      default:
        throw new ProtocolError(INVALID_PARAMS, `Unknown tool: ${name.slice(0, 160)}`);
    }
  });
  return server;
}

async function executeProgram(
  args: unknown,
  context: ServerContext,
  programs: Programs,
  asking: Pick<ProgramRequest, "canAsk" | "ask">,
): Promise<ReturnType<typeof inputRequired> | ToolReply> {
  const { mcpReq } = context;
  const request: ProgramRequest = {
    signal: mcpReq.signal,
    progress: progressSink(context),
    ...asking,
  };
  const ticket = mcpReq.requestState<string>();
  if (typeof ticket === "string") {
    const answered = parseApprovalAnswer(mcpReq.inputResponses?.[QUESTION]);
    return present(await programs.resume(ticket, answered, request));
  }
  const parsed = parseArguments(ExecuteProgramArguments, args);
  if (!parsed.ok) return errorReply(parsed.message);
  return present(await programs.start(parsed.value, request));
}

function present(answer: ProgramAnswer): ReturnType<typeof inputRequired> | ToolReply {
  if (answer.kind === "reply") return answer.reply;
  return inputRequired({
    inputRequests: { [QUESTION]: inputRequired.elicit(buildApprovalForm(answer.question.request)) },
    requestState: answer.ticket,
  });
}

async function answer<T>(
  schema: Parameters<typeof parseArguments<T>>[0],
  args: unknown,
  act: (parsed: T) => Promise<ToolReply>,
): Promise<ToolReply> {
  const parsed = parseArguments(schema, args);
  return parsed.ok ? act(parsed.value) : errorReply(parsed.message);
}

/** Where to tell how the run gets on: nowhere, unless the client asked for it. */
function progressSink({ mcpReq }: ServerContext): ProgressSink | undefined {
  const token = mcpReq._meta?.progressToken;
  if (token === undefined) return undefined;
  return {
    report: (progress, message) =>
      void mcpReq
        .notify({ method: "notifications/progress", params: { progressToken: token, progress, message } })
        .catch(() => {}),
  };
}

/** Clients of the newer era are handed a question as the answer to their request, older ones are asked meanwhile. */
function askingThrough(
  server: Server,
  { mcpReq }: ServerContext,
  era: Era,
): Pick<ProgramRequest, "canAsk" | "ask"> {
  if (era === "modern") {
    const envelope: Record<string, unknown> | undefined = mcpReq.envelope;
    return { canAsk: canShowForm(envelope?.[CLIENT_CAPABILITIES_META_KEY]) };
  }
  return {
    canAsk: canShowForm(server.getClientCapabilities()),
    ask: async (question, signal) => {
      const params = buildApprovalForm(question);
      const options = { signal, timeout: ANSWER_TIMEOUT_MS };
      return parseApprovalAnswer(await mcpReq.send({ method: "elicitation/create", params }, options));
    },
  };
}

/** A client that names no mode of asking has the oldest, forms (MCP 2025-11-25, Elicitation: Capabilities). */
function canShowForm(capabilities: unknown): boolean {
  if (typeof capabilities !== "object" || capabilities === null) return false;
  const { elicitation } = capabilities as { elicitation?: unknown };
  if (typeof elicitation !== "object" || elicitation === null) return false;
  return "form" in elicitation || !("url" in elicitation);
}
