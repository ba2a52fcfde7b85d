import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ArchiveWriter } from "../archive/archive-writer.ts";
import type { Approver } from "../broker/approvals.ts";
import { AuditLog } from "../broker/audit-log.ts";
import { Dispatcher } from "../broker/dispatcher.ts";
import type { ListingObserver } from "../broker/listed-tools.ts";
import { LiveToolServers } from "../broker/live-tool-servers.ts";
import { Redactor } from "../broker/redaction.ts";
import { IsolatingValidator } from "../broker/schema-validator.ts";
import type { UpstreamConnection } from "../broker/upstream.ts";
import { type PoolOptions, UpstreamPool, type UpstreamSource } from "../broker/upstream-pool.ts";
import { definitionDigest } from "../codegen/parse-tool.ts";
import type { CallObserver, CallRecord } from "../execution/call-log.ts";
import { type ExecutedProgram, executeProgram, type RunOptions } from "../execution/execute-program.ts";
import type { TypecheckMode } from "../execution/prepare-program.ts";
import type { Program } from "../execution/program.ts";
import { ArchivingRecorder } from "../execution/record-runs.ts";
import { type RecordedRun, type Replayed, replayProgram } from "../execution/replay-program.ts";
import { type CheckedModules, createTypeChecker } from "../execution/type-check.ts";
import { DockerEngine } from "../sandbox/docker-engine.ts";
import { killGroups, sweepContainers, sweepProcesses } from "../sandbox/leftovers.ts";
import { OnDemandSource } from "../sandbox/on-demand-source.ts";
import { currentProcess, formatIdentity, type ProcessIdentity } from "../sandbox/process-identity.ts";
import { StateDirectory } from "../sandbox/state-directory.ts";
import { WarmPool } from "../sandbox/warm-pool.ts";
import { clock } from "./clock.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { moduleUrl, version } from "./package.ts";
import type { Surroundings } from "./surroundings.ts";
import { buildPolicy, type ToolSet } from "./tool-set.ts";

/** Everybody who uses ptc on this machine, on the command line or over stdio, is the one who started it. */
const PRINCIPAL = "local";

interface ProgramOptions extends Omit<RunOptions, "limits" | "typecheck"> {
  source: "run" | "serve" | "replay";
  approver: Approver;
  /** Instead of the configured one. */
  timeoutMs?: number | undefined;
  /** Instead of the configured one. */
  typecheck?: TypecheckMode | undefined;
}

export interface CompositionOptions extends PoolOptions {
  /** Sandboxes that are kept started; none without it. */
  warm?: number;
  listingObserver?: ListingObserver;
  onWarning: (message: string) => void;
}

export interface Execution {
  servers: LiveToolServers;
  /** Starts ahead what the first program would have to wait for. */
  warm(): void;
  /** Runs a program against the tools as they were when it began. */
  run(program: Program, tools: ToolSet, options: ProgramOptions): Promise<ExecutedProgram>;
  /** Runs a recorded program again, without any server. */
  replay(
    run: RecordedRun,
    modules: CheckedModules,
    options: Parameters<typeof replayProgram>[2],
  ): Promise<Replayed>;
  /**
   * Ends every server and clears what this process keeps on disk. Never throws.
   *
   * @param patienceMs after so long what has not ended by itself is ended, and containers are left to their engine.
   */
  close(patienceMs?: number): Promise<void>;
}

