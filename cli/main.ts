import type { Command } from "commander";
import { oneLine, visibleLine, visibleLines } from "../base/visible-text.ts";
import { configurationAbove } from "../configuration/configuration-paths.ts";
import type { Surroundings } from "../project/surroundings.ts";
import { outputProblem, writeProblem } from "../project/terminal/output.ts";
import { type DefineCommand, EXIT, type ExitCode, tell, UsageError, write } from "./command.ts";
import { addHelpCommand, COMPLETE_WORDS, type Commander, newProgram, refuseBlank } from "./front.ts";

/**
 * One file for each command, in the groups in which help lists them. Only the file of the called command is loaded, and none for what
 * `front.ts` does.
 */
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
    plan: async () => (await import("./commands/plan.ts")).planCommand,
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
    servers: async () => (await import("./commands/servers.ts")).serversCommand,
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
    setup: async () => (await import("./commands/setup.ts")).setupCommand,
    storage: async () => (await import("./commands/storage.ts")).storageCommand,
    host: async () => (await import("./commands/host.ts")).hostCommand,
    completion: async () => (await import("./commands/completion.ts")).completionCommand,
    uninstall: async () => (await import("./commands/uninstall.ts")).uninstallCommand,
  },
};

const COMMANDS = Object.entries(GROUPS).flatMap(([group, commands]) =>
  Object.entries(commands).map(([name, load]) => ({ group, name, load })),
);

/**
 * Runs one command and returns its exit code. Prints a stack trace only for faults of ptc itself.
 *
 * @param loaded commander, where it is loaded already.
 */
export async function main(surroundings: Surroundings, loaded?: Commander): Promise<ExitCode> {
  const printed: Promise<void>[] = [];
  const exitCode = await runCommandOf(surroundings, loaded ?? (await import("commander")), printed);
  await Promise.all(printed);
  const problem = outputProblem(surroundings.stdout);
  if (problem === undefined) return exitCode;
  await tell(surroundings.stderr, `the output ${problem}`);
  return exitCode === EXIT.done ? EXIT.failed : exitCode;
}

/** @param printed receives what commander prints, such as help. */
async function runCommandOf(
  surroundings: Surroundings,
  commander: Commander,
  printed: Promise<void>[],
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const finish = (code: ExitCode) => {
    exitCode = code;
  };
  try {
    const program = newProgram(surroundings, commander, printed);
    await defineCommands(program, surroundings, finish);
    if (surroundings.argv[2] === COMPLETE_WORDS) {
      const { printCandidates } = await import("./complete-words.ts");
      return await printCandidates(program, surroundings);
    }
    await program.parseAsync(surroundings.argv);
    return exitCode;
  } catch (error) {
    if (error instanceof commander.CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const unwritable = writeProblem(error);
    if (unwritable !== undefined) {
      await tell(surroundings.stderr, `a file ${unwritable}`);
      return EXIT.failed;
    }
    const code = await exitCodeOf(error);
    const text = code === undefined ? renderFault(error) : `ptc: ${oneLine((error as Error).message)}\n`;
    await write(surroundings.stderr, text);
    return code ?? EXIT.failed;
  }
}

/** The exit code for an error that its message explains to the user; `undefined` for a fault of ptc. */
async function exitCodeOf(error: unknown): Promise<ExitCode | undefined> {
  if (error instanceof UsageError) return EXIT.usage;
  const { failureOf } = await import("../project/failures.ts");
  const kind = failureOf(error);
  return kind && EXIT[kind];
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
  addHelpCommand(program);
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
