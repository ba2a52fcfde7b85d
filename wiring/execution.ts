import { randomUUID } from "node:crypto";
import type { ArchiveStore } from "../archive/archive-store.ts";
import type { AuditLog } from "../archive/audit/audit-log.ts";
import { clock } from "../base/clock.ts";
import { typedOnly } from "../broker/approvals/approvals.ts";
import { Dispatcher } from "../broker/dispatcher.ts";
import { limitExtracts } from "../broker/limit-extracts.ts";
import type { Authorizer, Viewer } from "../broker/policy/authorizer.ts";
import { RunState } from "../broker/policy/run-history.ts";
import { IsolatingValidator } from "../broker/schemas/schema-validator.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { DirectCall, ExecutedCall } from "../execution/execute-call.ts";
import { executeProgram, type RunOptions } from "../execution/execute-program.ts";
import type { ExecutedProgram } from "../execution/output/executed-program.ts";
import { keeperFor } from "../execution/pending/keeper-for.ts";
import { openPending } from "../execution/pending/open-pending.ts";
import { shareQuestions } from "../execution/pending/shared-questions.ts";
import type { CallOptions, ProgramOptions } from "../execution/program-runner.ts";
import { redactObserver } from "../execution/redact-observer.ts";
import { RecordedModules, type RecordedSession } from "../execution/replay/recorded-run.ts";
import { type RecordedRun, type Replayed, replayProgram } from "../execution/replay/replay-program.ts";
import { reportRun } from "../execution/runs/report-run.ts";
import type { RunFeed } from "../execution/runs/run-feed.ts";
import { type Arriving, LazySessions, projectOf } from "../execution/sessions/open-sessions.ts";
import type { SessionsOptions } from "../execution/sessions/sessions.ts";
import type { Preparation } from "../languages/language.ts";
import { loadPrinterOr, OpenLanguages } from "../languages/languages.ts";
import type { ModuleSource } from "../languages/module-source.ts";
import { type HandedIn, settleProgram } from "../languages/settle-program.ts";
import type { LoginSecrets } from "../logins/user-secrets.ts";
import { MAX_FILE_RESULT_BYTES, MAX_FILE_RESULT_VALUES, MAX_KEPT_OUTPUT_BYTES } from "../protocol/limits.ts";
import { EXTRACT_NAME } from "../protocol/tool-names.ts";
import type { OpenEngine } from "../sandbox/sandbox-engine.ts";
import type { Redactor } from "../secrets/redaction.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { moduleUrl, version } from "../system/package.ts";
import type { OwnProcess } from "../system/state-directory.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ProgramTools } from "../tools/program-tools.ts";
import type { FollowedListings, LiveToolServers } from "../upstream/live-tool-servers.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import { announceCalls } from "./announce-calls.ts";
import { checkProgram } from "./check-program.ts";
import { composeLogins } from "./compose-logins.ts";
import { composeRecords } from "./records.ts";
import { redactReplay, redactRun } from "./redact-run.ts";
import { type ComposedSandboxes, composeSandboxes } from "./sandboxes.ts";
import { stateOf } from "./suspended-state.ts";
import { keptTokens, passTraceOn, traceRun } from "./trace-run.ts";
import { composeServers, liveServers } from "./upstreams.ts";

export type ExecutionOptions = ProgramOptions & Arriving & Pick<RunOptions, "onConsole" | "resumed">;

export interface CompositionOptions {
  env: EnvironmentVariables;
  own: OwnProcess;
  pool: UpstreamPool;
  /** What logins at its servers read secrets with. */
  secrets: LoginSecrets;
  /** Decides who may call what. */
  authorizer: Authorizer;
  /** What starts sandboxes; by default the engine of `./engine.ts`. */
  engine?: OpenEngine | undefined;
  /** Keeps runs, and is closed when the execution ends. */
  archive: Pick<ArchiveStore, "begin" | "close">;
  redactor: Redactor;
  audit: AuditLog;
  /** Receives the events of runs. */
  runs: RunFeed;
  /** What tells a collector of runs. */
  telemetry?: Telemetry | undefined;
  /** How many sandboxes are kept started; defaults to none. */
  warm?: number | undefined;
  /** Sandboxes that were composed before, of which one is being started for the first program. */
  warmed?: ComposedSandboxes | undefined;
  listings?: FollowedListings | undefined;
  /** Says, once, how a session ended that an earlier process of this one's kind had. */
  takeLostSession?: SessionsOptions["takeLost"];
}

