import { PassThrough } from "node:stream";
import type { CatalogServer } from "../../catalog/catalog.ts";
import { ToolDirectory } from "../../catalog/tool-directory.ts";
import type { ExecutedProgram } from "../../execution/execute-program.ts";
import type { Program } from "../../execution/program.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import { buildFailure, type Failure } from "../../protocol/failure.ts";
import type { CatalogView, LiveCatalog } from "../../server/live-catalog.ts";
import { serveMcp } from "../../server/mcp-server.ts";
import type { ProgramOptions, ProgramRunner } from "../../server/program-runner.ts";

/** A catalog as `ptc generate` would have written it, of servers with these tools. */
export function catalogOf(
  servers: Record<string, Partial<CatalogServer["tools"][number]>[]>,
): CatalogServer[] {
  return Object.entries(servers).map(([name, tools]) => ({
    name,
    module: name.replaceAll("-", "_"),
    tools: tools.map((tool) => ({
      name: "a_tool",
      identifier: tool.name?.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()) ?? "aTool",
      inputSchema: { type: "object" },
      ...tool,
    })),
  }));
}

/** A catalog whose servers can be exchanged. Search finds the tools whose definition holds the query. */
export class FakeCatalog implements LiveCatalog {
  #view: CatalogView;
  readonly #listeners: (() => void)[] = [];

  constructor(servers: CatalogServer[], unlisted: ReadonlyMap<string, string> = new Map()) {
    this.#view = viewOf(servers, unlisted);
  }

  async current(): Promise<CatalogView> {
    return this.#view;
  }

  onServersChanged(listener: () => void): void {
    this.#listeners.push(listener);
  }

  change(servers: CatalogServer[]): void {
    this.#view = viewOf(servers, new Map());
    for (const listener of this.#listeners) listener();
  }
}

export function viewOf(
  servers: CatalogServer[],
  unlisted: ReadonlyMap<string, string> = new Map(),
): CatalogView {
  const directory = new ToolDirectory(servers);
  return {
    directory,
    configured: directory.servers.map(({ module }) => module),
    unlisted,
    search: async (query, scope, limit) => {
      const found = directory.servers
        .filter(({ module }) => scope === undefined || module === scope)
        .flatMap(({ tools }) => tools)
        .filter((tool) => JSON.stringify(tool).includes(query));
      return { results: found.slice(0, limit).map((tool) => ({ tool, score: 1 })), total: found.length };
    },
  };
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
    envelope,
    consoleText: "",
    resultFrom: "type" in result ? undefined : "result",
    typeWarning: undefined,
    recorded: Promise.resolve(undefined),
    cleared: Promise.resolve(),
    ...rest,
  };
}

export const CANCELLED = executed(buildFailure("Cancelled", "the run was cancelled"));

/** A server of ours on streams in this process, whose programs are functions. */
export function serve(
  run: (program: Program, options: ProgramOptions) => Promise<ExecutedProgram>,
  { catalog = new FakeCatalog([]), maxPrograms = 4 }: { catalog?: LiveCatalog; maxPrograms?: number } = {},
) {
  const toServer = new PassThrough();
  const toClient = new PassThrough();
  const warnings: string[] = [];
  const runner: ProgramRunner = { run };
  const ended = serveMcp({
    version: "1.2.3",
    catalog,
    runner,
    clock: { nowMs: () => performance.now() },
    maxPrograms,
    stdin: toServer,
    stdout: toClient,
    onWarning: (message) => warnings.push(message),
  });
  return { toServer, toClient, warnings, ended };
}
