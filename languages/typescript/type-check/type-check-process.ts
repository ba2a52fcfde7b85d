import type { DeclaredTool, GeneratedModule } from "../../../codegen/language-printer.ts";
import { MAX_ERROR_MESSAGE_CHARS } from "../../../protocol/limits.ts";
import type { Platform } from "../../../protocol/platform.ts";
import { PROGRAMS_MODULE } from "../../../protocol/tool-names.ts";
import type { LanguageProcesses } from "../../language.ts";
import type { ModuleSource } from "../../module-source.ts";
import { offersExtract } from "../../name-lookup.ts";
import type { Program } from "../../program.ts";
import { loadMentioned, mentionedToolNames, toolNamesOf, withoutUnavailable } from "../tool-names.ts";
import { type OpenedProgram, TypeScriptProcess } from "../typescript-api.ts";
import { findAbsentGlobals } from "./absent-globals.ts";
import { mayHaveRounded } from "./arguments.ts";
import { GeneratedTypes } from "./generated-types.ts";
import { CheckedFiles, CONFIG_PATH, type DataType, PROGRAM_PATH, ROOT } from "./project.ts";
import { findMistakes, type TypeMistake } from "./rules.ts";

/** The code after a program that imports the names of earlier programs, and their modules. */
async function earlierNames(
  program: Program,
  earlier: readonly Program[],
): Promise<{ behind: string; session: readonly string[] }> {
  if (earlier.length === 0) return { behind: "", session: [] };
  return (await import("../bundling/session-names.ts")).declareEarlier(program, earlier);
}

/** The findings in a program, as text for a model. */
interface Found {
  /** The mistakes that would fail at run time. `undefined` if there are none. */
  mistakes?: { message: string; count: number };
  /** Contradictions to observed results, one line each. */
  hints: readonly string[];
}

/** A program, with the modules and names for its check. */
interface Checked {
  program: Program;
  modules: ModuleSource;
  seen: ReadonlyMap<string, GeneratedModule>;
  toolNames: ReadonlyMap<string, DeclaredTool>;
  /** The code after the program, and the modules that it imports. */
  behind: string;
  session: readonly string[];
  dataType: DataType | undefined;
  platform: Platform | undefined;
}

/** The tool of a saved program, and the module that declares it. */
async function findSaved(tool: string, modules: ModuleSource) {
  const module = await (modules.peek ?? modules.load).call(modules, PROGRAMS_MODULE);
  const declared = module?.tools.find(({ namespacedName }) => namespacedName === tool);
  return module && declared && { module, declared };
}

/** One process of TypeScript with its virtual files. It checks one program at a time. */
export class TypeCheckProcess {
  readonly #files = new CheckedFiles();
  readonly #process: TypeScriptProcess;

  constructor(processes: LanguageProcesses) {
    this.#process = new TypeScriptProcess(ROOT, CONFIG_PATH, this.#files, processes);
  }