export interface Execution {
  servers: LiveToolServers;
  /** Has later programs run under another configuration. Its archive is not looked at. */
  reconfigure(next: Configuration): void;
  /** Starts in advance what the first program would otherwise wait for. */
  warm(): void;
  /** Runs a program with the given tools, also if the catalog changes meanwhile. */
  run(program: HandedIn, tools: ProgramTools, options: ExecutionOptions): Promise<ExecutedProgram>;
  /** Makes one call without a sandbox. */
  call(call: DirectCall, tools: ProgramTools, options: CallOptions): Promise<ExecutedCall>;
  sessions: LazySessions;
  /** Bundles a program and checks its types, and does not run it. Messages may hold secrets. */
  check(program: HandedIn, tools: ProgramTools, viewer: Viewer): Promise<Preparation>;
  /** Runs a recorded program again, without any server. */
  replay(
    run: RecordedRun,
    modules: ModuleSource,
    options: Parameters<typeof replayProgram>[2] & { recorded?: RecordedSession | undefined },
  ): Promise<Replayed>;
  /**
   * Begins to end everything here but the servers. Neither promise rejects. `kept` resolves when every run is written to
   * the archive, `ended` when everything else has ended.
   */
  end(): { kept: Promise<void>; ended: Promise<void> };
}

