import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Approver } from "../broker/approvals.ts";
import { Dispatcher } from "../broker/dispatcher.ts";
import { LiveToolServers } from "../broker/live-tool-servers.ts";
import { IsolatingValidator } from "../broker/schema-validator.ts";
import type { KnownTool, ToolTable } from "../broker/tool-table.ts";
import { UpstreamPool, type UpstreamSource } from "../broker/upstream-pool.ts";
import { readCatalog } from "../catalog/catalog-file.ts";
import type { StoredCatalog } from "../catalog/stored-catalog.ts";
import { definitionDigest } from "../codegen/parse-tool.ts";
import type { ExecutionLimits, ExecutionParts } from "../execution/execute-program.ts";
import { namespacedName } from "../protocol/tool-name.ts";
import { DockerEngine } from "../sandbox/docker-engine.ts";
import { sweepContainers, sweepProcesses } from "../sandbox/leftovers.ts";
import { OnDemandSource } from "../sandbox/on-demand-source.ts";
import { currentProcess, formatIdentity, type ProcessIdentity } from "../sandbox/process-identity.ts";
import { StateDirectory } from "../sandbox/state-directory.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { unmatchedPatterns } from "./configuration/unmatched-patterns.ts";
import { UsageError } from "./exit-code.ts";
import { GeneratedModules } from "./generated-modules.ts";
import { moduleUrl, version } from "./package.ts";
import type { Surroundings } from "./surroundings.ts";

const clock = { nowMs: () => performance.now(), now: () => performance.now() };

export interface Execution {
  parts: ExecutionParts;
  limits: ExecutionLimits;
  /** Ends every server and clears what this process keeps on disk. Never throws. */
  close(): Promise<void>;
}

/** The folder of generated modules: beside the configuration file, wherever ptc was started. */
export function generatedDirectory(configuration: Configuration): string {
  return join(configuration.directory, "generated");
}

/**
 * Wires what it takes to execute programs under a configuration.
 *
 * @throws CatalogError, UsageError, SandboxError
 */
export async function composeExecution(
  configuration: Configuration,
  env: Surroundings["env"],
  approver: Approver,
): Promise<Execution> {
  const { execution, sandbox } = configuration;
  const directory = generatedDirectory(configuration);
  const stored = await readCatalog(directory);
  const tools = buildToolTable(configuration, stored);
  refuseUnmatchedPatterns(configuration, stored, tools);

  const { state, self } = openState(env);
  const engine = new DockerEngine();
  const swept = sweepContainers(engine, self).catch(() => {});
  const pool = composeUpstreams(configuration, state);
  const servers = configuration.servers.flatMap((server) => {
    const upstream = pool.get(server.name);
    return upstream === undefined
      ? []
      : [[server.name, { upstream, callTimeoutMs: server.callTimeoutMs }] as const];
  });
  const validator = new IsolatingValidator(moduleUrl("broker/schema-worker"));

  return {
    parts: {
      sandboxes: new OnDemandSource({
        engine,
        state,
        owner: formatIdentity(self),
        image: sandbox.image,
        runtime: sandbox.runtime,
        limits: { memoryMb: execution.memoryMb, cpus: execution.cpus, pids: execution.pids },
      }),
      modules: new GeneratedModules(
        directory,
        [...new Set([...tools.values()].map((tool) => tool.server))],
        stored,
      ),
      dispatcher: new Dispatcher({
        tools,
        policy: {
          allow: configuration.tools.allow,
          block: configuration.tools.block,
          ask: configuration.approvals.ask,
          neverAsk: configuration.approvals.allow,
        },
        servers: new LiveToolServers(new Map(servers), definitionDigest),
        validator,
      }),
      approver,
      clock,
      toolVersion: version,
    },
    limits: execution,
    async close() {
      await Promise.all([pool.close(), validator.close(), swept]);
      state.remove();
    },
  };
}

/** Upstream clients for every configured server. The MCP client is loaded when the first of them is used. */
export function composeUpstreams(configuration: Configuration, state: StateDirectory): UpstreamPool {
  const sources = configuration.servers.map(
    (server): UpstreamSource => ({
      name: server.name,
      async connect(signal) {
        const { connectMcpServer } = await import("../broker/mcp-upstream.ts");
        return connectMcpServer(server, {
          clientVersion: version,
          secrets: configuration.secrets,
          signal,
          onSpawn: (pid) => state.recordGroup(pid),
          onExit: (pid) => state.forgetGroup(pid),
        });
      },
    }),
  );
  return new UpstreamPool(sources, clock);
}

/** This process's place on disk, after what dead ptc processes left in theirs has been cleared away. */
export function openState(env: Surroundings["env"]): { state: StateDirectory; self: ProcessIdentity } {
  const self = currentProcess();
  // Short: the paths of sockets must fit into 108 bytes.
  const base = join(env.XDG_RUNTIME_DIR || tmpdir(), `ptc-${process.getuid?.() ?? 0}`);
  const state = new StateDirectory(base, self);
  sweepProcesses(base, self);
  return { state, self };
}

/** The generated tools of the servers that are still configured. */
function buildToolTable(configuration: Configuration, stored: StoredCatalog | undefined): ToolTable {
  const configured = new Set(configuration.servers.map((server) => server.name));
  const table = new Map<string, KnownTool>();
  for (const server of stored?.catalog.servers ?? []) {
    if (!configured.has(server.name)) continue;
    for (const tool of server.tools) {
      const name = namespacedName(server.module, tool.name);
      table.set(name, {
        namespacedName: name,
        server: server.name,
        name: tool.name,
        definitionDigest: stored?.lock.servers.get(server.name)?.tools.get(tool.name)?.sha256 ?? "",
        inputSchema: tool.inputSchema,
        outputSchema: tool.outputSchema,
        destructive: tool.annotations?.destructiveHint === true,
      });
    }
  }
  return table;
}

function refuseUnmatchedPatterns(
  configuration: Configuration,
  stored: StoredCatalog | undefined,
  tools: ToolTable,
): void {
  const generated = new Set(stored?.catalog.servers.map((server) => server.name));
  const unlisted = configuration.servers
    .filter((server) => !generated.has(server.name))
    .map((server) => server.module);
  const [first] = unmatchedPatterns(configuration, [...tools.keys()], unlisted);
  if (first !== undefined) throw new UsageError(first.message);
}
