import { randomUUID } from "node:crypto";
import { inBoundary, messageOf } from "../base/faults.ts";
import { untilAborted } from "../base/waiting.ts";
import type { Viewer } from "../broker/policy/authorizer.ts";
import { findLanguage, type Language, type Preparation, type TypecheckMode } from "../languages/language.ts";
import { loadPrinterOr } from "../languages/languages.ts";
import { type ModuleSource, UsedModules } from "../languages/module-source.ts";
import { adviseProgram, type Prepared, prepareProgram } from "../languages/prepare-program.ts";
import type { Program, ProgramSession } from "../languages/program.ts";
import { resolveProgram, type UnresolvedProgram } from "../languages/resolve-program.ts";
import type { ConsoleEntry } from "../protocol/console-stream.ts";
import {
  MAX_CLAIM_FAILURE_BYTES,
  MAX_FILE_RESULT_BYTES,
  MAX_FILE_RESULT_VALUES,
} from "../protocol/limits.ts";
import type { ProgramEnvironment } from "../protocol/messages.ts";
import { bothPhases, duringPhase, type OnPhase } from "../protocol/run-context.ts";
import type { Sandbox, SandboxOutput, SandboxSource, SandboxUse } from "../sandbox/sandbox.ts";
import { SandboxError } from "../sandbox/sandbox-error.ts";
import { Experiments } from "./experiment/experiments.ts";
import { limitsOf, openScope } from "./live-run.ts";
import { fail, type Outcome } from "./outcome.ts";
import type { ExecutedProgram, ExecutedRun } from "./output/executed-run.ts";
import { maxResultBytes, RunnerOutput } from "./output/runner-output.ts";
import { rehearse } from "./plan/rehearsal.ts";
import { unrehearsed } from "./planning.ts";
import type { Elsewhere } from "./program-inside.ts";
import { RecordedModules } from "./recorded-modules.ts";
import {
  type Carried,
  executeRun,
  type OpenRun,
  type RunBody,
  type RunScope,
  type SealedOutcome,
} from "./run.ts";
import type { ProgramHost, RunStart, RunTools } from "./run-host.ts";
import { runInside } from "./run-inside.ts";
import type { ProgramRequest } from "./run-request.ts";
import { ServersAhead } from "./servers-ahead.ts";
import { divergenceOf, environmentOf, isToBeTriedAgain } from "./suspension/continuation.ts";
import { ResumedCalls } from "./suspension/resumed-calls.ts";
import { TimeLimit } from "./time-limit.ts";

/**
 * One program, from the request to its answer. `runProgram` carries out a live run. It shares `executeProgram` with a replay: the
 * program is checked and bundled while a sandbox starts, sent in, and judged by how it ended.
 */

/**
 * Runs a program for a request: settles its language, waits for its turn in its session, opens the scope of the run, executes it,
 * and leaves the session. Failures of the program, a server or an engine are in the envelope.
 */
export async function runProgram(
  request: ProgramRequest,
  host: ProgramHost,
  { tools, arrival }: RunStart,
): Promise<ExecutedProgram> {
  const { context, resumed } = request;
  const earlier = resumed?.run;
  const languages = await (earlier === undefined
    ? host.languages.on()
    : host.languages.recorded(earlier.program.language));
  const program = await resolveProgram(request.program, languages);
  const printer = await loadPrinterOr(program.language);
  const modules = earlier
    ? new RecordedModules(new Map(earlier.modules), printer, earlier.knownModules)
    : tools.modulesFor(context, printer);
  const entered = await host.sessions.enter(request, program.language, arrival);
  try {
    const { all, programs } = tools;
    const { servers } = host;
    const callable = programs?.forRun(modules, all, servers) ?? { modules, tools: all, servers };
    const runId = earlier?.runId ?? randomUUID();
    if (request.onEvent !== undefined) host.runs?.subscribe(request.onEvent, runId);
    const { execution } = host.configuration();
    const scope = await openScope(request, host, {
      runId,
      program,
      callable,
      earlier,
      state: entered?.state,
      conversation: entered?.conversation,
      tools: all,
      limits: earlier?.limits ?? limitsFor(request, host),
      beforeCalls: request.beforeCalls,
    });
    const programScope: ProgramScope = {
      ...scope,
      program,
      languages,
      modules: callable.modules,
      resumed,
      sandboxes: (request.leavesSpare ? host.sandboxes.sparing?.() : undefined) ?? host.sandboxes,
      typecheck: request.typecheck ?? execution.typecheck,
      checkPatienceMs: request.checkPatienceMs,
      onConsole(entry) {
        host.runs?.publish({ runId, context, kind: "printed", ...entry });
        request.onConsole?.(entry);
      },
      async startServer(module) {
        const server = all.servers.find((each) => each.module === module);
        if (server?.tools.some((tool) => host.authorizer.isVisible(context, tool)) === true)
          await servers.startAhead?.(server.name, context.principal);
      },
      onRan: request.allowance && ((ms) => request.allowance?.useCpu(ms * execution.cpus)),
      onPhase: bothPhases(scope.surroundings?.traced?.onPhase, request.onPhase),
    };
    if (entered === undefined) return await executeProgram(programScope);
    return await entered.execute((own) => executeProgram({ ...programScope, ...own }));
  } finally {
    entered?.leave();
  }
}

