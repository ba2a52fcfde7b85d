import { Command, CommanderError } from "commander";
import { ArchiveError, type ArchiveErrorCode } from "../archive/archive-error.ts";
import { oneLine, visibleLine, visibleLines } from "../base/visible-text.ts";
import { CatalogError } from "../catalog/catalog-error.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { configurationAbove } from "../configuration/configuration-paths.ts";
import { PendingError } from "../execution/pending/tickets.ts";
import { SandboxError } from "../sandbox/sandbox-error.ts";
import { version } from "../system/package.ts";
import { StateDirectoryError } from "../system/state-directory.ts";
import {
  type DefineCommand,
  EXIT,
  type ExitCode,
  type Surroundings,
  tell,
  UsageError,
  write,
} from "./command.ts";
import { outputProblem, writeProblem } from "./output.ts";

/** One file for each command, in the groups in which help lists them. Only the file of the called command is loaded; help loads them all. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, () => Promise<DefineCommand>>>>> = {
  "Start here: `up` does these in this order": {
    up: async () => (await import("./commands/up.ts")).upCommand,
    doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
    image: async () => (await import("./commands/image.ts")).imageCommand,
    init: async () => (await import("./commands/configuration/init.ts")).initCommand,
    generate: async () => (await import("./commands/generate.ts")).generateCommand,
    install: async () => (await import("./commands/configuration/install.ts")).installCommand,
  },
  "Programs and tools": {
    run: async () => (await import("./commands/run-command.ts")).runCommand,
    call: async () => (await import("./commands/call.ts")).callCommand,
    serve: async () => (await import("./commands/serve.ts")).serveCommand,
    list: async () => (await import("./commands/tools.ts")).listCommand,
    search: async () => (await import("./commands/tools.ts")).searchCommand,
    inspect: async () => (await import("./commands/tools.ts")).inspectCommand,
    save: async () => (await import("./commands/programs/save.ts")).saveCommand,
    test: async () => (await import("./commands/programs/test.ts")).testCommand,
  },
  Servers: {
    add: async () => (await import("./commands/configuration/add.ts")).addCommand,
    auth: async () => (await import("./commands/auth.ts")).authCommand,
    token: async () => (await import("./commands/token.ts")).tokenCommand,
    learn: async () => (await import("./commands/learn.ts")).learnCommand,
    measure: async () => (await import("./commands/measure.ts")).measureCommand,
  },
  Runs: {
    runs: async () => (await import("./commands/runs.ts")).runsCommand,
    replay: async () => (await import("./commands/replay.ts")).replayCommand,
    sessions: async () => (await import("./commands/sessions.ts")).sessionsCommand,
    console: async () => (await import("./commands/console.ts")).consoleCommand,
  },
  Policy: {
    policy: async () => (await import("./commands/policy.ts")).policyCommand,
    approvals: async () => (await import("./commands/approvals.ts")).approvalsCommand,
    audit: async () => (await import("./commands/audit.ts")).auditCommand,
    said: async () => (await import("./commands/said.ts")).saidCommand,
  },
  "This machine": {
    storage: async () => (await import("./commands/storage.ts")).storageCommand,
    host: async () => (await import("./commands/host.ts")).hostCommand,
    completion: async () => (await import("./commands/completion.ts")).completionCommand,
    uninstall: async () => (await import("./commands/uninstall.ts")).uninstallCommand,
  },
};

const COMMANDS = Object.entries(GROUPS).flatMap(([group, commands]) =>
  Object.entries(commands).map(([name, load]) => ({ group, name, load })),
);

/** The command that shells call for completion. It needs all other commands, and help does not list it. */
const COMPLETE_WORDS = "complete-words";

/** Errors of the archive that are the user's mistakes. All others are faults of the archive or of a file. */
const ASKED_FOR_WRONG: ReadonlySet<ArchiveErrorCode> = new Set(["bad-reference", "missing"]);

/** Runs one command and returns its exit code. Prints a stack trace only for faults of ptc itself. */
export async function main(surroundings: Surroundings): Promise<ExitCode> {
  const printed: Promise<void>[] = [];
  const exitCode = await runCommandOf(surroundings, printed);
  await Promise.all(printed);
  const problem = outputProblem(surroundings.stdout);
  if (problem === undefined) return exitCode;
  await tell(surroundings.stderr, `the output ${problem}`);
  return exitCode === EXIT.done ? EXIT.failed : exitCode;
}

