import type { Command } from "commander";
import type { ExitCode } from "./exit-code.ts";
import type { Surroundings } from "./surroundings.ts";

/** Adds one command to the program. `finish` receives the exit code when the command has run. */
export type DefineCommand = (
  program: Command,
  surroundings: Surroundings,
  finish: (code: ExitCode) => void,
) => void;
