/**
 * The contract of a command. A command adds itself to the command line (`DefineCommand`), uses only the given parts of the process
 * (`Surroundings`), and returns an exit code (`EXIT`). It never ends the process itself, so that a background host can run it for
 * another process.
 */

import type { Writable } from "node:stream";
import type { Command, CommandOptions } from "commander";
import { oneLine } from "../base/visible-text.ts";
import { SIGNALS, type Surroundings } from "../project/surroundings.ts";
import { writeWhole } from "../project/terminal/output.ts";

/** Adds one command to the program. `finish` receives the exit code when the command has run. */
export type DefineCommand = (
  program: Command,
  surroundings: Surroundings,
  finish: (code: ExitCode) => void,
) => void;

/** Flags that most commands have. */
export interface CommonFlags {
  config?: string;
  json?: boolean;
}

/** The option that names the configuration, for commander. */
export const CONFIG = ["--config <file>", "configuration file"] as const;

/**
 * A command. `run` receives its arguments, its flags and the surroundings, and returns the exit code.
 *
 * @param describe gives the command its description, arguments, options and help.
 */
export function defineCommand<Given extends unknown[]>(
  name: string,
  run: (...given: [...Given, Surroundings]) => Promise<ExitCode>,
  describe: (command: Command) => Command,
  options?: CommandOptions,
): DefineCommand {
  return (parent, surroundings, finish) => {
    describe(parent.command(name, options)).action(async (...given: unknown[]) => {
      // The last argument is the command itself.
      finish(await run(...(given.slice(0, -1) as Given), surroundings));
    });
  };
}

/** Collects the values of a repeatable option, for commander. */
export function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}

/** A command that only groups subcommands. */
export function defineGroup(
  name: string,
  commands: () => readonly DefineCommand[],
  describe: (command: Command) => Command,
): DefineCommand {
  return (program, surroundings, finish) => {
    const group = describe(program.command(name));
    for (const define of commands()) define(group, surroundings, finish);
  };
}

/** Exit codes of every command. */
export const EXIT = {
  done: 0,
  /** The program or the command failed. */
  failed: 1,
  /** Bad usage or configuration. */
  usage: 2,
  /** The sandbox cannot run here. */
  noSandbox: 3,
  /** The tools that servers list differ from the generated modules. */
  drift: 4,
  /** A plan would change something. */
  changes: 5,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A mistake of the user. The message is one line that says what is wrong and what to do. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Reads `--limit`, a whole number from 1. @throws UsageError */
export function parseLimit(text: string, most: number): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= most) return limit;
  throw new UsageError(`--limit: '${text.slice(0, 40)}' is not a whole number from 1 to ${most}`);
}

const INTERRUPTED = 130;

/** Makes signals end the process and the servers that it started, for a command with no output when interrupted. */
export function exitOnSignals(surroundings: Surroundings): void {
  for (const signal of SIGNALS) surroundings.on(signal, () => surroundings.exit(INTERRUPTED));
}

/**
 * Writes a complete text to a file, a terminal or a pipe. A reader that has disconnected is not an error; any other failure to write to
 * stdout fails the command when it ends.
 */
export function write(stream: Writable, text: string): Promise<void> {
  return writeWhole(stream, text);
}

/** Tells the user something, in one line. */
export function tell(stderr: Writable, line: string): Promise<void> {
  return write(stderr, `ptc: ${line}\n`);
}

/** Tells the user of each warning, in one line. */
export function warnOn(stderr: Writable): (message: string) => void {
  return (message) => void tell(stderr, `warning: ${oneLine(message)}`);
}

/** The option of commands that a background host can run, for commander. */
export const NO_HOST = ["--no-host", "run alone, and not in the background host of this project"] as const;
