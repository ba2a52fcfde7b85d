import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Approver } from "../broker/approvals.ts";
import { Dispatcher } from "../broker/dispatcher.ts";
import { type ListingObserver, LiveToolServers } from "../broker/live-tool-servers.ts";
import { IsolatingValidator } from "../broker/schema-validator.ts";
import { type PoolOptions, UpstreamPool, type UpstreamSource } from "../broker/upstream-pool.ts";
import { definitionDigest } from "../codegen/parse-tool.ts";
import { type ExecutedProgram, executeProgram, type RunOptions } from "../execution/execute-program.ts";
import type { TypecheckMode } from "../execution/prepare-program.ts";
import type { Program } from "../execution/program.ts";
import { DockerEngine } from "../sandbox/docker-engine.ts";
import { sweepContainers, sweepProcesses } from "../sandbox/leftovers.ts";
import { OnDemandSource } from "../sandbox/on-demand-source.ts";
import { currentProcess, formatIdentity, type ProcessIdentity } from "../sandbox/process-identity.ts";
import { StateDirectory } from "../sandbox/state-directory.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { moduleUrl, version } from "./package.ts";
import type { Surroundings } from "./surroundings.ts";
import { buildPolicy, type ToolSet } from "./tool-set.ts";

export const clock = { nowMs: () => performance.now(), now: () => performance.now() };

export interface ProgramOptions extends Omit<RunOptions, "limits" | "typecheck"> {
  approver: Approver;
  /** Instead of the configured one. */
  timeoutMs?: number | undefined;
  /** Instead of the configured one. */
  typecheck?: TypecheckMode | undefined;
}

export interface Execution {
  upstreams: UpstreamPool;
  servers: LiveToolServers;
  /** Runs a program against the tools as they were when it began. */
  run(program: Program, tools: ToolSet, options: ProgramOptions): Promise<ExecutedProgram>;
  /** Ends every server and clears what this process keeps on disk. Never throws. */
  close(): Promise<void>;
}

/** Wires what it takes to execute programs under a configuration. @throws SandboxError */
export function composeExecution(
  configuration: Configuration,
  env: Surroundings["env"],
  options: PoolOptions & { onListed?: ListingObserver } = {},
): Execution {
  const { execution, sandbox } = configuration;
  const { state, self } = openState(env);
  const engine = new DockerEngine();
  const swept = sweepContainers(engine, self).catch(() => {});
  const pool = composeUpstreams(configuration, state, options);
  const servers = composeServers(configuration, pool, options.onListed);
  const validator = new IsolatingValidator(moduleUrl("broker/schema-worker"));
  const sandboxes = new OnDemandSource({
    engine,
    state,
    owner: formatIdentity(self),
    image: sandbox.image,
    runtime: sandbox.runtime,
    limits: { memoryMb: execution.memoryMb, cpus: execution.cpus, pids: execution.pids },
  });
  const policy = buildPolicy(configuration);
  return {
    upstreams: pool,
    servers,
    run(program, { tools, modules }, { approver, timeoutMs, typecheck, ...rest }) {
      const dispatcher = new Dispatcher({ tools, policy, servers, validator });
      return executeProgram(
        program,
        { sandboxes, modules, dispatcher, approver, clock, toolVersion: version },
        {
          ...rest,
          limits: { ...execution, timeoutMs: timeoutMs ?? execution.timeoutMs },
          typecheck: typecheck ?? execution.typecheck,
        },
      );
    },
    async close() {
      await Promise.all([pool.close(), validator.close(), swept]);
      state.remove();
    },
  };
}

/** Upstream clients for every configured server. The MCP client is loaded when the first of them is used. */
export function composeUpstreams(
  configuration: Configuration,
  state: StateDirectory,
  options: PoolOptions = {},
): UpstreamPool {
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
  return new UpstreamPool(sources, clock, options);
}

function composeServers(
  configuration: Configuration,
  pool: UpstreamPool,
  onListed: ListingObserver | undefined,
): LiveToolServers {
  const servers = configuration.servers.flatMap(({ name, callTimeoutMs }) => {
    const upstream = pool.get(name);
    return upstream === undefined ? [] : [[name, { upstream, callTimeoutMs }] as const];
  });
  return new LiveToolServers(new Map(servers), definitionDigest, onListed);
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
