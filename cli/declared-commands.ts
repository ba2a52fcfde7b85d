/**
 * The command line as data: what help, completion and the errors of a command line need, without the code of any command. The build
 * writes it once (`describeCommands`), and ptc makes commands of it again that do nothing (`declareCommands`).
 */
import type { Command } from "commander";

/** A command, or the program itself. Texts are as commander takes them. */
export interface DeclaredCommand {
  readonly name: string;
  readonly description: string;
  readonly group?: string;
  /** Whether its help is an option that the command itself answers. */
  readonly answersHelp?: true;
  readonly takesUnknownOptions?: true;
  /** Whether its group runs it where no command is named. */
  readonly isDefault?: true;
  /** Whether it only groups others. */
  readonly isGroup?: true;
  readonly arguments: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly {
    readonly flags: string;
    readonly description: string;
    readonly fallback?: unknown;
  }[];
  /** What its help says last. */
  readonly after?: string;
  /** Whether its help says something of where it is called, so that the command itself must print it. */
  readonly speaksOfHere?: true;
  readonly commands: readonly DeclaredCommand[];
}

/** What commander knows of a command and does not show. */
interface Inner {
  _actionHandler: unknown;
  _allowUnknownOption: boolean;
  _defaultCommandName: string | null;
  _helpOption: unknown;
  emit(event: "afterHelp", context: { write(text: string): void }): void;
}

/**
 * Describes the commands of a program.
 *
 * @param elsewhere the same program, defined for another folder.
 */
export function describeCommands(program: Command, elsewhere: Command): DeclaredCommand[] {
  const inner = program as unknown as Inner;
  return program.commands.map((command, i) => {
    const described = describe(command, inner._defaultCommandName);
    const there = elsewhere.commands[i];
    const isSame = there !== undefined && described.after === helpAfter(there);
    return {
      ...described,
      commands: describeCommands(command, there ?? command),
      ...(!isSame && { speaksOfHere: true }),
    };
  });
}

function describe(command: Command, defaultName: string | null): DeclaredCommand {
  const inner = command as unknown as Inner;
  const after = helpAfter(command);
  return {
    name: command.name(),
    description: command.description(),
    ...(command.helpGroup() && { group: command.helpGroup() }),
    ...(inner._helpOption === null && { answersHelp: true }),
    ...(inner._allowUnknownOption && { takesUnknownOptions: true }),
    ...(command.name() === defaultName && { isDefault: true }),
    ...(inner._actionHandler === null && { isGroup: true }),
    arguments: command.registeredArguments.map((argument) => {
      const name = argument.name() + (argument.variadic ? "..." : "");
      return { name: argument.required ? `<${name}>` : `[${name}]`, description: argument.description };
    }),
    options: command.options.map(({ flags, description, defaultValue }) => ({
      flags,
      description,
      ...(defaultValue !== undefined && { fallback: defaultValue as unknown }),
    })),
    ...(after !== undefined && { after }),
    commands: [],
  };
}

function helpAfter(command: Command): string | undefined {
  const said: string[] = [];
  (command as unknown as Inner).emit("afterHelp", { write: (text) => said.push(text) });
  return said.length === 0 ? undefined : said.join("").replace(/\n$/, "");
}

/**
 * Adds commands that do nothing.
 *
 * @param onParsed called with a command whose line has no error.
 */
export function declareCommands(
  parent: Command,
  commands: readonly DeclaredCommand[],
  onParsed: (command: Command) => void,
): void {
  for (const each of commands) {
    const command = parent
      .command(each.name, { isDefault: each.isDefault === true })
      .description(each.description);
    if (each.group !== undefined) command.helpGroup(each.group);
    if (each.answersHelp) command.helpOption(false);
    if (each.takesUnknownOptions) command.allowUnknownOption();
    for (const { name, description } of each.arguments) command.argument(name, description);
    for (const { flags, description, fallback } of each.options)
      command.option(flags, description, fallback as string | undefined);
    if (each.after !== undefined) command.addHelpText("after", each.after);
    if (!each.isGroup) command.action(() => onParsed(command));
    declareCommands(command, each.commands, onParsed);
  }
}
