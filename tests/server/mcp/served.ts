import { PassThrough } from "node:stream";
import { onTestFinished } from "vitest";
import type { SharedFacts } from "../../../archive/shared-facts.ts";
import type { ServerTools, Tool } from "../../../catalog/tool.ts";
import { type FoundTools, ToolCatalog } from "../../../catalog/tool-catalog.ts";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../../codegen/typescript/typescript-printer.ts";
import type { ExecutedProgram } from "../../../execution/output/executed-run.ts";
import type { ProgramRequest, ProgramRunner } from "../../../execution/run-request.ts";
import type { UnresolvedProgram } from "../../../languages/resolve-program.ts";
import type { Envelope } from "../../../protocol/envelope.ts";
import { buildFailure, type Failure } from "../../../protocol/failure.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import { serveMcp } from "../../../server/mcp/mcp-server.ts";
import { McpService } from "../../../server/mcp/service.ts";
import type { OutputSource } from "../../../server/mcp/tools/read-output.ts";
import type { LiveCatalog } from "../../../tools/live-catalog.ts";

/** A catalog whose servers can be exchanged. */
export class FakeCatalog implements LiveCatalog {
  #view: ToolCatalog;
  readonly #listeners: (() => void)[] = [];

  constructor(servers: ServerTools[], unlisted: ReadonlyMap<string, string> = new Map()) {
    this.#view = viewOf(servers, unlisted);
  }

  async current(): Promise<ToolCatalog> {
    return this.#view;
  }

  onServersChanged(listener: () => void): void {
    this.#listeners.push(listener);
  }

  change(servers: ServerTools[]): void {
    this.#view = viewOf(servers, new Map());
    for (const listener of this.#listeners) listener();
  }
}

export function viewOf(
  servers: ServerTools[],
  unlisted: ReadonlyMap<string, string> = new Map(),
): ToolCatalog {
  return new PlainCatalog(servers, { unlisted });
}

/** A catalog whose search finds the tools that hold the query, as it is, in any of their texts; poorly with "unheard of" before it. */
class PlainCatalog extends ToolCatalog {
  override async search(query: string, options: { server?: string; limit: number }): Promise<FoundTools> {
    const tools = this.servers
      .filter(({ module }) => options.server === undefined || module === options.server)
      .flatMap((server): readonly Tool[] => server.tools)
      .filter((tool) => JSON.stringify(tool).includes(query.replace("unheard of ", "")));
    return {
      tools: tools.slice(0, options.limit),
      total: tools.length,
      fitsPoorly: query.includes("unheard of"),
    };
  }
}

export function executed(
  result: { data: unknown } | Failure,
  rest: Partial<ExecutedProgram> = {},
): ExecutedProgram {
  const metrics = { duration_ms: 1, tool_calls: 0, tool_result_bytes: 0 };
  const envelope: Envelope = {
    run_id: "run-1",
    trace_id: "t",
    tool_name: "execute_program",
    tool_version: "0",
    input_digest: `sha256:${"0".repeat(64)}`,
    output_digest: `sha256:${"0".repeat(64)}`,
    sandbox_image: null,
    duration_ms: 1,
    approval_state: "NOT_REQUIRED",
    result:
      "type" in result ? { ok: false, error: result, metrics } : { ok: true, data: result.data, metrics },
  };
  return {
    program: { code: "", data: {}, language: "typescript", fileName: "program.ts" },
    envelope,
    consoleText: "",
    stderrText: "",
    emitted: [],
    wholeResultJson: undefined,
    isConsoleCut: false,
    reasons: [],
    resultFrom: "type" in result ? undefined : "result",
    typeWarning: undefined,
    unchecked: undefined,
    warnings: [],
    advice: [],
    recorded: Promise.resolve(undefined),
    cleared: Promise.resolve(),
    ...rest,
  };
}

/** A question about a call, as a run asks it. */
export const REQUEST = {
  ...{ runId: "r", tool: "mcp__a__drop", definitionDigest: "d" },
  ...{ arguments: { table: "users" }, argumentsDigest: "e" },
};

/** A call of `execute_program`. */
export const executing = (code: string) => ({ name: "execute_program", arguments: { code } });
export const EXECUTE = executing("1");

/** The content of the reply to a program that came to this text, or to this value as JSON. */
export const succeeded = (text: string) => [{ text: `[Script executed successfully]\n${text}` }];
export const valued = (data: unknown) => succeeded(JSON.stringify(data));

export const CANCELLED = executed(buildFailure("Cancelled", "the run was cancelled"));

export const CONTEXT: RunContext = { principal: "local", source: "serve" };

interface ServiceOptions {
  catalog?: LiveCatalog;
  maxPrograms?: number;
  maxQueued?: number;
  timeoutMs?: number;
  notice?: () => string | undefined;
  outputs?: OutputSource;
  suspended?: ProgramRunner["suspended"];
  /** With labels, whose conversations several processes share. */
  facts?: SharedFacts;
}

type RunFunction = (program: UnresolvedProgram, request: ProgramRequest) => Promise<ExecutedProgram>;

/** What ptc offers over MCP, whose programs are functions. */
export function serviceOf(
  run: RunFunction,
  {
    catalog = new FakeCatalog([]),
    maxPrograms = 4,
    maxQueued = 32,
    timeoutMs = 60_000,
    notice,
    outputs = { read: async () => undefined },
    suspended,
    facts,
  }: ServiceOptions = {},
): McpService {
  return new McpService({
    version: "1.2.3",
    catalog,
    printers: () => [PRINTER],
    runner: { run: (request) => run(request.program, request), ...(suspended && { suspended }) },
    outputs,
    clock: { monotonicMs: () => performance.now() },
    limits: () => ({
      maxParallelPrograms: maxPrograms,
      maxQueuedPrograms: maxQueued,
      timeoutMs,
      maxParallelCalls: 10,
      maxOutputBytes: 65_536,
      maxReplyBytes: 16_384,
    }),
    ...(notice && { notice }),
    ...(facts && { facts, labels: () => ["untrusted"] }),
  });
}

/** A server of ours on streams in this process, whose programs are functions. */
export function serve(
  run: RunFunction,
  { context = CONTEXT, ...options }: ServiceOptions & { context?: RunContext } = {},
) {
  return connectTo(serviceOf(run, options), context);
}

/** One more client's connection to a service, on streams in this process. It ends with the test at the latest. */
export function connectTo(service: McpService, context = CONTEXT) {
  const toServer = new PassThrough();
  const toClient = new PassThrough();
  const warnings: string[] = [];
  const onWarning = (message: string) => void warnings.push(message);
  const ended = serveMcp(service, { context, stdin: toServer, stdout: toClient, onWarning });
  onTestFinished(async () => {
    toServer.end();
    await ended;
  });
  return { toServer, toClient, warnings, ended, service };
}
