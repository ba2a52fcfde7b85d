import type { ProgramScope } from "../../execution/program.ts";

/** What the programs of a test share: all of their scope but what each of them has of its own. */
export type ProgramParts = Omit<ProgramScope, "program" | "limits" | "typecheck" | "signal">;

/** Limits that no program of these tests reaches by itself. */
export const LIMITS = {
  timeoutMs: 60_000,
  maxOutputBytes: 65_536,
  maxStderrBytes: 65_536,
  maxParallelCalls: 1,
  maxToolCalls: 1,
};
