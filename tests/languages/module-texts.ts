import { readModule } from "../../codegen/typescript/read-module.ts";
import type { ModuleSource } from "../../languages/module-source.ts";

/** Generated modules by name, of these texts. */
export function modulesOf(texts: Readonly<Record<string, string>>): ModuleSource {
  return {
    modules: () => Object.keys(texts).sort(),
    load: async (module) => {
      const text = texts[module];
      return text === undefined ? undefined : readModule(module, text);
    },
  };
}
