import type { GeneratedModule } from "../../codegen/generated-module.ts";
import type { PythonBundle } from "../../protocol/runners.ts";
import type { ModuleSource } from "../module-source.ts";
import type { Program } from "../program.ts";

/** What is known of a program's types. */
type CheckOutcome =
  /** `hints`: what contradicts results as they were observed so far, one line each. */
  | { kind: "clean"; hints?: readonly string[] }
  /** `message` is for a model: places, lines, what is wrong and what is expected. */
  | { kind: "errors"; message: string; count: number }
  | { kind: "unchecked"; reason: string };

/** Finds mistakes in programs that would fail when they run. */
interface PythonChecker {
  /** Never rejects. @param earlier the programs of its session, whose names it finds. @param patienceMs how long to wait for it. */
  check(
    program: Program,
    modules: ModuleSource,
    mode: PythonBundle["mode"],
    earlier?: readonly Program[],
    patienceMs?: number,
  ): Promise<CheckOutcome>;
  /** Starts in advance what the first check would otherwise wait for. Never rejects. */
  warm(): Promise<void>;
  /** Ends the checker's process, even while it works. Never rejects. */
  close(): Promise<void>;
}

export interface PythonParts {
  checker: PythonChecker;
  /** The names that a sandbox is told of the modules that a program uses. */
  table: (modules: Iterable<readonly [string, GeneratedModule]>) => Pick<PythonBundle, "modules">;
}
