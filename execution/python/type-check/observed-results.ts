import type { GeneratedModule } from "../../../codegen/generated-module.ts";
import type { ProgramText } from "./checked-text.ts";
import type { PythonMistake } from "./judge-finding.ts";
import type { PyrightDiagnostic, PyrightProcess } from "./pyright-process.ts";
import { NO_OVERLOAD, withDetails } from "./second-look.ts";
import { asideRoot, type CheckedMode, type ShownStubs, withoutOverloads } from "./shown-stubs.ts";

/** The most hints that are told of one program. */
const MAX_HINTS = 3;
const MAX_HINT_CHARS = 300;

/** Whether results of tools were observed and not declared. What contradicts them is no mistake. */
export function hasObserved(modules: Iterable<GeneratedModule>): boolean {
  return [...modules].some(({ tools }) => tools.some((tool) => tool.isAvailable && tool.isObserved));
}

/** What is found in a program by declared types alone. */
export async function checkDeclared(
  code: string,
  mode: CheckedMode,
  { process, stubs }: { process: PyrightProcess; stubs: ShownStubs },
): Promise<PyrightDiagnostic[]> {
  const declared = stubs.aside(mode, code, true);
  process.write(declared);
  const found = await process.check(asideRoot(mode), `${code}\n\n`);
  return found.some(({ message }) => NO_OVERLOAD.test(message))
    ? withDetails(found, await checkSignatures(code, declared, mode, process))
    : found;
}

/** What is found where each function has one signature, so that it is told which argument is wrong. */
export async function checkSignatures(
  code: string,
  aside: ReadonlyMap<string, string>,
  mode: CheckedMode,
  process: PyrightProcess,
): Promise<PyrightDiagnostic[]> {
  process.write(new Map([...aside].map(([path, text]) => [path, withoutOverloads(text)])));
  return process.check(asideRoot(mode), `${code}\n`);
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
