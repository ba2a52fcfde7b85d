import { randomUUID } from "node:crypto";
import type { Viewer } from "../broker/policy/authorizer.ts";
import type { LanguagePrinter } from "../codegen/language-printer.ts";
import { findLanguage, type Language, type Preparation } from "../languages/language.ts";
import { loadPrinterOr } from "../languages/languages.ts";
import { resolveProgram, type UnresolvedProgram } from "../languages/resolve-program.ts";
import { MAX_FILE_RESULT_BYTES, MAX_FILE_RESULT_VALUES } from "../protocol/limits.ts";
import type { SandboxSource } from "../sandbox/sandbox.ts";
import { limitsOf, openScope, type RunHost, type RunTools } from "./live-run.ts";
import type { ExecutedProgram } from "./output/executed-run.ts";
import { executeProgram } from "./program-body.ts";
import { RecordedModules } from "./replay/recorded-run.ts";
import type { ProgramRequest } from "./run-request.ts";
import type { LazySessions } from "./sessions/open-sessions.ts";
import type { SuspendedRun } from "./suspension/suspended-run.ts";

/** What all live programs of a host share. */
export interface ProgramHost extends RunHost {
  readonly sandboxes: SandboxSource;
  readonly sessions: LazySessions;
  readonly languages: HostLanguages;
}

/** The languages of programs. */
interface HostLanguages {
  /** Those that programs may be in just now, at least one. */
  on(): Promise<readonly Language[]>;
  /** Those and one more, for a program that was recorded in it. */
  recorded(language: string): Promise<readonly Language[]>;
}

/**
 * Runs a program for a request: settles its language, waits for its turn in its session, opens the scope of the run, executes it,
 * and leaves the session. Failures of the program, a server or an engine are in the envelope.
 */
export async function runProgram(
  request: ProgramRequest,
  tools: RunTools,
  host: ProgramHost,
): Promise<ExecutedProgram> {
  const { context, resumed } = request;
  const earlier = resumed?.run;
  const languages = await (earlier === undefined
    ? host.languages.on()
    : host.languages.recorded(earlier.program.language));
  const program = await resolveProgram(request.program, languages);
  const printer = await loadPrinterOr(program.language);
  const modules = earlier ? modulesOf(earlier, printer) : tools.modulesFor(context, printer);
  const entered = await host.sessions.enter(request.session, { ...request, program });
  try {
    const { all, programs } = tools;
    const { servers } = host;
    const callable = programs?.forRun(modules, all, servers) ?? { modules, tools: all, servers };
    const runId = earlier?.runId ?? randomUUID();
    if (request.onEvent !== undefined) host.runs?.subscribe(request.onEvent, runId);
    const { execution } = host.configuration();
    const scope = await openScope(request, host, {
      ...{ runId, program, callable, earlier, state: entered?.state },
      tools: all,
      limits: earlier?.limits ?? limitsFor(request, host),
      beforeCalls: request.beforeCalls,
    });
    return await (entered?.execute ?? executeProgram)({
      ...scope,
      ...{ program, languages, modules: callable.modules, sandboxes: host.sandboxes, resumed },
      typecheck: request.typecheck ?? execution.typecheck,
      checkPatienceMs: request.checkPatienceMs,
      onConsole: request.onConsole,
      onPhase: scope.surroundings?.traced?.onPhase,
    });
  } finally {
    entered?.leave();
  }
}

/** Bundles a program and checks its types, and does not run it. Messages may hold secrets. */
export async function checkProgram(
  unresolved: UnresolvedProgram,
  tools: Pick<RunTools, "modulesFor">,
  viewer: Viewer,
  languages: HostLanguages,
): Promise<Preparation> {
  const program = await resolveProgram(unresolved, await languages.on());
  const language = findLanguage(await languages.recorded(program.language), program.language);
  if (language === undefined)
    return { ok: false, type: "BundleError", message: `'${program.language}' is no language`, reasons: [] };
  const modules = tools.modulesFor(viewer, await loadPrinterOr(program.language));
  return language.prepare(program, modules, { mode: "error" });
}

/** The modules of a suspended run, as they were. */
function modulesOf({ modules, knownModules }: SuspendedRun, printer: LanguagePrinter): RecordedModules {
  return new RecordedModules(new Map(modules), printer, knownModules);
}

function limitsFor({ timeoutMs, toFile = false }: ProgramRequest, host: ProgramHost) {
  const limits = limitsOf(host.configuration());
  return {
    ...limits,
    maxResult: toFile ? { bytes: MAX_FILE_RESULT_BYTES, values: MAX_FILE_RESULT_VALUES } : undefined,
    timeoutMs: timeoutMs ?? limits.timeoutMs,
  };
}
