import type { GeneratedModule } from "../../../codegen/generated-module.ts";
import type { ProgramText } from "./checked-text.ts";
import type { PythonMistake } from "./judge-finding.ts";
import type { PyrightDiagnostic, PyrightProcess } from "./pyright-process.ts";
import { NO_OVERLOAD, withDetails } from "./second-look.ts";
import { type CheckedMode, type ShownStubs, withoutOverloads } from "./shown-stubs.ts";

/** The most hints that are told of one program. */
const MAX_HINTS = 3;
const MAX_HINT_CHARS = 300;

/** Whether results of tools were observed and not declared. What contradicts them is no mistake. */
export function hasObserved(modules: Iterable<GeneratedModule>): boolean {
  return [...modules].some(({ tools }) => tools.some((tool) => tool.isAvailable && tool.isObserved));
}

/** What is found in a program by declared types alone. The files are then as they were. */
export async function checkDeclared(
  code: string,
  mode: CheckedMode,
  { process, stubs }: { process: PyrightProcess; stubs: ShownStubs },
): Promise<PyrightDiagnostic[]> {
  const declared = stubs.files(mode, true);
  process.write(declared);
  let found = await process.check(mode, `${code}\n\n`);
  if (found.some(({ message }) => NO_OVERLOAD.test(message))) {
    process.write(new Map([...declared].map(([path, text]) => [path, withoutOverloads(text)])));
    found = withDetails(found, await process.check(mode, `${code}\n`));
  }
  process.write(stubs.files(mode));
  return found;
}

/** What contradicts results as they were observed so far, a line each. */
export function renderHints(
  mistakes: readonly PythonMistake[],
  { code }: ProgramText,
  fileName: string,
): string[] {
  return mistakes.slice(0, MAX_HINTS).map(({ start, text }) => {
    const line = code.slice(0, start).split(/\r\n|\r|\n/).length;
    return `by the results observed so far, which may not be all there are, at ${fileName}:${line}: ${text.slice(0, MAX_HINT_CHARS)}`;
  });
}
