import type { TypecheckMode } from "../../execution/prepare-program.ts";
import { renderEnvelope } from "../../execution/seal.ts";
import { buildApprover } from "../approver.ts";
import type { DefineCommand } from "../command.ts";
import { composeExecution } from "../composition.ts";
import { loadConfiguration } from "../configuration/load.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { readProgram } from "../program-file.ts";
import { SIGNALS, type Surroundings, write } from "../surroundings.ts";
import { loadToolSet, refuseUnmatchedPatterns } from "../tool-set.ts";

const MAX_TIMEOUT_SECONDS = 86_400;

interface RunFlags {
  config?: string;
  data?: string;
  timeout?: string;
  typecheck?: string;
  approve: string[];
}

/** `ptc run FILE|-` */
export const runCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("run")
    .description("run one program in a sandbox; stdout is one line of JSON, stderr the program's console")
    .argument("<file>", "a .ts, .mts, .js or .mjs file, or - for TypeScript on stdin")
    .option("--config <file>", "configuration file")
    .option("--data <json>", "JSON that the program sees as `data`, or @FILE to read it from a file")
    .option("--timeout <seconds>", "time limit of the program, instead of the configured one")
    .option("--typecheck <mode>", "error, warn or off, instead of the configured one")
    .option(
      "--approve <pattern>",
      "approve calls of matching tools (repeatable; * is a wildcard)",
      collect,
      [],
    )
    .addHelpText(
      "after",
      '\nExample:\n  ptc run report.ts --data \'{"month": "2026-05"}\' | jq .result.data\n',
    )
    .action(async (file: string, flags: RunFlags) => {
      finish(await run(file, flags, surroundings));
    });
};

async function run(file: string, flags: RunFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { env } = surroundings;
  const cwd = surroundings.cwd();
  const program = await readProgram(file, flags.data, surroundings);
  const timeoutMs = flags.timeout === undefined ? undefined : parseTimeout(flags.timeout);
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd });
  const tools = await loadToolSet(configuration);
  refuseUnmatchedPatterns(configuration, tools);
  const onWarning = (message: string) => void surroundings.stderr.write(`ptc: warning: ${message}\n`);
  const execution = composeExecution(configuration, env, { onWarning });

  const cancel = new AbortController();
  for (const signal of SIGNALS) surroundings.on(signal, () => cancel.abort());
  const { envelope, typeWarning, recorded, cleared } = await execution.run(program, tools, {
    source: "run",
    approver: buildApprover(flags.approve, surroundings),
    timeoutMs,
    typecheck: parseTypecheck(flags.typecheck),
    onConsole: ({ text }) => surroundings.stderr.write(text),
    signal: cancel.signal,
  });
  if (typeWarning !== undefined) surroundings.stderr.write(`ptc: type warnings:\n${typeWarning}\n`);
  await write(surroundings.stdout, `${renderEnvelope(envelope)}\n`);
  const unrecorded = await recorded;
  if (unrecorded !== undefined) onWarning(unrecorded);
  await Promise.all([cleared, execution.close()]);
  if (envelope.result.ok) return EXIT.done;
  if (envelope.result.error.type !== "SandboxUnavailable") return EXIT.failed;
  await write(surroundings.stderr, `ptc: ${envelope.result.error.message}\n`);
  return EXIT.noSandbox;
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
