import { setTimeout as delay } from "node:timers/promises";
import { oneLine } from "../../base/text/one-line.ts";
import type { TypecheckMode } from "../../execution/prepare/language.ts";
import { loadConfiguration } from "../../host/configuration/load.ts";
import { describeOffServers } from "../../host/configuration/off-servers.ts";
import { refuseUnmatchedPatterns } from "../../host/configured-policy.ts";
import { openHost } from "../../host/open-host.ts";
import { readProgram } from "../arguments/program-file.ts";
import type { DefineCommand } from "../command.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { LOCAL_USER } from "../local-user.ts";
import { MadeCalls } from "../run-report/made-calls.ts";
import { SIGNALS, type Surroundings, write } from "../surroundings.ts";
import { buildApprover } from "../terminal/approver.ts";
import { reportEndedRun } from "../terminal/ended-run.ts";
import { ProgramConsole } from "../terminal/program-console.ts";

const MAX_TIMEOUT_SECONDS = 86_400;
const RECORD_PATIENCE_MS = 2_000;

interface RunFlags {
  config?: string;
  data?: string;
  timeout?: string;
  typecheck?: string;
  approve: string[];
  json?: boolean;
}

/** `ptc run FILE|-` */
export const runCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("run")
    .description(
      "run one program in a sandbox; stdout is one line of JSON (on a terminal a report), stderr the console",
    )
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
    .option("--json", "print the one line of JSON on a terminal too")
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
  const console = new ProgramConsole(surroundings, configuration.execution.maxStderrBytes);
  const onWarning = (message: string) => console.tell(`ptc: warning: ${oneLine(message)}`);
  for (const warning of describeOffServers(configuration)) onWarning(warning);
  const host = openHost({ configuration, env, onWarning });
  refuseUnmatchedPatterns(configuration, (await host.currentTools()).all);

  const cancel = new AbortController();
  for (const signal of SIGNALS) surroundings.on(signal, () => cancel.abort());
  const calls = new MadeCalls();
  const executed = await host.run(program, {
    context: { ...LOCAL_USER, source: "run" },
    approver: buildApprover(flags.approve, {
      console,
      surroundings,
      onInterrupt: () => cancel.abort(),
    }),
    timeoutMs,
    typecheck: parseTypecheck(flags.typecheck),
    onConsole: ({ text }) => console.print(text),
    onCall: (call) => calls.note(call),
    signal: cancel.signal,
  });
  const { envelope, typeWarning, advice, recorded, cleared } = executed;
  console.end();
  if (typeWarning !== undefined) {
    console.tell("ptc: type warnings:");
    console.print(`${typeWarning}\n`);
  }
  // A caller that has the envelope may end ptc, and expects the run in the archive. A slow archive delays it only so long.
  const problem = await Promise.race([recorded, delay(RECORD_PATIENCE_MS, undefined, { ref: false })]);
  const isReport = await reportEndedRun(
    { ...executed, program, calls, archivedAs: problem === undefined ? envelope.run_id : undefined },
    flags,
    surroundings,
  );
  for (const line of advice) console.tell(`ptc: ${oneLine(line)}`);
  const unrecorded = await recorded;
  if (unrecorded !== undefined) onWarning(unrecorded);
  await Promise.all([cleared, host.close()]);
  if (envelope.result.ok) return EXIT.done;
  if (envelope.result.error.type !== "SandboxUnavailable") return EXIT.failed;
  if (!isReport) await write(surroundings.stderr, `ptc: ${oneLine(envelope.result.error.message)}\n`);
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
