import type { LanguageProcesses, LanguageService } from "../language.ts";
import { advisePythonFailure, advisePythonSuccess } from "./advice.ts";
import { preparePython } from "./prepare-python.ts";
import { looksLikePython, mayBePython } from "./python-text.ts";
import { createPythonTypeChecker, type PythonTypeChecker } from "./type-check/type-check-python.ts";

/** Opens Python. Its programs are sent unchanged, with a table of names, and checked in a separate process. */
export function openPython(
  processes: LanguageProcesses = {},
  checker: PythonTypeChecker = createPythonTypeChecker(processes),
): LanguageService {
  return {
    looksLike: looksLikePython,
    accepts: async (code) => mayBePython(code),
    prepare: (program, modules, mode, onPhase, earlier) =>
      preparePython(program, modules, checker, mode, onPhase, earlier),
    advise: (program, ended, modules) =>
      (ended.ok
        ? advisePythonSuccess(program, ended, modules)
        : advisePythonFailure(ended.error, program, modules, ended)
      ).catch(() => []),
    warm: () => checker.warm(),
    close: () => checker.close(),
  };
}
