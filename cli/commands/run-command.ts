import { visibleLine } from "../../base/visible-text.ts";
import {
  parseTimeout,
  parseTypecheck,
  readProgram,
  readProgramFiles,
  readSaid,
} from "../../project/arguments/program-file.ts";
import type { Delegation } from "../../project/background/ask-host.ts";
import type { Project } from "../../project/open-project.ts";
import { refuseOut } from "../../project/result-files.ts";
import { warmSandbox } from "../../project/sandboxes/sandboxes.ts";
import { SIGNALS, type Surroundings } from "../../project/surroundings.ts";
import {
  CONFIG,
  collect,
  type DefineCommand,
  type ExitCode,
  NO_HOST,
  UsageError,
  write,
} from "../command.ts";
import { openProjectOf } from "../project-command.ts";
import type { ProgramToRun, RunFlags } from "./run.ts";
import type { askForSession } from "./sessions.ts";

/** Stands for the program of a suspended run, which is kept with it. */
const NO_PROGRAM: ProgramToRun["program"] = { code: "", data: {} };

/** `ptc run FILE|-`. The code that runs programs is loaded while a sandbox starts. */
export const runCommand: DefineCommand = (program, surroundings, finish) => {
  const command = program
    .command("run")
    .description(
      "run one program in a sandbox; stdout is one line of JSON (on a terminal a report), stderr the console",
    )
    .argument("[program]", "a .ts, .mts, .js, .mjs or .py file, - for stdin, or the name of a saved program")
    .argument("[arguments...]", "of a saved program: --key value; `ptc run NAME --help` shows them")
    .helpOption(false)
    .allowUnknownOption()
    .option(...CONFIG)
    .option("--data <json>", "JSON that the program sees as `data`, or @FILE to read it from a file")
    .option(
      "--file <path>",
      "copy a file to the program's files/ folder, or NAME=PATH under another name (repeatable)",
      collect,
      [],
    )
    .option("--language <name>", "typescript, javascript or python, instead of what the file's name says")
    .option("--timeout <seconds>", "time limit of the program, instead of the configured one")
    .option("--typecheck <mode>", "error, warn or off, instead of the configured one")
    .option(
      "--approve <pattern>",
      "approve calls of matching tools (repeatable; * is a wildcard)",
      collect,
      [],
    )
    .option("--suspend", "suspend the run where nobody can be asked, instead of denying the call")
    .option("--ticket <ticket>", "continue a suspended run whose question was answered; see `ptc approvals`")
    .option(
      "--session <name>",
      "keep what the program leaves for the next one in this session; see `ptc sessions`",
    )
    .option(
      "--said <file>",
      "what the user said, in the user's own words: values in it may go where labels may not",
    )
    .option("--out <file>", "write the result to a file: a text as it is, anything else as JSON")
    .option("--emit-to <folder>", "write what the program emits to files there")
    .option("--json", "print the one line of JSON on a terminal too")
    .option(...NO_HOST)
    .option(
      "-h, --help",
      "show what this command takes; after a saved program's name, what that program takes",
    )
    .addHelpText(
      "after",
      '\nExamples:\n  ptc run report.ts --data \'{"month": "2026-05"}\' | jq .result.data\n  ptc run weekly-report --month 2026-05\n',
    );
  command.action(async (file: string | undefined, words: string[], flags: RunFlags) => {
    if (flags.help === true) {
      const help = await helpOfSaved(file, flags, optionsOf(command), surroundings);
      if (help === undefined) command.outputHelp();
      else await write(surroundings.stdout, help);
      return;
    }
    const asked =
      flags.session === undefined ? undefined : await inSession(flags.session, flags, surroundings);
    if (asked?.kind === "done") return finish(asked.exitCode as ExitCode);
    // The host may have been lost in the middle of the run.
    const here = asked === undefined ? surroundings : { ...surroundings, withoutHost: asked };
    const request = await readRequest({ file, words, options: optionsOf(command) }, flags, here);
    const { run } = await import("./run.ts");
    finish(await run(request, flags, here));
  });
};

/** The options of a command, as they are written. */
function optionsOf({ options }: { options: readonly { long?: string | undefined }[] }): string[] {
  return options.flatMap(({ long }) => long ?? []);
}

async function inSession(...session: Parameters<typeof askForSession>): Promise<Delegation | undefined> {
  return (await import("./sessions.ts")).askForSession(...session);
}

