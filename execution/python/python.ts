import type { Language } from "../prepare/language.ts";
import { advisePythonFailure } from "./advice/python-failures.ts";
import { advisePythonSuccess } from "./advice/python-successes.ts";
import { preparePython } from "./prepare-python.ts";
import { PYTHON_FACTS } from "./python-facts.ts";
import type { PythonParts } from "./python-parts.ts";
import { looksLikePython, mayBePython } from "./python-signs.ts";

/** Programs in Python: sent as they are written, with a table of names, and checked in a process of its own. */
export function createPython(parts: PythonParts): Language {
  return {
    ...PYTHON_FACTS,
    looksLike: looksLikePython,
    accepts: async (code) => mayBePython(code),
    prepare: (program, modules, mode, onPhase, earlier) =>
      preparePython(program, modules, parts, mode, onPhase, earlier),
    advise: async (program, ended, modules) =>
      ended.ok
        ? advisePythonSuccess(program, ended, modules)
        : advisePythonFailure(ended.error, program, modules).catch(() => []),
    warm: () => parts.checker.warm(),
    close: () => parts.checker.close(),
  };
}
