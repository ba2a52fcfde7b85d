import { PYTHON_STUBS } from "../codegen/python/program-stubs.ts";
import { sandboxTable } from "../codegen/python/reading/sandbox-table.ts";
import type { Language } from "./language.ts";
import { createPython } from "./python/python.ts";
import type { CheckerObserver } from "./python/type-check/pyright-process.ts";
import { createPythonTypeChecker } from "./python/type-check/type-check-python.ts";

/** Programs in Python. Loaded only where they are on. */
export function composePython(observer: CheckerObserver): Language {
  return createPython({
    checker: createPythonTypeChecker({ stubs: PYTHON_STUBS, ...observer }),
    table: sandboxTable,
  });
}