/** Bundles a program and checks its types without running it. Messages may hold secrets. */
export async function checkProgram(
  unresolved: UnresolvedProgram,
  viewer: Viewer,
  { languages, sandboxes }: Pick<ProgramHost, "languages" | "sandboxes">,
  { tools }: { tools: Pick<RunTools, "modulesFor"> },
): Promise<Preparation> {
  const program = await resolveProgram(unresolved, await languages.on());
  const language = findLanguage(await languages.recorded(program.language), program.language);
  if (language === undefined)
    return { ok: false, type: "BundleError", message: `'${program.language}' is no language`, reasons: [] };
  const modules = tools.modulesFor(viewer, await loadPrinterOr(program.language));
  return language.prepare(program, modules, { mode: "error", platform: sandboxes.platform });
}

/** The limits of a program that a request asks for. */
export function limitsFor({ timeoutMs, toFile = false }: ProgramRequest, host: ProgramHost) {
  const limits = limitsOf(host.configuration());
  return {
    ...limits,
    maxResult: toFile ? { bytes: MAX_FILE_RESULT_BYTES, values: MAX_FILE_RESULT_VALUES } : undefined,
    timeoutMs: timeoutMs ?? limits.timeoutMs,
  };
}

/** The scope of a program's run. */
export interface ProgramScope extends RunScope, Pick<ProgramRequest, "checkPatienceMs" | "onConsole"> {
  readonly program: Program;
  readonly sandboxes: SandboxSource;
  /** The languages that programs may be written in. */
  readonly languages: readonly Language[];
  readonly modules: ModuleSource;
  readonly typecheck: TypecheckMode;
  /** Clock and randomness for a replay. A live run gets new ones. */
  readonly environment?: ProgramEnvironment | undefined;
  /** The session that the program runs in. `sandboxes` provides its sandbox. */
  readonly session?: ProgramSession | undefined;
  /** Starts the server of a module that the program names, if the policy allows any of its tools. By default the first call does. */
  readonly startServer?: ((module: string) => Promise<void>) | undefined;
  /** Receives how long the program has run, pauses left out. */
  readonly onRan?: ((ms: number) => void) | undefined;
  /** Is called when a part of the run begins. */
  readonly onPhase?: OnPhase | undefined;
}

/**
 * Runs one program as `executeRun` does: bundles it and checks its types while a sandbox starts, sends it in, answers its calls,
 * and judges how it ended.
 */
export function executeProgram(scope: ProgramScope): Promise<ExecutedProgram> {
  return executeRun(scope, new ProgramBody(scope));
}

type OwnOfProgram = Omit<ExecutedProgram, keyof ExecutedRun | "cleared">;

class ProgramBody implements RunBody<OwnOfProgram> {
  readonly program: Program;
  readonly environment: ProgramEnvironment;
  readonly typecheck: TypecheckMode;
  readonly modules: UsedModules;
  readonly session: ProgramSession["place"] | undefined;
  readonly timeLimit: TimeLimit;
  readonly #scope: ProgramScope;
  readonly #servers: ServersAhead;
  #prepared: Prepared | undefined;
  /** The image of the program's sandbox. */
  #image: string | undefined;
  #isConsoleCut = false;
  #isFaulted = false;
  readonly #sandboxes: RunSandbox[] = [];
  /** The output of the sandbox whose program is the run's. */
  #output: RunnerOutput;
  readonly #shown: ShownOnce;
  readonly #removals: Promise<void>[] = [];

