import type { ArchiveStore } from "../archive/archive-store.ts";
import type { AuditLog } from "../archive/audit/audit-log.ts";
import { clock } from "../base/clock.ts";
import type { Authorizer, Viewer } from "../broker/policy/authorizer.ts";
import { IsolatingValidator } from "../broker/schemas/schema-validator.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { checkProgram, type ProgramHost, runProgram } from "../execution/live-program.ts";
import { makeCall } from "../execution/live-run.ts";
import type { ExecutedCall, ExecutedProgram } from "../execution/output/executed-run.ts";
import type { Replayed } from "../execution/replay/replay-program.ts";
import type { ReplayRequest } from "../execution/replay/replay-run.ts";
import type { CallRequest, ProgramRequest } from "../execution/run-request.ts";
import type { RunFeed } from "../execution/runs/run-feed.ts";
import { LazySessions, projectOf } from "../execution/sessions/open-sessions.ts";
import type { SessionsOptions } from "../execution/sessions/sessions.ts";
import type { Preparation } from "../languages/language.ts";
import { OpenLanguages } from "../languages/languages.ts";
import type { UnresolvedProgram } from "../languages/resolve-program.ts";
import { beginLogin } from "../logins/log-in.ts";
import { loginServer } from "../logins/logins.ts";
import type { LoginSecrets } from "../logins/user-secrets.ts";
import type { OpenEngine } from "../sandbox/sandbox-engine.ts";
import type { Redactor } from "../secrets/redaction.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { moduleUrl } from "../system/package.ts";
import type { OwnProcess } from "../system/state-directory.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ProgramTools } from "../tools/program-tools.ts";
import type { FollowedListings, LiveToolServers } from "../upstream/live-tool-servers.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import { composeRecords } from "./records.ts";
import { type ComposedSandboxes, composeSandboxes } from "./sandboxes.ts";
import { composeServers, liveServers } from "./upstreams.ts";

export interface CompositionOptions {
  env: EnvironmentVariables;
  own: OwnProcess;
  pool: UpstreamPool;
  /** What logins at its servers read secrets with. */
  secrets: LoginSecrets;
  /** Decides who may call what. */
  authorizer: Authorizer;
  /** Starts sandboxes; by default the engine of `./engine.ts`. */
  engine?: OpenEngine | undefined;
  /** Keeps the runs. It is closed with the execution. */
  archive: Pick<ArchiveStore, "begin" | "close">;
  redactor: Redactor;
  audit: AuditLog;
  /** Receives the events of runs. */
  runs: RunFeed;
  /** Tells a collector of runs. */
  telemetry?: Telemetry | undefined;
  /** How many sandboxes are kept started; none by default. */
  warm?: number | undefined;
  /** Sandboxes that were composed before, of which one is being started for the first program. */
  warmed?: ComposedSandboxes | undefined;
  listings?: FollowedListings | undefined;
  /** Says, once, how a session ended that an earlier process in the place of this one had. */
  takeLostSession?: SessionsOptions["takeLost"];
}

/** What executes runs. */
export interface Execution {
  servers: LiveToolServers;
  /** Runs later programs under another configuration. Its archive is not looked at. */
  reconfigure(next: Configuration): void;
  /** Starts in advance what the first program would otherwise wait for. */
  warm(): void;
  /** Runs a program with the given tools, also if the catalog changes meanwhile. */
  run(request: ProgramRequest, tools: ProgramTools): Promise<ExecutedProgram>;
  /** Makes one call without a sandbox. */
  call(request: CallRequest, tools: ProgramTools): Promise<ExecutedCall>;
  sessions: LazySessions;
  /** Bundles a program and checks its types, and does not run it. Messages may hold secrets. */
  check(program: UnresolvedProgram, tools: ProgramTools, viewer: Viewer): Promise<Preparation>;
  /** Runs a recorded program again, without any server. */
  replay(request: ReplayRequest): Promise<Replayed>;
  /**
   * Starts to end everything here but the servers. Neither promise rejects. `kept` resolves when every run is written to the
   * archive, `ended` when everything else has ended.
   */
  end(): { kept: Promise<void>; ended: Promise<void> };
}

/** Puts together what it takes to execute runs under a configuration. */
export function composeExecution(configuration: Configuration, options: CompositionOptions): Execution {
  let current = configuration;
  const { env, own, pool, secrets, audit, listings, telemetry } = options;
  const composed = options.warmed ?? composeSandboxes(configuration, own, options);
  const sandboxes = composed.pool;
  const swept = composed.sweep();
  telemetry?.observePool(() => sandboxes.state);
  const servers = composeServers(configuration, pool, listings);
  const validator = new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
  const languages = new OpenLanguages(configuration.languages, {
    onSpawn: (pid) => own.state.groups.record(pid),
    onExit: (pid) => own.state.groups.forget(pid),
    folder: own.state.path,
  });
  const records = composeRecords(configuration, options);
  const sessions = new LazySessions({
    sandboxesWith: (runner) => sandboxes.withRunner(runner),
    settings: () => current.sessions,
    clock,
    takeLost: options.takeLostSession,
    own,
    project: () => projectOf(current),
  });
  const host: ProgramHost = {
    ...{ env, servers, validator, sandboxes, languages, sessions, telemetry },
    configuration: () => current,
    redactor: options.redactor,
    authorizer: options.authorizer,
    recorder: records.recorder,
    runs: options.runs,
    startLogin: (principal) => (server, signal) =>
      beginLogin(loginServer(current, server), principal, {
        ...{ env, secrets, signal },
        onLogin: (event) => audit.login(event),
      }),
  };
  return {
    servers,
    sessions,
    reconfigure(next) {
      current = next;
      languages.turnOn(next.languages);
      servers.replace(liveServers(next, pool));
      composed.reconfigure(next);
    },
    warm() {
      sandboxes.warm();
      void languages.warm();
    },
    run: (request, tools) => runProgram(request, tools, host),
    call: (request, tools) => makeCall(request, tools, host),
    check: (program, tools, viewer) => checkProgram(program, tools, viewer, languages),
    async replay(request) {
      const { replayRun } = await import("../execution/replay/replay-run.ts");
      return replayRun(request, host);
    },
    end() {
      const ended = Promise.all([
        sessions.close(),
        validator.close(),
        languages.close(),
        sandboxes.close(),
        swept,
      ]);
      return { kept: records.close(), ended: ended.then(() => {}) };
    },
  };
}