/** @param printed receives what commander prints, such as help. */
async function runCommandOf(surroundings: Surroundings, printed: Promise<void>[]): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const finish = (code: ExitCode) => {
    exitCode = code;
  };
  const program = new Command("ptc")
    .description("Let a model call many MCP tools by writing one short program.")
    .version(version)
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => printed.push(write(surroundings.stdout, text)),
      writeErr: (text) => surroundings.stderr.write(text.replace(/^error: /, "ptc: ")),
    });
  await defineCommands(program, surroundings, finish);
  try {
    if (surroundings.argv[2] === COMPLETE_WORDS) {
      const { printCandidates } = await import("./commands/completion.ts");
      return await printCandidates(program, surroundings);
    }
    await program.parseAsync(surroundings.argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const unwritable = writeProblem(error);
    if (unwritable !== undefined) {
      await tell(surroundings.stderr, `a file ${unwritable}`);
      return EXIT.failed;
    }
    const code = exitCodeOf(error);
    const text = code === undefined ? renderFault(error) : `ptc: ${oneLine((error as Error).message)}\n`;
    await write(surroundings.stderr, text);
    return code ?? EXIT.failed;
  }
}

/** The exit code for an error that its message explains to the user; `undefined` for a fault of ptc. */
function exitCodeOf(error: unknown): ExitCode | undefined {
  if (error instanceof PendingError) return EXIT.failed;
  if (error instanceof UsageError || error instanceof ConfigurationError || error instanceof CatalogError)
    return EXIT.usage;
  if (error instanceof ArchiveError) return ASKED_FOR_WRONG.has(error.code) ? EXIT.usage : EXIT.failed;
  if (error instanceof SandboxError || error instanceof StateDirectoryError) return EXIT.noSandbox;
  return undefined;
}

/** Adds the called command, or all commands if none is called. */
export async function defineCommands(
  program: Command,
  surroundings: Surroundings,
  finish: (code: ExitCode) => void,
): Promise<void> {
  program.hook("preAction", async (_, command) => {
    refuseBlank(command);
    await tellAbove(command, surroundings);
  });
  const called = COMMANDS.find(({ name }) => name === surroundings.argv[2]);
  for (const { group, name, load } of called === undefined ? COMMANDS : [called]) {
    (await load())(program, surroundings, finish);
    program.commands.find((command) => command.name() === name)?.helpGroup(`${group}:`);
  }
  // The place of the help command, which no file defines. Commands that are added before this do not inherit it.
  program.commandsGroup("This machine:").helpCommand(true);
}

/** Arguments that are passed on unchanged: those of a server, a tool or a saved program. All others name something. */
const PASSED_ON: ReadonlySet<string> = new Set(["arguments", "target"]);

/** Refuses empty arguments: an unset variable of a shell must not select anything. @throws UsageError */
function refuseBlank(command: Command): void {
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

/**
 * Says which ptc.yaml above the working directory is used. A command that a background host runs says it when the host has accepted the
 * command, because otherwise the caller runs it and says it.
 */
async function tellAbove(command: Command, surroundings: Surroundings): Promise<void> {
  const isConfigured = command.options.some(({ long }) => long === "--config");
  if (!isConfigured || command.getOptionValue("quick") === true) return;
  const { env, cwd, stderr, shared } = surroundings;
  const flag: unknown = command.getOptionValue("config");
  if (typeof flag === "string") return;
  const above = configurationAbove({ env, cwd: cwd() });
  if (above === undefined) return;
  const say = () => tell(stderr, `using ${visibleLine(above)}`);
  if (shared === undefined) return say();
  surroundings.shared = {
    ...shared,
    accept(configuration) {
      shared.accept(configuration);
      void say();
    },
  };
}

/** Commands that continue after a fault that belongs to none of their runs and servers. */
const GO_ON: ReadonlySet<string | undefined> = new Set(["run", "serve", "replay", "call", "background-host"]);

/** Reports an uncaught fault that belongs to no run and no server. Most commands end with it. */
export function reportStray(fault: unknown, surroundings: Surroundings): void {
  surroundings.stderr.write(renderFault(fault));
  if (!GO_ON.has(surroundings.argv[2])) surroundings.exit(EXIT.failed);
}

function renderFault(fault: unknown): string {
  const text = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
  return `ptc: internal error, please report it: ${visibleLines(text)}\n`;
}
