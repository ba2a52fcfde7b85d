/** The generated modules that a program may import, by server module. */
export interface ModuleSource {
  /** Server modules that exist, sorted. */
  modules(): readonly string[];
  /** Source of `servers/<module>/index.ts`; `undefined` when there is none. */
  load(module: string): Promise<string | undefined>;
}
