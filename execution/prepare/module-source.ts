import type { GeneratedModule } from "../../codegen/generated-module.ts";

/** The generated modules that a program may import, by server module. */
export interface ModuleSource {
  /** The names of the server modules that exist, sorted. */
  modules(): readonly string[];
  /** A server's module; `undefined` when there is none. */
  load(module: string): Promise<GeneratedModule | undefined>;
}
