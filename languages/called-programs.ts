import type { DeclaredTool } from "../codegen/language-printer.ts";
import { PROGRAMS_MODULE } from "../protocol/tool-names.ts";
import type { ModuleSource, OtherProgram, SavedProgram } from "./module-source.ts";

/** A saved program with its function in programs. */
export interface CalledProgram extends SavedProgram {
  readonly declared: DeclaredTool;
}

type Collected =
  /** By the names of their tools. A called program precedes its callers. */
  | { ok: true; programs: ReadonlyMap<string, CalledProgram> }
  /** Why the program cannot be run, in one line. */
  | { ok: false; message: string };

/** The deepest chain of calls between saved programs. */
export const MAX_PROGRAM_DEPTH = 5;

/** The most saved programs in one run. */
const MAX_PROGRAMS = 50;

/** Matches lines of comments, which may mention the program that they are in. */
const COMMENT_LINES = /^[ \t]*(?:\/\/|#[ !]|\/?\*[ *]).*$/gm;

const NONE: Collected = { ok: true, programs: new Map() };

/** The message for a text that imports a saved program of another language. */
function findOther(code: string, others: readonly OtherProgram[], calledIn: CalledIn): string | undefined {
  const [called] = calledIn(
    code,
    others.map(({ identifier }) => ({ identifier, namespacedName: "" })),
    true,
  );
  const other = others.find(({ identifier }) => identifier === called?.identifier);
  return (
    other &&
    `'${other.identifier}' is ${other.fileName}, which only programs in ${other.title} can call: a saved program runs where its caller runs`
  );
}

/**
 * The saved programs that earlier programs of a session call, because functions that those left may call them again. Leaves out
 * programs that no longer exist.
 */
export async function collectEarlier(
  earlier: readonly Pick<SavedProgram, "code" | "fileName">[],
  source: ModuleSource,
  calledIn: CalledIn,
): Promise<ReadonlyMap<string, CalledProgram>> {
  const programs = new Map<string, CalledProgram>();
  for (const each of earlier) {
    const collected = await collectPrograms(each, source, calledIn);
    if (collected.ok) for (const [tool, program] of collected.programs) programs.set(tool, program);
  }
  return programs;
}

/** Finds the functions of saved programs that a text calls. With `byImport`, only those that it imports by name. */
type CalledIn = <T extends Pick<DeclaredTool, "identifier" | "namespacedName">>(
  code: string,
  tools: readonly T[],
  byImport?: boolean,
) => readonly T[];

/**
 * Collects the saved programs that a program calls, directly or through others. Refuses programs that call themselves in any way,
 * so that the depth is known before anything runs.
 *
 * @param calledIn finds the functions that a text calls.
 */
export async function collectPrograms(
  { code, fileName: root }: Pick<SavedProgram, "code" | "fileName">,
  source: ModuleSource,
  calledIn: CalledIn,
): Promise<Collected> {
  if (source.saved === undefined || !/\bprograms\b|\bmcp__programs__/.test(code)) return NONE;
  const other = findOther(code, source.saved.others ?? [], calledIn);
  if (other !== undefined) return { ok: false, message: `${root}: ${other}` };
  const module = await (source.peek ?? source.load).call(source, PROGRAMS_MODULE);
  if (module === undefined) return NONE;
  const { tools } = module;
  const programs = new Map<string, CalledProgram>();
  const others = source.saved.others ?? [];
  const visit = async (text: string, path: readonly string[]): Promise<string | undefined> => {
    for (const declared of calledIn(text.replace(COMMENT_LINES, ""), tools)) {
      const tool = declared.namespacedName;
      const program = programs.get(tool) ?? (await source.saved?.load(tool));
      if (program === undefined)
        return `the saved program of '${declared.identifier}' is missing or cannot be read; see \`ptc test\``;
      const { fileName } = program;
      const way = [...path, fileName].join(" -> ");
      if (path.includes(fileName)) return `a saved program cannot call itself: ${way}`;
      const foreign = findOther(program.code, others, calledIn);
      if (foreign !== undefined) return `${fileName}: ${foreign}`;
      if (path.length >= MAX_PROGRAM_DEPTH)
        return `saved programs call each other deeper than ${MAX_PROGRAM_DEPTH} levels: ${way}`;
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
