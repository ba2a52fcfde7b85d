/**
 * The contract of a command. A command adds itself to the command line (`DefineCommand`), uses only the given parts of the process
 * (`Surroundings`), and returns an exit code (`EXIT`). It never ends the process itself, so that a background host can run it for
 * another process.
 */

import type { Readable, Writable } from "node:stream";
import type { Command, CommandOptions } from "commander";
import { oneLine } from "../base/visible-text.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { Host } from "../project/host.ts";
import type { ReadFile } from "../project/text-file.ts";
import { writeWhole } from "./output.ts";

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

/** The parts of the process that a command may use. */
export interface Surroundings {
  argv: string[];
  env: Record<string, string | undefined>;
  stdin: Readable & { isTTY?: boolean; setRawMode?: (isRaw: boolean) => unknown };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
  cwd(): string;
  on(event: (typeof SIGNALS)[number], listener: () => void): unknown;
  exit(code: number): never;
  /** Reads files where the user is. By default this process does. */
  readFile?: ReadFile;
  /** The background host that runs the command. */
  shared?: SharedHost;
  /** Facts for a command that a background host could have run but did not. */
  withoutHost?: {
    /** Whether a host may be started for the next command. */
    mayStart: boolean;
    /** The run that had started to make calls when its host was lost. */
    lostRun?: string | undefined;
  };
}

/** A host that outlives the command. */
export interface SharedHost {
  host: Pick<Host, "currentTools" | "run" | "pendingApprovals">;
  /** Leaves the command to its caller when the host was started with another configuration or environment. */
  accept(configuration: Configuration): void;
  /** Called before the first call of a run. Resolves when the caller has been notified. */
  onCalling(runId: string): Promise<void>;
  /** Receives the failures that belong to no run, while the command runs. */
  onWarning(listener: (message: string) => void): void;
}

/** The signals that ask ptc to end. */
export const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

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
