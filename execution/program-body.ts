import { inBoundary, messageOf } from "../base/faults.ts";
import { untilAborted } from "../base/waiting.ts";
import { findLanguage, type Language, type TypecheckMode } from "../languages/language.ts";
import type { ModuleSource } from "../languages/module-source.ts";
import { UsedModules } from "../languages/module-source.ts";
import { adviseProgram, type Prepared, prepareProgram } from "../languages/prepare-program.ts";
import type { Program, ProgramSession } from "../languages/program.ts";
import type { ConsoleEntry } from "../protocol/console-stream.ts";
import { MAX_CLAIM_FAILURE_BYTES } from "../protocol/limits.ts";
import type { ProgramEnvironment } from "../protocol/messages.ts";
import { duringPhase, type OnPhase } from "../protocol/run-context.ts";
import type { Sandbox, SandboxOutput, SandboxSource } from "../sandbox/sandbox.ts";
import { SandboxError } from "../sandbox/sandbox-error.ts";
import { fail, type Outcome } from "./outcome.ts";
import type { ExecutedProgram, ExecutedRun } from "./output/executed-run.ts";
import { maxResultBytes, RunnerOutput } from "./output/runner-output.ts";
import {
  type Carried,
  executeRun,
  type OpenRun,
  type RunBody,
  type RunScope,
  type SealedOutcome,
} from "./run.ts";
import { runInside } from "./run-inside.ts";
import { divergenceOf, environmentOf, isToBeTriedAgain } from "./suspension/continuation.ts";
import { ResumedCalls } from "./suspension/resumed-calls.ts";
import { TimeLimit } from "./time-limit.ts";

/** What a program is executed with. */
export interface ProgramScope extends RunScope {
  readonly program: Program;
  readonly sandboxes: SandboxSource;
  /** The languages that programs may be written in. */
  readonly languages: readonly Language[];
  readonly modules: ModuleSource;
  readonly typecheck: TypecheckMode;
  /** How many milliseconds the program waits for its type check before it runs unchecked; by default, as its language says. */
  readonly checkPatienceMs?: number | undefined;
  /** Clock and randomness for a replay. A live run gets random values of its own. */
  readonly environment?: ProgramEnvironment | undefined;
  /** The session that the program runs in, whose sandbox `sandboxes` has. */
  readonly session?: ProgramSession | undefined;
  /** Receives console text as it is printed, bounded by the limits. */
  readonly onConsole?: ((entry: ConsoleEntry) => void) | undefined;
  /** Is told of the run's parts. */
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
  #prepared: Prepared | undefined;
  /** The image of the sandbox that the program came to run in. */
  #image: string | undefined;
  #isConsoleCut = false;
  #isFaulted = false;
  #sandbox: RunSandbox | undefined;

  constructor(scope: ProgramScope) {
    const earlier = scope.resumed?.run;
    this.#scope = scope;
    this.program = scope.program;
    this.environment = scope.environment ?? environmentOf(earlier);
    this.typecheck = earlier?.typecheck ?? scope.typecheck;
    this.modules = new UsedModules(scope.modules);
    this.session = scope.session?.place;
    this.timeLimit = new TimeLimit(scope.limits.timeoutMs, scope.clock);
  }

  async carryOut(run: OpenRun): Promise<Carried> {
    const { limits, redactor, resumed, onConsole = () => {} } = this.#scope;
    const stop = new AbortController();
    const signal = AbortSignal.any([run.signal, stop.signal]);
    const calls = resumed && new ResumedCalls(resumed, () => stop.abort());
    const mostBytes = maxResultBytes(limits) + MAX_CLAIM_FAILURE_BYTES;
    const output = new RunnerOutput(limits, mostBytes, onConsole, redactor);
    let outcome = await this.#run({ ...run, signal }, output, calls);
    if (run.faulted.aborted) {
      this.#isFaulted = true;
      const message = `the host could not go on with this run: ${messageOf(run.faulted.reason)}`;
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
      bundle: this.#prepared?.ok ? this.#prepared.bundle : undefined,
    };
  }

