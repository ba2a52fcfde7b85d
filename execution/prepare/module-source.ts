import type { GeneratedModule } from "../../codegen/generated-module.ts";

/** The generated modules that a program may import, by server module. */
export interface ModuleSource {
  /** The names of the server modules that exist, sorted. */
  modules(): readonly string[];
  /** A server's module; `undefined` when there is none. */
  load(module: string): Promise<GeneratedModule | undefined>;
  /** Loads a module to look something up in it. It does not count as one that the program uses. As `load` where absent. */
  peek?(module: string): Promise<GeneratedModule | undefined>;
  /** Whether these are only what the record of a run holds, so that generating would add nothing to them. */
  readonly isRecord?: boolean;
}