/** The help of a saved program; `undefined` if none is named. */
async function helpOfSaved(
  name: string | undefined,
  flags: RunFlags,
  options: readonly string[],
  surroundings: Surroundings,
): Promise<string | undefined> {
  if (name === undefined || !isName(name)) return undefined;
  const { env, stdout } = surroundings;
  const { configuration } = await openProjectOf(flags, surroundings);
  const { helpOfSavedProgram } = await import("../../project/arguments/saved-program.ts");
  const { terminalOf } = await import("../../project/terminal/terminal.ts");
  return helpOfSavedProgram(name, configuration, terminalOf(stdout, env), options);
}

/** Whether a word may be the name of a saved program. Files have a suffix or a folder. */
function isName(word: string): boolean {
  return /^[a-z][a-z0-9-]*$/.test(word);
}

/** The words of the command line besides its flags. */
interface Given {
  file: string | undefined;
  words: readonly string[];
  /** The options that the command has, as they are written. */
  options: readonly string[];
}

async function readRequest(
  { file, words, options }: Given,
  flags: RunFlags,
  surroundings: Surroundings,
): Promise<ProgramToRun> {
  const { shared, withoutHost } = surroundings;
  const givenTimeoutMs = flags.timeout === undefined ? undefined : parseTimeout(flags.timeout);
  const typecheck = parseTypecheck(flags.typecheck);
  const project = await openProjectOf(flags, surroundings);
  const { configuration } = project;
  // The check comes before stdin is read, because the caller cannot read again what a host has read.
  shared?.accept(configuration);
  if (flags.approve.length > 0)
    (await import("../../project/terminal/approver.ts")).refusePatterns(flags.approve, configuration);
  const { ticket } = flags;
  if ((file === undefined) === (ticket === undefined))
    throw new UsageError("give a program's file, or --ticket with the ticket of a suspended run");
  const saved =
    file === undefined ? undefined : await readSaved(file, words, flags, configuration, surroundings);
  const isOption = file?.startsWith("-") === true && file !== "-";
  if (saved === undefined && (words.length > 0 || isOption))
    throw await notTaken(file ?? "", words[0] ?? "", options);
  const program =
    saved?.program ??
    (file === undefined ? NO_PROGRAM : await readProgram(file, flags, surroundings, configuration.languages));
  if (ticket !== undefined && flags.file.length > 0)
    throw new UsageError("--file: a suspended run has kept the files that it was handed");
  if (flags.out !== undefined) await refuseOut(flags.out, [file, ...flags.file], surroundings.cwd());
  const files = await readProgramFiles(flags.file, surroundings);
  const said = flags.said === undefined ? [] : [await readSaid(flags.said, surroundings)];
  const timeoutMs = givenTimeoutMs ?? saved?.timeoutMs;
  const cancel = new AbortController();
  for (const signal of SIGNALS) surroundings.on(signal, () => cancel.abort());
  const isOwn = shared === undefined && withoutHost?.lostRun === undefined;
  const warmed = isOwn ? await warmSandbox(project, program.language) : undefined;
  // The code that runs a saved program has no types to check.
  const check = typecheck ?? (saved === undefined ? undefined : "off");
  const handed = files.length === 0 ? program : { ...program, files };
  return { program: handed, ticket, project, timeoutMs, typecheck: check, said, cancel, warmed };
}

/** A program that runs the saved program; `undefined` if the word is not the name of one. */
async function readSaved(
  name: string,
  words: readonly string[],
  flags: RunFlags,
  configuration: Project["configuration"],
  surroundings: Surroundings,
) {
  if (!isName(name)) return undefined;
  const { readSavedProgram } = await import("../../project/arguments/saved-program.ts");
  return readSavedProgram(
    name,
    { words, data: flags.data, language: flags.language },
    configuration,
    surroundings,
  );
}

/** @param options of this command, as they are written. */
async function notTaken(file: string, word: string, options: readonly string[]): Promise<UsageError> {
  const option = file.startsWith("-") && file !== "-" ? file : word;
  if (option.startsWith("-")) {
    const { nearestName } = await import("../../project/arguments/call-arguments.ts");
    const nearest = nearestName(option.split("=", 1)[0] ?? "", options);
    const advice = nearest === undefined ? "see `ptc run --help`" : `did you mean ${nearest}?`;
    return new UsageError(`unknown option '${visibleLine(option)}'; ${advice}`);
  }
  return new UsageError(
    `'${visibleLine(word)}': only a saved program takes arguments, and '${visibleLine(file)}' is none; give --data`,
  );
}