  /**
   * Starts the process and checks that it works.
   *
   * @throws if it does not, for example because TypeScript has no build for this platform.
   */
  async start(): Promise<void> {
    await this.#process.start();
    this.#files.replace({
      code: "export const works: number[] = [new Map<string, number>().size];",
      modules: new Map(),
      toolNames: new Map(),
      hasExtract: false,
    });
    const { program } = await this.#process.open();
    const problems = [
      ...(await program.getProgramDiagnostics()),
      ...(await program.getSemanticDiagnostics(PROGRAM_PATH)),
    ];
    const [first] = problems;
    if (first !== undefined) throw new Error(`TypeScript does not work here: ${first.text}`);
  }

  /** Aborted when the process has ended. */
  get gone(): AbortSignal {
    return this.#process.gone;
  }

  kill(): void {
    this.#process.kill();
  }

  /**
   * Finds the mistakes in a program. Findings by declared types are mistakes. Findings that depend on observed types are only hints.
   * To separate them, a program with findings is checked again without observed types.
   */
  async check(
    program: Program,
    modules: ModuleSource,
    earlier: readonly Program[],
    platform?: Platform,
  ): Promise<Found> {
    const { behind, session } = await earlierNames(program, earlier);
    const all = [program, ...earlier].map(({ code }) => code).join("\n");
    const seen = new Map(await loadMentioned(all, modules, { imported: true }));
    const { tool, data } = program.savedAs ?? { data: "any" };
    const saved = tool === undefined || data === "any" ? undefined : await findSaved(tool, modules);
    if (saved !== undefined) seen.set(PROGRAMS_MODULE, saved.module);
    const names = toolNamesOf(seen);
    const toolNames = new Map(
      mentionedToolNames(all).flatMap((name) => {
        const [tool, another] = names.resolve(name);
        return tool?.isAvailable && another === undefined ? [[name, tool] as const] : [];
      }),
    );
    const dataType = saved && { name: saved.declared.input, isOpen: data === "open" };
    const checked = { program, modules, seen, toolNames, behind, session, dataType, platform };
    const found = await this.#find(checked, false);
    const isSure = found.length === 0 || [...seen.values()].every(({ tools }) => !tools.some(isObserved));
    const sure = isSure ? found : await this.#find(checked, true);
    const known = new Set(sure.map(({ start, text }) => `${start} ${text}`));
    const unsure = found.filter(({ start, text }) => !known.has(`${start} ${text}`));
    const { code, fileName } = program;
    const hints = renderTypeHints(unsure, code, fileName);
    if (sure.length === 0) return { hints };
    return { mistakes: { message: renderFindings(sure, code, fileName), count: sure.length }, hints };
  }

  async #find(
    { program, modules, seen, toolNames, behind, session, dataType, platform }: Checked,
    declaredOnly: boolean,
  ): Promise<TypeMistake[]> {
    const changes = this.#files.replace({
      code: `${program.code}${behind}`,
      session,
      dataType,
      modules: new Map(
        [...seen].map(([name, module]) => [name, withoutUnavailable(module, { declaredOnly })]),
      ),
      toolNames,
      hasExtract: await offersExtract(program.code, modules),
    });
    const opened = await this.#process.open(changes);
    const found = await Promise.all([
      opened.program.getSyntacticDiagnostics(PROGRAM_PATH),
      opened.program.getSemanticDiagnostics(PROGRAM_PATH),
    ]);
    // Text after the end of the program is not its own.
    const [syntax, semantics] = found.map((each) => each.filter(({ pos }) => pos <= program.code.length));
    if (syntax === undefined || semantics === undefined) return [];
    if (syntax.length > 0) return [];
    // TypeScript reports no unknown members that are read by a text, and no numbers that lose digits.
    const isSuspicious = /\[\s*["']/.test(program.code) || mayHaveRounded(program.code);
    const absent = platform === "wasm" ? await this.#findAbsent(opened) : [];
    if (semantics.length === 0 && !isSuspicious) return absent;
    return [...absent, ...(await this.#judge(opened, semantics, [...seen.values()], modules))];
  }

  /** Uses of globals that the platform lacks. */
  async #findAbsent({ program: checked, checker }: OpenedProgram): Promise<TypeMistake[]> {
    const file = await checked.getSourceFile(PROGRAM_PATH);
    return file === undefined ? [] : findAbsentGlobals(file, checker);
  }

  async #judge(
    { program: checked, checker }: OpenedProgram,
    diagnostics: Awaited<ReturnType<OpenedProgram["program"]["getSemanticDiagnostics"]>>,
    seen: readonly GeneratedModule[],
    modules: ModuleSource,
  ): Promise<TypeMistake[]> {
    const file = await checked.getSourceFile(PROGRAM_PATH);
    if (file === undefined) throw new Error("TypeScript lost the program");
    const generated = new GeneratedTypes(checker, seen);
    return findMistakes(diagnostics, { checker, file, generated, modules });
  }
}

function isObserved(tool: DeclaredTool): boolean {
  return tool.isAvailable && tool.isObserved;
}

const MAX_ERRORS_SHOWN = 5;
const MAX_LINE_CHARS = 200;
const MAX_TEXT_CHARS = 300;

/**
 * Renders mistakes for a model: each with its place (from 1, columns in UTF-16 code units) and line, then the signatures of
 * the tools concerned. Never longer than an envelope's message may be.
 */
function renderFindings(findings: readonly TypeMistake[], code: string, fileName: string): string {
  const shown = findings.slice(0, MAX_ERRORS_SHOWN);
  const lines = shown.flatMap(({ start, text }) => {
    const { line, column, lineText } = placeOf(code, start);
    return [`${fileName}:${line}:${column}: ${cut(text)}`, `    ${excerpt(lineText, column)}`];
  });
  if (findings.length > shown.length) lines.push(`and ${findings.length - shown.length} more`);
  const tools = new Set(shown.flatMap(({ tool }) => tool ?? []));
  for (const tool of tools) {
    const line = `expected: ${tool.signature()}`;
    if ([...lines, line].join("\n").length <= MAX_ERROR_MESSAGE_CHARS) lines.push(line);
  }
  return lines.join("\n").slice(0, MAX_ERROR_MESSAGE_CHARS);
}

/** The most hints for one program. */
const MAX_HINTS = 3;

/** Renders contradictions to the results observed so far, one line each. They may be correct, and stop nothing. */
function renderTypeHints(findings: readonly TypeMistake[], code: string, fileName: string): string[] {
  return findings.slice(0, MAX_HINTS).map(({ start, text }) => {
    const { line, column } = placeOf(code, start);
    return `by the results observed so far, which may not be all there are, at ${fileName}:${line}:${column}: ${cut(text)}`;
  });
}

function placeOf(code: string, start: number): { line: number; column: number; lineText: string } {
  const before = code.slice(0, start).split(/\r\n|[\n\r\u2028\u2029]/);
  const lineStart = start - (before.at(-1)?.length ?? 0);
  const [lineText = ""] = code.slice(lineStart).split(/[\n\r\u2028\u2029]/, 1);
  return { line: before.length, column: start - lineStart + 1, lineText };
}

function cut(text: string): string {
  return text.length <= MAX_TEXT_CHARS ? text : `${text.slice(0, MAX_TEXT_CHARS)}...`;
}

/** The line, or the part around a column of a long one. */
function excerpt(line: string, column: number): string {
  if (line.trim().length <= MAX_LINE_CHARS) return line.trim();
  const from = Math.max(0, column - MAX_LINE_CHARS / 2);
  return `${from > 0 ? "..." : ""}${line.slice(from, from + MAX_LINE_CHARS).trim()}...`;
}
