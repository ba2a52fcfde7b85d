import type { TypecheckMode } from "../../execution/prepare/language.ts";
import type { HandedIn } from "../../execution/prepare/settle-program.ts";
import { beginSandbox } from "../../host/begin-sandbox.ts";
import { loadConfiguration } from "../../host/configuration/load.ts";
import { unnamedProgram } from "../../host/program-files.ts";
import { readProgram } from "../arguments/program-file.ts";
import { NO_HOST } from "../background/no-host.ts";
import type { DefineCommand } from "../command.ts";
import { UsageError } from "../exit-code.ts";
import { SIGNALS, type Surroundings } from "../surroundings.ts";
import type { RunFlags, RunRequest } from "./run.ts";

/** Stands for the program of a suspended run, which is kept with it. */
const NO_PROGRAM: HandedIn = { code: "", data: {} };

const MAX_TIMEOUT_SECONDS = 86_400;

/** `ptc run FILE|-`. What runs programs is loaded while a sandbox starts. */
export const runCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("run")
    .description(
      "run one program in a sandbox; stdout is one line of JSON (on a terminal a report), stderr the console",
    )
    .argument("[file]", "a .ts, .mts, .js, .mjs or .py file, or - for stdin")
    .option("--config <file>", "configuration file")
    .option("--data <json>", "JSON that the program sees as `data`, or @FILE to read it from a file")
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
    .option(
      "--ticket <ticket>",
      "go on with a suspended run whose question was answered; see `ptc approvals`",
    )
    .option("--emit-to <folder>", "write what the program emits to files there")
    .option("--json", "print the one line of JSON on a terminal too")
    .option(...NO_HOST)
    .addHelpText(
      "after",
      '\nExample:\n  ptc run report.ts --data \'{"month": "2026-05"}\' | jq .result.data\n',
    )
    .action(async (file: string | undefined, flags: RunFlags) => {
      const request = await readRequest(file, flags, surroundings);
      const { run } = await import("./run.ts");
      finish(await run(request, flags, surroundings));
    });
};

async function readRequest(
  file: string | undefined,
  flags: RunFlags,
  surroundings: Surroundings,
): Promise<RunRequest> {
  const { env, shared, alone } = surroundings;
  const timeoutMs = flags.timeout === undefined ? undefined : parseTimeout(flags.timeout);
  const typecheck = parseTypecheck(flags.typecheck);
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  // What a host has read of stdin, its caller cannot read any more.
  shared?.accept(configuration);
  const { ticket } = flags;
  if ((file === undefined) === (ticket === undefined))
    throw new UsageError("give a program's file, or --ticket with the ticket of a suspended run");
  const program =
    file === undefined ? NO_PROGRAM : await readProgram(file, flags, surroundings, configuration.languages);
  const cancel = new AbortController();
  for (const signal of SIGNALS) surroundings.on(signal, () => cancel.abort());
  const isOwn = shared === undefined && alone?.lostRun === undefined;
  const { language } = { ...unnamedProgram(configuration.languages), ...program };
  const begun = isOwn ? await beginSandbox(configuration, env, language) : undefined;
  return { program, ticket, configuration, timeoutMs, typecheck, cancel, begun };
}

function parseTimeout(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS)) {
    throw new UsageError(
      `--timeout: '${text}' is not a number of seconds between 0 and ${MAX_TIMEOUT_SECONDS}`,
    );
  }
  return Math.ceil(seconds * 1_000);
}

function parseTypecheck(mode: string | undefined): TypecheckMode | undefined {
  if (mode === undefined || mode === "error" || mode === "warn" || mode === "off") return mode;
  throw new UsageError(`--typecheck: '${mode}' is not error, warn or off`);
}

function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}
