import { sandboxTable } from "../../codegen/python/reading/sandbox-table.ts";
import type { Language } from "../../execution/prepare/language.ts";
import { createPython } from "../../execution/python/python.ts";

/** Programs in Python. Loaded only where they are on. */
export function composePython(): Language {
  return createPython({
    checker: {
      check: async () => ({ kind: "unchecked", reason: "there is no type checker for Python yet" }),
      warm: async () => {},
      close: async () => {},
    },
    table: sandboxTable,
  });
}
