import { withoutUnavailable } from "./declared-tools.ts";
import { loadMentioned, mentionedToolNames, toolNamesOf } from "./mentioned-tools.ts";
import type { ModuleSource } from "./module-source.ts";
import type { Program } from "./program.ts";
import { CheckedFiles, CONFIG_PATH, PROGRAM_PATH, ROOT } from "./type-check-files.ts";
import { GeneratedTypes } from "./type-check-generated.ts";
import { renderFindings } from "./type-check-message.ts";
import { findMistakes } from "./type-check-rules.ts";
import { type OpenedProgram, type ProcessObserver, TypeScriptProcess } from "./typescript-api.ts";

/** What is wrong with a program, for a model to read. */
interface Mistakes {
  message: string;
  count: number;
}

/** One process of TypeScript's, and what it has been shown. Checks one program at a time. */
export class TypeCheckSession {
  readonly #files = new CheckedFiles();
  readonly #process: TypeScriptProcess;

  constructor(observer: ProcessObserver) {
    this.#process = new TypeScriptProcess(ROOT, CONFIG_PATH, this.#files, observer);
  }

  /**
   * Starts the process and sees that it works.
   *
   * @throws when it does not, such as where TypeScript has no build for this platform.
   */
  async start(): Promise<void> {
    await this.#process.start();
    this.#files.replace({
      code: "export const works: number[] = [new Map<string, number>().size];",
      declarations: "export {};",
      modules: new Map(),
      toolNames: new Map(),
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

  /** Finds what is wrong with a program; `undefined` when nothing is. @param declarations text of `runtime.d.ts` */
  async check(program: Program, modules: ModuleSource, declarations: string): Promise<Mistakes | undefined> {
    const texts = await loadMentioned(program.code, modules, { imported: true });
    const names = toolNamesOf(texts);
    const toolNames = new Map(
      mentionedToolNames(program.code).flatMap((name) => {
        const [tool, another] = names.resolve(name);
        return tool?.isAvailable && another === undefined ? [[name, tool] as const] : [];
      }),
    );
    const changes = this.#files.replace({
      code: program.code,
      declarations,
      modules: new Map([...texts].map(([module, text]) => [module, withoutUnavailable(text)])),
      toolNames,
    });
    const opened = await this.#process.open(changes);
    const [syntax, semantics] = await Promise.all([
      opened.program.getSyntacticDiagnostics(PROGRAM_PATH),
      opened.program.getSemanticDiagnostics(PROGRAM_PATH),
    ]);
    if (syntax.length > 0 || semantics.length === 0) return undefined;
    return this.#judge(program, opened, semantics, texts, modules.modules());
  }

  async #judge(
    program: Program,
    { program: checked, checker }: OpenedProgram,
    diagnostics: Awaited<ReturnType<OpenedProgram["program"]["getSemanticDiagnostics"]>>,
    texts: ReadonlyMap<string, string>,
    modules: readonly string[],
  ): Promise<Mistakes | undefined> {
    const file = await checked.getSourceFile(PROGRAM_PATH);
    if (file === undefined) throw new Error("TypeScript lost the program");
    const generated = new GeneratedTypes(checker, texts);
    const findings = await findMistakes(diagnostics, { checker, file, generated, modules });
    if (findings.length === 0) return undefined;
    const message = renderFindings(findings, program.code, program.fileName, (tool) =>
      generated.signature(tool),
    );
    return { message, count: findings.length };
  }
}