  /** Prepares the program while a sandbox starts, and runs it in there. */
  async #run(run: OpenRun, output: RunnerOutput, calls: ResumedCalls | undefined): Promise<Outcome> {
    const { program, checkPatienceMs, onPhase, resumed } = this.#scope;
    const check = {
      mode: resumed === undefined ? this.typecheck : "off",
      patienceMs: checkPatienceMs,
    } as const;
    const preparing = prepareProgram(program, { ...this.#scope, modules: this.modules }, check, onPhase);
    const sandbox = new RunSandbox(this.#scope, output, run.signal);
    this.#sandbox = sandbox;
    sandbox.startAhead();
    try {
      const prepared = await untilAborted(preparing, run.signal);
      this.#prepared = prepared;
      if (prepared === undefined) return fail("Cancelled", "the run was cancelled");
      if (!prepared.ok) return { verdict: prepared };
      const acquired = await untilAborted(sandbox.acquire(), run.signal);
      if (acquired === undefined) return fail("Cancelled", "the run was cancelled");
      if (!acquired.ok) return fail("SandboxUnavailable", acquired.message);
      this.#image = acquired.sandbox.image;
      const { environment, timeLimit } = this;
      const inside = { scope: this.#scope, run, prepared, environment, timeLimit, output, calls };
      return await duringPhase(onPhase, "program", () => runInside(acquired.sandbox, inside));
    } catch (error) {
      return fail(error instanceof SandboxError ? "SandboxUnavailable" : "InternalError", messageOf(error));
    }
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
    await this.#sandbox?.clear();
  }

  /** What to do about how the program has ended, after what its check hinted at. Without any advice the run is as it is. */
  async #advise({ verdict, outcome }: SealedOutcome): Promise<readonly string[]> {
    const prepared = this.#prepared;
    if (prepared?.ok !== true) return [];
    const { hints } = prepared;
    const { consoleText = "", emitted = [], advice = [] } = outcome;
    if (advice.length > 0) return [...hints, ...advice];
    const isEmpty =
      verdict.ok && verdict.from === "console" && consoleText.trim() === "" && emitted.length === 0;
    const ended = verdict.ok
      ? { ok: true as const, consoleText, isEmpty }
      : { ok: false as const, error: verdict.error };
    const parts = { ...this.#scope, modules: this.modules };
    return [...hints, ...(await adviseProgram(this.program, ended, parts).catch(() => []))];
  }
}

/** A sandbox, or the reason why none could be started. */
type Acquired = { ok: true; sandbox: Sandbox } | { ok: false; message: string };

/** The only sandbox of a run. It is acquired at most once, and removed whether it was used or not. */
class RunSandbox {
  readonly #source: SandboxSource;
  readonly #output: SandboxOutput;
  readonly #signal: AbortSignal;
  readonly #onPhase: OnPhase | undefined;
  readonly #giveUp = new AbortController();
  #acquiring: Promise<Acquired> | undefined;

  /** @param signal cancels the acquiring of the sandbox. */
  constructor(scope: ProgramScope, output: RunnerOutput, signal: AbortSignal) {
    this.#onPhase = scope.onPhase;
    this.#source = sandboxesFor(scope.program, scope);
    // A warm sandbox was started outside this run's fault boundary, so its output is brought back inside.
    this.#output = {
      onStdout: inBoundary((chunk: Buffer) => output.onStdout(chunk)),
      onStderr: inBoundary((chunk: Buffer) => output.onStderr(chunk)),
    };
    this.#signal = AbortSignal.any([signal, this.#giveUp.signal]);
  }

  /** Starts a sandbox unless a warm one waits, which the program may turn out not to need. */
  startAhead(): void {
    if (this.#source.ready !== true) this.acquire().catch(() => {});
  }

  /** Rejects only with faults of the host. */
  acquire(): Promise<Acquired> {
    this.#acquiring ??= duringPhase(this.#onPhase, "sandbox_wait", () => this.#acquire());
    return this.#acquiring;
  }

  /** Cancels the acquiring, and resolves when the sandbox is removed. Never rejects. */
  async clear(): Promise<void> {
    this.#giveUp.abort();
    const acquired = await this.#acquiring?.catch(() => undefined);
    if (acquired?.ok) await acquired.sandbox.dispose();
  }

  async #acquire(): Promise<Acquired> {
    try {
      return { ok: true, sandbox: await this.#source.acquire(this.#output, this.#signal) };
    } catch (error) {
      if (error instanceof SandboxError) return { ok: false, message: error.message };
      throw error;
    }
  }
}

/** Sandboxes that run programs of this one's language. */
export function sandboxesFor(
  { language }: Pick<Program, "language">,
  { sandboxes, languages }: Pick<ProgramScope, "sandboxes" | "languages">,
): SandboxSource {
  const runner = findLanguage(languages, language)?.runner;
  return runner === undefined ? sandboxes : (sandboxes.withRunner?.(runner) ?? sandboxes);
}
