import type { Language } from "../prepare/language.ts";
import { adviseOnFailure } from "./advice/advise-failure.ts";
import { prepareTypeScript } from "./prepare-typescript.ts";
import { createTypeChecker, type TypeCheckerOptions } from "./type-check/type-check.ts";
import { TYPESCRIPT_FACTS } from "./typescript-facts.ts";

/** Programs in TypeScript and JavaScript: bundled into one module, and checked by TypeScript in a process of its own. */
export function createTypeScript(options: TypeCheckerOptions): Language {
  const typeChecker = createTypeChecker(options);
  return {
    ...TYPESCRIPT_FACTS,
    prepare: (program, modules, mode) => prepareTypeScript(program, modules, typeChecker, mode),
    advise: async (program, ended, modules) => {
      if (ended.ok)
        return (await import("./advice/advise-success.ts")).adviseOnSuccess(program, ended, modules);
      return adviseOnFailure(ended.error, program, modules).catch(() => []);
    },
    warm: () => typeChecker.warm(),
    close: () => typeChecker.close(),
  };
}
