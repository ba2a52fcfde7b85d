import type { Language } from "../prepare/language.ts";
import { prepareTypeScript } from "./prepare-typescript.ts";
import { createTypeChecker, type TypeCheckerOptions } from "./type-check/type-check.ts";
import { TYPESCRIPT_FACTS } from "./typescript-facts.ts";

/** Programs in TypeScript and JavaScript: bundled into one module, and checked by TypeScript in a process of its own. */
export function createTypeScript(options: TypeCheckerOptions): Language {
  const typeChecker = createTypeChecker(options);
  return {
    ...TYPESCRIPT_FACTS,
    prepare: (program, modules, mode) => prepareTypeScript(program, modules, typeChecker, mode),
    warm: () => typeChecker.warm(),
    close: () => typeChecker.close(),
  };
}
