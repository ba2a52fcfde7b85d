import type { Language } from "../prepare/language.ts";
import type { Program } from "../program.ts";
import { adviseOnFailure } from "./advice/advise-failure.ts";
import { bundleVerbatim } from "./bundling/verbatim-program.ts";
import { prepareTypeScript } from "./prepare-typescript.ts";
import { createTypeChecker, type TypeCheckerOptions } from "./type-check/type-check.ts";
import { TYPESCRIPT_FACTS } from "./typescript-facts.ts";
import { acceptsTypeScript, looksLikeTypeScript } from "./typescript-signs.ts";

/** What the parser is loaded for in advance. */
const FIRST_PROGRAM: Program = {
  code: "globalThis.result = 1;",
  data: {},
  language: "javascript",
  fileName: "first.js",
};

/** Programs in TypeScript and JavaScript: bundled into one module, and checked by TypeScript in a process of its own. */
export function createTypeScript(options: TypeCheckerOptions): Language {
  const typeChecker = createTypeChecker(options);
  return {
    ...TYPESCRIPT_FACTS,
    prepare: (program, modules, mode, onPhase, earlier) =>
      prepareTypeScript(program, modules, typeChecker, mode, onPhase, earlier),
    looksLike: looksLikeTypeScript,
    accepts: acceptsTypeScript,
    advise: async (program, ended, modules) => {
      if (ended.ok)
        return (await import("./advice/advise-success.ts")).adviseOnSuccess(program, ended, modules);
      return adviseOnFailure(ended.error, program, modules).catch(() => []);
    },
    async warm() {
      await Promise.all([typeChecker.warm(), bundleVerbatim(FIRST_PROGRAM)]);
    },
    close: () => typeChecker.close(),
  };
}