/** Wires what it takes to execute programs under a configuration. */
export function composeExecution(configuration: Configuration, options: CompositionOptions): Execution {
  let { execution } = configuration;
  let current = configuration;
  const { own, pool, authorizer, redactor, audit, runs, listings, telemetry } = options;
  const composed = options.warmed ?? composeSandboxes(configuration, own, options);
  const sandboxes = composed.pool;
  const swept = composed.sweep();
  telemetry?.observePool(() => sandboxes.state);
  const liveUpstreams = composeServers(configuration, pool, listings);
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
  const parts = { sandboxes, clock, toolVersion: version };
  const withLogins = composeLogins({
    env: options.env,
    secrets: options.secrets,
    audit,
    current: () => current,
  });
  return {
    servers: liveUpstreams,
    sessions,
    reconfigure(next) {
      current = next;
      execution = next.execution;
      languages.turnOn(next.languages);
      liveUpstreams.replace(liveServers(next, pool));
      composed.reconfigure(next);
    },
    warm() {
      sandboxes.warm();
      void languages.warm();
    },
    async run(
      handedIn,
      programTools,
      {
        context,
        approver,
        timeoutMs,
        toFile = false,
        typecheck,
        trace,
        onEvent,
        onCall,
        beforeCalls,
        suspends = false,
        session,
        arrival,
        ...rest
      },
    ) {
      const { all } = programTools;
      const earlier = rest.resumed?.run;
      const known = await (earlier === undefined
        ? languages.on()
        : languages.recorded(earlier.program.language));
      const program = await settleProgram(handedIn, known);
      const printer = await loadPrinterOr(program.language);
      const given =
        earlier === undefined
          ? programTools.modulesFor(context, printer)
          : new RecordedModules(new Map(earlier.modules), printer, earlier.knownModules);
      const entered = await sessions.enter(session, { context, program, signal: rest.signal, arrival });
      const runProgram = async (): Promise<ExecutedProgram> => {
        const { modules, tools, servers } = programTools.programs?.forRun(given, all, liveUpstreams) ?? {
          modules: given,
          tools: all,
          servers: liveUpstreams,
        };
        const runId = earlier?.runId ?? randomUUID();
        if (onEvent !== undefined) runs.subscribe(onEvent, runId);
        const state = earlier ? stateOf(earlier.calls, all, current) : (entered?.state ?? new RunState());
        const redaction = await redactRun(redactor, current, state);
        const report = reportRun((event) => runs.publish(event), { runId, context }, redaction.redactor);
        const watched = redactObserver(onCall === undefined ? {} : { onCall }, redaction.redactor);
        const own = new Dispatcher({
          context,
          tools,
          authorizer,
          state,
          servers,
          validator,
          redact: (message) => redactor.redactText(message).value,
          schemaMismatch: current.execution.schemaMismatch,
        });
        const model = current.servers.find((server) => server.transport === "model");
        const asked = earlier?.calls.filter(({ tool }) => tool === EXTRACT_NAME).length ?? 0;
        const limited = model === undefined ? own : limitExtracts(own, model.maxCalls, asked);
        const offering = withLogins(limited, context);
        const announced =
          beforeCalls === undefined ? offering : announceCalls(offering, () => beforeCalls(runId));
        const facts = {
          runId,
          context,
          language: program.language,
          trace,
          earlier: earlier?.place,
          tools: all,
        };
        const traced = traceRun(telemetry, current, facts);
        const passed =
          traced === undefined && trace !== undefined ? passTraceOn(trace, announced) : undefined;
        const dispatcher = traced?.overCalls(announced) ?? passed?.dispatcher ?? announced;
        const { fileName } = program;
        const reported = report.over(
          shareQuestions({
            approver: current.approvals.require === "terminal" ? typedOnly(approver) : approver,
            ...{ context, fileName, open: () => openPending(current, options.env) },
          }),
        );
        const recorder = records.recorder(context, programTools, redaction);
        const executed = await (entered?.execute ?? executeProgram)(
          program,
          {
            ...parts,
            ...redaction,
            languages: known,
            modules,
            dispatcher,
            approver: traced?.overQuestions(reported) ?? reported,
            recorder,
          },
          {
            ...rest,
            onCallStarted: report.onCallStarted,
            onCall(call) {
              report.onCall(call);
              return watched.onCall?.(call);
            },
            runId,
            traceId: traced?.traceId ?? passed?.traceId,
            onPhase: traced?.onPhase,
            keeper:
              suspends && current.approvals.suspend
                ? keeperFor(context, current, options.env, traced?.place)
                : undefined,
            limits: earlier?.limits ?? {
              ...execution,
              maxKeptBytes: MAX_KEPT_OUTPUT_BYTES,
              maxResult: toFile
                ? { bytes: MAX_FILE_RESULT_BYTES, values: MAX_FILE_RESULT_VALUES }
                : undefined,
              timeoutMs: timeoutMs ?? execution.timeoutMs,
            },
            typecheck: typecheck ?? execution.typecheck,
          },
        );
        report.end(executed.envelope);
        traced?.end(executed.envelope, keptTokens(executed.consoleText, executed.envelope));
        return executed;
      };
      try {
        return await runProgram();
      } finally {
        entered?.leave();
      }
    },
    async call(call, tools, callOptions) {
      const { makeCall } = await import("./make-call.ts");
      const { env } = options;
      const wired = { configuration: current, env, tools, authorizer, redactor, servers: liveUpstreams };
      const { context } = callOptions;
      const more = { validator, records, telemetry, runs };
      return makeCall(call, { ...wired, ...more, around: (own) => withLogins(own, context) }, callOptions);
    },
    check: (...program) => checkProgram(languages, ...program),
    async replay(run, modules, replayOptions) {
      const known = await languages.recorded((replayOptions.edited ?? run.program).language);
      const redactionOf = ({ pii }: RecordedRun) => redactReplay(redactor, pii);
      const recorded = { ...parts, ...(await redactionOf(run)), redactionOf, languages: known, modules };
      if (replayOptions.recorded === undefined) return replayProgram(run, recorded, replayOptions);
      const { replayInSession } = await import("../execution/replay/replay-session.ts");
      return replayInSession(run, recorded, replayOptions);
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
