import { Command, CommanderError } from "commander";
import { ArchiveError, type ArchiveErrorCode } from "../archive/archive-error.ts";
import { CatalogError } from "../catalog/catalog-error.ts";
import { SandboxError } from "../sandbox/sandbox-error.ts";
import type { DefineCommand } from "./command.ts";
import { ConfigurationError } from "./configuration/configuration-error.ts";
import { EXIT, type ExitCode, UsageError } from "./exit-code.ts";
import { version } from "./package.ts";
import { type Surroundings, write } from "./surroundings.ts";

/** One file per command. Only the one that is called is loaded; help loads them all. */
const COMMANDS: Readonly<Record<string, () => Promise<DefineCommand>>> = {
  init: async () => (await import("./commands/init.ts")).initCommand,
  generate: async () => (await import("./commands/generate.ts")).generateCommand,
  run: async () => (await import("./commands/run.ts")).runCommand,
  serve: async () => (await import("./commands/serve.ts")).serveCommand,
  list: async () => (await import("./commands/list.ts")).listCommand,
  search: async () => (await import("./commands/search.ts")).searchCommand,
  inspect: async () => (await import("./commands/inspect.ts")).inspectCommand,
  measure: async () => (await import("./commands/measure.ts")).measureCommand,
  replay: async () => (await import("./commands/replay.ts")).replayCommand,
  runs: async () => (await import("./commands/runs.ts")).runsCommand,
  doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
  image: async () => (await import("./commands/image.ts")).imageCommand,
};

/** What the archive refuses because of how it was asked. Everything else is a fault of the archive or of a file. */
const ASKED_FOR_WRONG: ReadonlySet<ArchiveErrorCode> = new Set(["bad-reference", "missing"]);

/** Runs one command and returns its exit code. Only for faults of ptc itself does a stack trace reach the user. */
export async function main(surroundings: Surroundings): Promise<ExitCode> {
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
      writeOut: (text) => surroundings.stdout.write(text),
      writeErr: (text) => surroundings.stderr.write(text.replace(/^error: /, "ptc: ")),
    });
  const called = COMMANDS[surroundings.argv[2] ?? ""];
  for (const load of called === undefined ? Object.values(COMMANDS) : [called]) {
    (await load())(program, surroundings, finish);
  }
  try {
    await program.parseAsync(surroundings.argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    if (error instanceof UsageError || error instanceof ConfigurationError || error instanceof CatalogError) {
      await write(surroundings.stderr, `ptc: ${error.message}\n`);
      return EXIT.usage;
    }
    if (error instanceof ArchiveError) {
      await write(surroundings.stderr, `ptc: ${error.message}\n`);
      return ASKED_FOR_WRONG.has(error.code) ? EXIT.usage : EXIT.failed;
    }
    if (error instanceof SandboxError) {
      await write(surroundings.stderr, `ptc: ${error.message}\n`);
      return EXIT.noSandbox;
    }
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    await write(surroundings.stderr, `ptc: internal error, please report it: ${text}\n`);
    return EXIT.failed;
  }
}
