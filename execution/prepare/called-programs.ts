import type { DeclaredTool } from "../../codegen/generated-module.ts";
import { PROGRAMS_MODULE } from "../../protocol/tools/programs-module.ts";
import type { ModuleSource, SavedProgram } from "./module-source.ts";

/** A saved program as a program uses it, with its function. */
export interface CalledProgram extends SavedProgram {
  readonly declared: DeclaredTool;
}

type Collected =
  /** By the names of their tools; those that are called come before those that call them. */
  | { ok: true; programs: ReadonlyMap<string, CalledProgram> }
  /** Why the program cannot be run, in one line. */
  | { ok: false; message: string };

/** How deep saved programs may call each other. */
const MAX_DEPTH = 5;

/** The most saved programs in one run. */
const MAX_PROGRAMS = 50;

const NONE: Collected = { ok: true, programs: new Map() };

/**
 * Collects the saved programs that a program calls, and those that they call. What calls itself, by whatever way, is refused:
 * so every depth is known before anything runs.
 *
 * @param calledIn which of some functions a text calls.
 */
export async function collectPrograms(
  { code, fileName: root }: Pick<SavedProgram, "code" | "fileName">,
  source: ModuleSource,
  calledIn: (code: string, tools: readonly DeclaredTool[]) => readonly DeclaredTool[],
): Promise<Collected> {
  if (source.saved === undefined || !/\bprograms\b|\bmcp__programs__/.test(code)) return NONE;
  const module = await (source.peek ?? source.load).call(source, PROGRAMS_MODULE);
  if (module === undefined) return NONE;
  const { tools } = module;
  const programs = new Map<string, CalledProgram>();
  const visit = async (text: string, path: readonly string[]): Promise<string | undefined> => {
    for (const declared of calledIn(text, tools)) {
      const tool = declared.namespacedName;
      const program = programs.get(tool) ?? (await source.saved?.load(tool));
      if (program === undefined)
        return `the saved program of '${declared.identifier}' is missing or cannot be read; see \`ptc test\``;
      const { fileName } = program;
      const way = [...path, fileName].join(" -> ");
      if (path.includes(fileName)) return `a saved program cannot call itself: ${way}`;
      if (path.length >= MAX_DEPTH)
        return `saved programs call each other deeper than ${MAX_DEPTH} levels: ${way}`;
      if (programs.size >= MAX_PROGRAMS) return `more than ${MAX_PROGRAMS} saved programs are called`;
      const problem = await visit(program.code, [...path, fileName]);
      if (problem !== undefined) return problem;
      programs.set(tool, { ...program, declared });
    }
    return undefined;
  };
  const message = await visit(code, root.startsWith(`${PROGRAMS_MODULE}/`) ? [root] : []);
  return message === undefined ? { ok: true, programs } : { ok: false, message };
}