  constructor(scope: ProgramScope) {
    const earlier = scope.resumed?.run;
    this.#scope = scope;
    this.program = scope.program;
    this.environment = scope.environment ?? environmentOf(earlier);
    this.typecheck = earlier?.typecheck ?? scope.typecheck;
    this.#servers = new ServersAhead(scope.startServer, scope.limits.maxParallelCalls);
    this.modules = new UsedModules(scope.modules, (module) => this.#servers.start(module));
    this.session = scope.session?.place;
    this.timeLimit = new TimeLimit(scope.limits.timeoutMs, scope.clock);
    this.#shown = new ShownOnce(scope.onConsole);
    this.#output = this.#outputTo(this.#shown.show);
  }

  #outputTo(onConsole: (entry: ConsoleEntry) => void): RunnerOutput {
    const { limits, redactor } = this.#scope;
    const mostBytes = maxResultBytes(limits) + MAX_CLAIM_FAILURE_BYTES;
    return new RunnerOutput(limits, mostBytes, onConsole, redactor);
  }

  async carryOut(run: OpenRun): Promise<Carried> {
    const { resumed } = this.#scope;
    const stop = new AbortController();
    const signal = AbortSignal.any([run.signal, stop.signal]);
    const calls = resumed && new ResumedCalls(resumed, () => stop.abort());
    let outcome = await this.#run({ ...run, signal }, calls);
    const output = this.#output;
    this.#scope.onRan?.(this.timeLimit.spentMs);
    if (run.faulted.aborted) {
      this.#isFaulted = true;
      const message = `the host could not continue this run: ${messageOf(run.faulted.reason)}`;
      outcome = { ...outcome, ...fail("InternalError", message) };
    }
    if (calls !== undefined && outcome.suspended === undefined && !this.#isFaulted)
      outcome = divergenceOf(outcome, calls) ?? outcome;
    if (calls?.isLive === false) await resumed?.leave(isToBeTriedAgain(outcome));
    this.#isConsoleCut = output.isConsoleCut;
    return {
      ...outcome,
      consoleText: output.consoleText,
      stderrText: output.stderrText,
      redactions: output.redactions,
      sandboxImage: this.#image,
      sandboxEngine:
        this.#image !== undefined && this.#scope.sandboxes.platform === "wasm" ? "wasm" : undefined,
      bundle: this.#prepared?.ok ? this.#prepared.bundle : undefined,
    };
  }

  /** Prepares the program while a sandbox starts, and runs it in the sandbox. */
  async #run(run: OpenRun, calls: ResumedCalls | undefined): Promise<Outcome> {
    const output = this.#output;
    const { program, checkPatienceMs, onPhase, resumed } = this.#scope;
    const check = {
      mode: resumed === undefined ? this.typecheck : "off",
      patienceMs: checkPatienceMs,
      platform: this.#scope.sandboxes.platform,
    } as const;
    const preparing = prepareProgram(program, { ...this.#scope, modules: this.modules }, check, onPhase);
    const sandbox = new RunSandbox(this.#scope, output, run.signal);
    this.#sandboxes.push(sandbox);
    sandbox.startAhead();
    try {
      const prepared = await untilAborted(preparing, run.signal);
      this.#prepared = prepared;
      if (prepared === undefined) return fail("Cancelled", "the run was cancelled");
      if (!prepared.ok) return { verdict: prepared };
      this.#scope.flow?.saved(this.modules.savedTexts());
      const acquired = await untilAborted(sandbox.acquire(), run.signal);
      if (acquired === undefined) return fail("Cancelled", "the run was cancelled");
      if (!acquired.ok) return fail("SandboxUnavailable", acquired.message);
      this.#image = acquired.sandbox.image;
      const { environment, timeLimit } = this;
      const experiments = this.#experiments(prepared, run.signal);
      this.#rehearseWith(prepared, run);
      const inside = {
        scope: this.#scope,
        run,
        prepared,
        environment,
        timeLimit,
        output,
        calls,
        experiments,
        // What follows values, and what is kept of a resumed run, has one sandbox for a run.
        elsewhere: experiments || calls ? undefined : this.#elsewhere(run.signal),
      };
      return await duringPhase(onPhase, "program", () => runInside(acquired.sandbox, inside));
    } catch (error) {
      return fail(error instanceof SandboxError ? "SandboxUnavailable" : "InternalError", messageOf(error));
    } finally {
      this.#servers.end();
    }
  }

  /** Where the run begins again if its own sandbox goes on in rehearsal. */
  #elsewhere(signal: AbortSignal): Elsewhere | undefined {
    if (this.#scope.session !== undefined) return undefined;
    return {
      leave: () => {
        this.#shown.leave();
        this.#output.flush();
      },
      acquire: async () => {
        const output = this.#outputTo(this.#shown.again);
        const sandbox = new RunSandbox(this.#scope, output, signal);
        // The rehearsal is over.
        this.#removals.push(...this.#sandboxes.map((each) => each.clear()));
        this.#sandboxes.push(sandbox);
        const acquired = await sandbox.acquire();
        if (acquired.ok) this.#output = output;
        return acquired.ok ? { ...acquired, output } : acquired;
      },
    };
  }

  /** Follows values by experiment where their content does not decide. A session's programs cannot run again one by one. */
  #experiments(prepared: Extract<Prepared, { ok: true }>, signal: AbortSignal): Experiments | undefined {
    const { flow, session, program } = this.#scope;
    if (flow === undefined || session !== undefined) return undefined;
    const sandboxes = sandboxesFor(program, this.#scope);
    const { environment } = this;
    const parts = {
      scope: this.#scope,
      program,
      prepared,
      environment,
      sandboxes,
      flow,
      signal,
      use: useOf(this.#scope),
    };
    const experiments = new Experiments(parts, Date.now());
    flow.experimentWith(experiments.try);
    return experiments;
  }

  /** Makes plans by rehearsals. A session's programs cannot run again one by one. */
  #rehearseWith(prepared: Extract<Prepared, { ok: true }>, run: OpenRun): void {
    const { rehearsals: open, session, program, resumed } = this.#scope;
    if (open === undefined) return;
    if (session !== undefined) {
      run.planning?.rehearseWith(async (_, asked) =>
        unrehearsed(asked, "the program runs in a session, and is not rehearsed"),
      );
      return;
    }
    const { environment } = this;
    const startedAt = resumed?.run.startedAt ?? Date.now();
    const parts = {
      scope: this.#scope,
      program,
      prepared,
      environment,
      startedAt,
      open,
      signal: run.signal,
      sandboxes: sandboxesFor(program, this.#scope),
      use: useOf(this.#scope),
      observer: { onCall: run.recording?.onRehearsed },
      leave: (removal: Promise<void>) => void this.#removals.push(removal),
    };
    run.planning?.rehearseWith((moment, asked, own) => rehearse(parts, moment, asked, own));
  }

  async answer(sealed: SealedOutcome): Promise<OwnOfProgram> {
    const { verdict, outcome, emitted } = sealed;
    const prepared = this.#prepared;
    return {
      program: this.program,
      consoleText: outcome.consoleText ?? "",
      isConsoleCut: this.#isConsoleCut,
      stderrText: outcome.stderrText ?? "",
      emitted,
      resultFrom: verdict.ok ? verdict.from : undefined,
      reasons: prepared?.ok === false && !this.#isFaulted ? prepared.reasons : [],
      typeWarning: prepared?.ok ? prepared.warning : undefined,
      unchecked: prepared?.ok ? prepared.unchecked : undefined,
      advice: outcome.suspended === undefined ? await this.#advise(sealed) : [],
    };
  }

  async clear(): Promise<void> {
    await Promise.all([...this.#sandboxes.map((each) => each.clear()), ...this.#removals]);
  }

  /** What to do about how the program ended, after the hints of its check. A failure to find advice is ignored. */
  async #advise({ verdict, outcome }: SealedOutcome): Promise<readonly string[]> {
    const prepared = this.#prepared;
    if (prepared?.ok !== true) return [];
    const { hints } = prepared;
    const { consoleText = "", emitted = [], advice = [] } = outcome;
    if (advice.length > 0) return [...hints, ...advice];
    const isEmpty =
      verdict.ok && verdict.from === "console" && consoleText.trim() === "" && emitted.length === 0;
    const find = async () => {
      // Advice quotes the beginning of answers, so they are redacted before they are cut.
      const answers = (outcome.answers ?? []).map(({ tool, value }) => ({
        tool,
        value: this.#scope.redactor.redactValue(value).value,
      }));
      const data = verdict.ok && verdict.from === "result" ? verdict.data : undefined;
      const { platform } = this.#scope.sandboxes;
      const ended = verdict.ok
        ? { ok: true as const, consoleText, isEmpty, data, answers, platform }
        : { ok: false as const, error: verdict.error, answers, platform };
      return adviseProgram(this.program, ended, { ...this.#scope, modules: this.modules });
    };
    return [...hints, ...(await find().catch(() => []))];
  }
}

/** Shows what a program prints once, though the run may begin again in another sandbox and print it again. */
class ShownOnce {
  readonly #onConsole: (entry: ConsoleEntry) => void;
  readonly #shown = { out: 0, err: 0 };
  #isLeft = false;

  constructor(onConsole: (entry: ConsoleEntry) => void = () => {}) {
    this.#onConsole = onConsole;
  }

  /** Shows what the first sandbox prints. */
  readonly show = (entry: ConsoleEntry): void => {
    if (this.#isLeft) return;
    this.#shown[entry.stream] += entry.text.length;
    this.#onConsole(entry);
  };

  /** Shows nothing more of the first sandbox. */
  leave(): void {
    this.#isLeft = true;
  }

  /** Shows what the second sandbox prints, but for what the first one has printed. */
  readonly again = ({ stream, text }: ConsoleEntry): void => {
    const rest = text.slice(this.#shown[stream]);
    this.#shown[stream] = Math.max(0, this.#shown[stream] - text.length);
    if (rest !== "") this.#onConsole({ stream, text: rest });
  };
}

/** A sandbox, or the reason why it could not be started. */
type Acquired = { ok: true; sandbox: Sandbox } | { ok: false; message: string };

/** A sandbox of a run. It is acquired at most once, and removed whether it was used or not. */
class RunSandbox {
  readonly #source: SandboxSource;
  readonly #output: SandboxOutput;
  readonly #signal: AbortSignal;
  readonly #use: SandboxUse | undefined;
  readonly #onPhase: OnPhase | undefined;
  readonly #giveUp = new AbortController();
  #acquiring: Promise<Acquired> | undefined;
  #clearing: Promise<void> | undefined;

  /** @param signal cancels the acquiring of the sandbox. */
  constructor(scope: ProgramScope, output: RunnerOutput, signal: AbortSignal) {
    this.#onPhase = scope.onPhase;
    this.#use = useOf(scope);
    this.#source = sandboxesFor(scope.program, scope);
    // A warm sandbox was started outside this run's fault boundary, so its output is brought back inside.
    this.#output = {
      onStdout: inBoundary((chunk: Buffer) => output.onStdout(chunk)),
      onStderr: inBoundary((chunk: Buffer) => output.onStderr(chunk)),
    };
    this.#signal = AbortSignal.any([signal, this.#giveUp.signal]);
  }

  /** Starts a sandbox unless a warm one is ready. The program may turn out not to need it. */
  startAhead(): void {
    if (this.#source.ready !== true) this.acquire().catch(() => {});
  }

  /** Rejects only with faults of the host. */
  acquire(): Promise<Acquired> {
    this.#acquiring ??= duringPhase(this.#onPhase, "sandbox_wait", () => this.#acquire());
    return this.#acquiring;
  }

  /** Cancels the acquiring, and resolves when the sandbox is removed. Never rejects. */
  clear(): Promise<void> {
    this.#clearing ??= this.#clear();
    return this.#clearing;
  }

  async #clear(): Promise<void> {
    this.#giveUp.abort();
    const acquired = await this.#acquiring?.catch(() => undefined);
    if (acquired?.ok) await acquired.sandbox.dispose();
  }

  async #acquire(): Promise<Acquired> {
    try {
      return { ok: true, sandbox: await this.#source.acquire(this.#output, this.#signal, this.#use) };
    } catch (error) {
      if (error instanceof SandboxError) return { ok: false, message: error.message };
      throw error;
    }
  }
}

/** What a sandbox of this run is for. A replay is nobody's. */
function useOf({ runId, principal }: Pick<ProgramScope, "runId" | "principal">): SandboxUse | undefined {
  return runId === undefined || principal === undefined ? undefined : { run: runId, principal };
}

/** The sandboxes that run programs of this program's language. */
export function sandboxesFor(
  { language }: Pick<Program, "language">,
  { sandboxes, languages }: Pick<ProgramScope, "sandboxes" | "languages">,
): SandboxSource {
  const runner = findLanguage(languages, language)?.runner;
  return runner === undefined ? sandboxes : (sandboxes.withRunner?.(runner) ?? sandboxes);
}
