/**
 * What ptc does before it loads the code of a command: the version, help, the errors of a command line, and the completion of words. It
 * needs only what the build has written of all commands, so that nobody waits for more than Node.js takes to start. The build puts all of
 * it into one file.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as commander from "commander";
import { oneLine } from "../base/visible-text.ts";
import type { Surroundings } from "../project/surroundings.ts";
import { packageDirectory, version } from "../system/package.ts";
import { EXIT, type ExitCode, UsageError, write } from "./command.ts";
import { completionCommand } from "./commands/completion.ts";
import { printCandidates } from "./complete-words.ts";
import { type DeclaredCommand, declareCommands } from "./declared-commands.ts";

export type Commander = Pick<typeof commander, "Command" | "CommanderError">;

/** Where the build writes what help and completion need of all commands, in `dist/`. */
export const COMMANDS_FILE = "cli/commands.json";

/** The command that shells call for completion. It needs all other commands, and help does not list it. */
export const COMPLETE_WORDS = "complete-words";

/** The options that print the version, as commander names them. */
const VERSION: readonly string[] = ["-V", "--version"];

/**
 * Does what no command's own code is needed for.
 *
 * @param declared all commands, which the build has written.
 * @returns the exit code; commander where the command itself must run.
 */
export async function runAtFront(
  surroundings: Surroundings,
  declared: () => readonly DeclaredCommand[] = readDeclared,
): Promise<ExitCode | Commander> {
  const { argv, stdout, stderr } = surroundings;
  const [first = "", ...rest] = argv.slice(2);
  if (VERSION.includes(first) && rest.length === 0) {
    await write(stdout, `${version}\n`);
    return EXIT.done;
  }
  if (argv.length === 2) {
    const { introduction } = await import("./introduction.ts");
    const introduced = introduction(surroundings);
    if (introduced !== undefined) {
      await write(stdout, introduced);
      return EXIT.done;
    }
  }
  const printed: Promise<void>[] = [];
  try {
    const isDone = await parseDeclared(
      declared(),
      newProgram(surroundings, commander, printed),
      surroundings,
    );
    return isDone ? EXIT.done : commander;
  } catch (error) {
    if (error instanceof commander.CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    if (!(error instanceof UsageError)) throw error;
    await write(stderr, `ptc: ${oneLine(error.message)}\n`);
    return EXIT.usage;
  } finally {
    await Promise.all(printed);
  }
}

/** What the build has written of all commands. */
function readDeclared(): DeclaredCommand[] {
  const text = readFileSync(join(packageDirectory, "dist", COMMANDS_FILE), "utf8");
  return JSON.parse(text) as DeclaredCommand[];
}

/** The program without commands. @param printed receives what commander prints, such as help. */
export function newProgram(
  { stdout, stderr }: Surroundings,
  { Command }: Commander,
  printed: Promise<void>[],
): commander.Command {
  return new Command("ptc")
    .description("Let a model call many MCP tools by writing one short program.")
    .version(version)
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => printed.push(write(stdout, text)),
      writeErr: (text) => stderr.write(text.replace(/^error: /, "ptc: ")),
    });
}

/**
 * Does all of a command line that no command's own code is needed for. Returns whether that is everything.
 *
 * @param program without commands.
 * @throws CommanderError for an error of the command line, and where help was asked for.
 */
async function parseDeclared(
  declared: readonly DeclaredCommand[],
  program: commander.Command,
  surroundings: Surroundings,
): Promise<boolean> {
  const { argv } = surroundings;
  const called = declared.filter(({ name }) => name === argv[2]);
  if (called.some(({ speaksOfHere }) => speaksOfHere === true) && argv.slice(3).some(isHelp)) return false;
  let isDone = false;
  // Commands that are only listed need none of their options.
  const listed = declared.map((each) => (argv.includes(each.name) ? each : outlineOf(each)));
  const finish = () => {
    isDone = true;
  };
  if (argv[2] === "completion") completionCommand(program, surroundings, finish);
  else
    declareCommands(program, called.length === 0 ? listed : called, (command) => {
      // A command that answers its own help says more where it has arguments.
      isDone = command.opts().help === true && command.args.length === 0;
      if (isDone) command.outputHelp();
    });
  addHelpCommand(program);
  program.hook("preAction", (_, command) => refuseBlank(command));
  if (argv[2] === COMPLETE_WORDS) {
    await printCandidates(program, surroundings);
    return true;
  }
  await program.parseAsync(argv);
  return isDone;
}

const isHelp = (word: string) => word === "--help" || word === "-h";

/** A command with what a list of commands says of it, such as that it has options. */
function outlineOf(command: DeclaredCommand): DeclaredCommand {
  return { ...command, options: command.options.slice(0, 1), commands: [] };
}

/** Adds the help command, which no file defines. Commands that are added before this do not inherit its place. */
export function addHelpCommand(program: commander.Command): void {
  program.commandsGroup("This machine:").helpCommand(true);
}

/** Arguments that are passed on unchanged: those of a server, a tool or a saved program. All others name something. */
const PASSED_ON: ReadonlySet<string> = new Set(["arguments", "target"]);

/** Refuses empty arguments: an unset variable of a shell must not select anything. @throws UsageError */
export function refuseBlank(command: commander.Command): void {
  const isBlank = (value: unknown) => typeof value === "string" && value.trim() === "";
  const refuse = (what: string): never => {
    throw new UsageError(`${command.name()}: ${what} is empty; is a variable unset?`);
  };
  for (const [index, argument] of command.registeredArguments.entries()) {
    if (PASSED_ON.has(argument.name())) continue;
    const given: unknown = command.processedArgs[index];
    if ((Array.isArray(given) ? given : [given]).some(isBlank)) refuse(argument.name());
  }
  for (const option of command.options) {
    const given: unknown = command.getOptionValue(option.attributeName());
    if (command.getOptionValueSource(option.attributeName()) !== "cli") continue;
    if ((Array.isArray(given) ? given : [given]).some(isBlank)) refuse(option.long ?? option.flags);
  }
}