/** Wires what it takes to execute programs under a configuration. @throws SandboxError */
export function composeExecution(
  configuration: Configuration,
  env: Surroundings["env"],
  options: CompositionOptions,
): Execution {
  const { execution } = configuration;
  const { state, self } = openState(env);
  const engine = new DockerEngine();
  const swept = sweepContainers(engine, self).catch(() => {});
  const pool = composeUpstreams(configuration, state, options);
  const servers = composeServers(configuration, pool, options.listingObserver);
  const validator = new IsolatingValidator(moduleUrl("broker/schema-worker"));
  const sandboxes = composeSandboxes(configuration, { engine, state, self }, options.warm ?? 0);
  const redactor = new Redactor(configuration.secrets, configuration.credentials);
  const typeChecker = createTypeChecker({
    onSpawn: (pid) => state.recordGroup(pid),
    onExit: (pid) => state.forgetGroup(pid),
  });
  const archive = new ArchiveWriter(
    { path: configuration.archive.path, keepDays: configuration.archive.keepDays },
    moduleUrl("archive/writer-worker"),
  );
  const audit = new AuditLog({
    path: join(configuration.directory, ".ptc", "audit.jsonl"),
    clock: { nowMs: Date.now },
    redactor,
    onFailure: options.onWarning,
  });
  const policy = buildPolicy(configuration);
  const parts = { sandboxes, redactor, typeChecker, clock, toolVersion: version };
  return {
    servers,
    warm() {
      sandboxes.prime();
      void typeChecker.warm();
    },
    run(program, { stored, tools, modules }, { source, approver, timeoutMs, typecheck, ...rest }) {
      const { onCall, onCallStarted } = rest;
      // Whoever watches shows what they see to people and models.
      const observer: CallObserver = {
        ...(onCallStarted && {
          onCallStarted: ({ seq, tool }) => onCallStarted({ seq, tool: redactor.redactText(tool).value }),
        }),
        ...(onCall && { onCall: (call) => onCall(withoutSecrets(call, redactor)) }),
      };
      const dispatcher = new Dispatcher({
        tools,
        policy,
        servers,
        validator,
        redact: (message) => redactor.redactText(message).value,
      });
      const recorder = new ArchivingRecorder({
        archive,
        audit,
        redactor,
        tools,
        servers: new Map(
          [...(stored?.lock.servers ?? [])].map(([name, { implementation }]) => [name, implementation]),
        ),
        principal: PRINCIPAL,
        source,
        versions: { ptc: version, node: process.versions.node },
        now: Date.now,
      });
      return executeProgram(
        program,
        { ...parts, modules, dispatcher, approver, recorder },
        {
          ...rest,
          ...observer,
          limits: { ...execution, timeoutMs: timeoutMs ?? execution.timeoutMs },
          typecheck: typecheck ?? execution.typecheck,
        },
      );
    },
    replay: (run, modules, replayOptions) => replayProgram(run, { ...parts, modules }, replayOptions),
    async close(patienceMs) {
      const kept = Promise.all([archive.close(), audit.close()]);
      const ended = [pool.close(), validator.close(), typeChecker.close(), sandboxes.close(), swept];
      const late = patienceMs === undefined ? [] : [delay(patienceMs, undefined, { ref: false })];
      await Promise.race([Promise.all(ended), ...late]);
      await kept;
      killGroups(state.groupsFolder);
      state.remove();
    },
  };
}

function withoutSecrets(call: CallRecord, redactor: Redactor): CallRecord {
  return {
    ...call,
    tool: redactor.redactText(call.tool).value,
    arguments: redactor.redactValue(call.arguments).value,
  };
}

function composeSandboxes(
  { execution, sandbox }: Configuration,
  { engine, state, self }: { engine: DockerEngine; state: StateDirectory; self: ProcessIdentity },
  size: number,
): WarmPool {
  const starter = new OnDemandSource({
    engine,
    state,
    owner: formatIdentity(self),
    image: sandbox.image,
    runtime: sandbox.runtime,
    limits: { memoryMb: execution.memoryMb, cpus: execution.cpus, pids: execution.pids },
  });
  return new WarmPool(starter, { size });
}

/** Upstream clients for every configured server. The MCP client is loaded when the first of them is used. */
export function composeUpstreams(
  configuration: Configuration,
  state: StateDirectory,
  options: PoolOptions = {},
): UpstreamPool {
  const redactor = new Redactor(configuration.secrets, configuration.credentials);
  const sources = configuration.servers.map(
    (server): UpstreamSource => ({
      name: server.name,
      async connect(signal) {
        const { connectMcpServer } = await import("../broker/mcp-upstream.ts");
        const connection = await connectMcpServer(server, {
          clientVersion: version,
          secrets: configuration.secrets,
          signal,
          onSpawn: (pid) => state.recordGroup(pid),
          onExit: (pid) => state.forgetGroup(pid),
        });
        return redactListing(connection, redactor);
      },
    }),
  );
  return new UpstreamPool(sources, clock, options);
}

/** Definitions are shown to models and written to files that are shared: a server may have put a secret of its own into them. */
function redactListing(connection: UpstreamConnection, redactor: Redactor): UpstreamConnection {
  return {
    implementation: connection.implementation,
    protocolVersion: connection.protocolVersion,
    listTools: async (signal) => redactor.redactValue(await connection.listTools(signal)).value as unknown[],
    callTool: (tool, args, callOptions) => connection.callTool(tool, args, callOptions),
    onToolsChanged: (listener) => connection.onToolsChanged(listener),
    onLost: (listener) => connection.onLost(listener),
    close: () => connection.close(),
  };
}

function composeServers(
  configuration: Configuration,
  pool: UpstreamPool,
  listingObserver: ListingObserver | undefined,
): LiveToolServers {
  const servers = configuration.servers.flatMap(({ name, callTimeoutMs }) => {
    const upstream = pool.get(name);
    return upstream === undefined ? [] : [[name, { upstream, callTimeoutMs }] as const];
  });
  return new LiveToolServers(new Map(servers), definitionDigest, listingObserver);
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
