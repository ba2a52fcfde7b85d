import type { ModuleSource } from "./bundle.ts";
import type { Program } from "./program.ts";
import { CheckedFiles, CONFIG_PATH, PROGRAM_PATH, ROOT } from "./type-check-files.ts";
import { GeneratedTypes } from "./type-check-generated.ts";
import { renderFindings } from "./type-check-message.ts";
import { findMistakes } from "./type-check-rules.ts";
import { declaredTools } from "./type-check-tools.ts";
import { type OpenedProgram, type ProcessObserver, TypeScriptProcess } from "./typescript-api.ts";

const MAX_TOOL_NAMES = 2_000;

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
    const texts = await loadMentioned(program.code, modules);
    const known = new Map(
      [...texts].flatMap(([module, text]) =>
        declaredTools(module, text).map((tool) => [tool.namespacedName, tool] as const),
      ),
    );
    const toolNames = new Map(
      mentionedToolNames(program.code).flatMap((name) => {
        const tool = known.get(name);
        return tool === undefined ? [] : [[name, tool] as const];
      }),
    );
    const changes = this.#files.replace({
      code: program.code,
      declarations,
      modules: texts,
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

/** Loads the generated modules that a program imports or whose tools it names. */
async function loadMentioned(code: string, modules: ModuleSource): Promise<Map<string, string>> {
  const mentioned = new Set([...code.matchAll(/\bservers\/([a-z0-9_]+)/g)].map(([, module]) => module));
  const names = mentionedToolNames(code);
  const wanted = modules
    .modules()
    .filter((module) => mentioned.has(module) || names.some((name) => name.startsWith(`mcp__${module}__`)));
  const loaded = await Promise.all(
    wanted.map(async (module) => [module, await modules.load(module)] as const),
  );
  return new Map(loaded.flatMap(([module, text]) => (text === undefined ? [] : [[module, text] as const])));
}

/** As the bundler finds them. */
function mentionedToolNames(code: string): string[] {
  return [...new Set(code.match(/\bmcp__[A-Za-z0-9_$]+/g))].slice(0, MAX_TOOL_NAMES);
}
