import type { ProgramScope } from "../../execution/program.ts";

/** What the programs of a test share: all of their scope but what each of them has of its own. */
export type ProgramParts = Omit<ProgramScope, "program" | "limits" | "typecheck" | "signal">;
