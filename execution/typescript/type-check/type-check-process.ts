import type { GeneratedModule } from "../../../codegen/generated-module.ts";
import type { ModuleSource } from "../../prepare/module-source.ts";
import { offersExtract } from "../../prepare/offers-extract.ts";
import type { Program } from "../../program.ts";
import { loadMentioned, mentionedToolNames, toolNamesOf } from "../mentioned-tools.ts";
import { type OpenedProgram, type ProcessObserver, TypeScriptProcess } from "../typescript-api.ts";
import { withoutUnavailable } from "../unavailable-tools.ts";
import { CheckedFiles, type ProgramDeclarations } from "./files.ts";
import { GeneratedTypes } from "./generated-types.ts";
import { renderFindings } from "./message.ts";
import { CONFIG_PATH, PROGRAM_PATH, ROOT } from "./project.ts";
import { findMistakes } from "./rules.ts";

/** What is put behind a program so that it finds the names of earlier ones, and the modules that these are then. */
async function earlierNames(
  program: Program,
  earlier: readonly Program[],
): Promise<{ behind: string; session: readonly string[] }> {
  if (earlier.length === 0) return { behind: "", session: [] };
  return (await import("../session/earlier-types.ts")).declareEarlier(program, earlier);
}

/** The mistakes in a program, as text for a model. */
interface Mistakes {
  message: string;
  count: number;
}

/** One process of TypeScript and the files it has been shown. It checks one program at a time. */
export class TypeCheckProcess {
  readonly #files = new CheckedFiles();
  readonly #process: TypeScriptProcess;

  readonly #declarations: ProgramDeclarations;

  constructor(declarations: ProgramDeclarations, observer: ProcessObserver) {
    this.#declarations = declarations;
    this.#process = new TypeScriptProcess(ROOT, CONFIG_PATH, this.#files, observer);
  }

  /**
   * Starts the process and checks that it works.
   *
   * @throws when it does not, such as when TypeScript has no build for this platform.
   */
  async start(): Promise<void> {
    await this.#process.start();
    this.#files.replace({
      code: "export const works: number[] = [new Map<string, number>().size];",
      declarations: { ...this.#declarations, runtime: "export {};" },
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

  get ended(): Promise<void> {
    return this.#process.ended;
  }

  kill(): void {
    this.#process.kill();
  }

  /** Finds the mistakes in a program; `undefined` when there are none. */
  async check(
    program: Program,
    modules: ModuleSource,
    earlier: readonly Program[],
  ): Promise<Mistakes | undefined> {
    const { behind, session } = await earlierNames(program, earlier);
    const all = [program, ...earlier].map(({ code }) => code).join("\n");
    const seen = await loadMentioned(all, modules, { imported: true });
    const names = toolNamesOf(seen);
    const toolNames = new Map(
      mentionedToolNames(all).flatMap((name) => {
        const [tool, another] = names.resolve(name);
        return tool?.isAvailable && another === undefined ? [[name, tool] as const] : [];
      }),
    );
    const changes = this.#files.replace({
      code: `${program.code}${behind}`,
      session,
      declarations: this.#declarations,
      modules: new Map([...seen].map(([name, module]) => [name, withoutUnavailable(module)])),
      toolNames,
      hasExtract: await offersExtract(program.code, modules),
    });
    const opened = await this.#process.open(changes);
    const found = await Promise.all([
      opened.program.getSyntacticDiagnostics(PROGRAM_PATH),
      opened.program.getSemanticDiagnostics(PROGRAM_PATH),
    ]);
    // What is behind the program is none of its own.
    const [syntax, semantics] = found.map((each) => each.filter(({ pos }) => pos <= program.code.length));
    if (syntax === undefined || semantics === undefined) return undefined;
    if (syntax.length > 0 || semantics.length === 0) return undefined;
    return this.#judge(program, opened, semantics, [...seen.values()], modules);
  }

  async #judge(
    program: Program,
    { program: checked, checker }: OpenedProgram,
    diagnostics: Awaited<ReturnType<OpenedProgram["program"]["getSemanticDiagnostics"]>>,
    seen: readonly GeneratedModule[],
    modules: ModuleSource,
  ): Promise<Mistakes | undefined> {
    const file = await checked.getSourceFile(PROGRAM_PATH);
    if (file === undefined) throw new Error("TypeScript lost the program");
    const generated = new GeneratedTypes(checker, seen);
    const findings = await findMistakes(diagnostics, { checker, file, generated, modules });
    if (findings.length === 0) return undefined;
    const message = renderFindings(findings, program.code, program.fileName);
    return { message, count: findings.length };
  }
}
