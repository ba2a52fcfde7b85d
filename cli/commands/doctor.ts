import { jsonLine } from "../../base/json.ts";
import { oneLine } from "../../base/visible-text.ts";
import { engineSetupScript } from "../../system/package.ts";
import type { DefineCommand } from "../command.ts";
import { examine, type Finding } from "../doctor/examine.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { LOCAL_USER } from "../local-user.ts";
import { exitOnSignals, type Surroundings, write } from "../surroundings.ts";
import { doctorWalls } from "./doctor/walls.ts";

interface DoctorFlags {
  config?: string;
  json?: boolean;
  walls?: boolean;
  quick?: boolean;
}

/** The exit code by the area of the first failure. */
const EXIT_CODES: Record<Finding["area"], ExitCode> = {
  ptc: EXIT.failed,
  configuration: EXIT.usage,
  sandbox: EXIT.noSandbox,
  servers: EXIT.failed,
};

/** Parts that the set-up script installs. */
const ENGINE: ReadonlySet<string> = new Set(["docker", "gvisor"]);
const SETUP = `\nOn Debian and Ubuntu this installs Docker and gVisor, and leaves a working engine alone:\n  sudo sh ${engineSetupScript}\n`;

/** `ptc doctor` */
export const doctorCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("doctor")
    .description("try every part that ptc needs, and say what to do about what fails")
    .option("--config <file>", "configuration file")
    .option(
      "--walls",
      "try from inside a sandbox what it keeps a program from, and remember what does not hold",
    )
    .option("--quick", "start nothing; print one line if something is wrong, and else nothing")
    .option("--json", "print the findings as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  ptc doctor --config ptc.yaml\n  ptc doctor --walls\n  ptc doctor --quick\n",
    )
    .action(async (flags: DoctorFlags) => {
      if (flags.walls) finish(await doctorWalls(flags, surroundings));
      else finish(await (flags.quick ? doctorQuickly : doctor)(flags, surroundings));
    });
};

async function doctor(flags: DoctorFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { env, stdout, stderr } = surroundings;
  exitOnSignals(surroundings);
  const onWarning = (message: string) => void write(stderr, `ptc: ${oneLine(message)}\n`);
  const options = { flag: flags.config, env, cwd: surroundings.cwd(), ...LOCAL_USER, onWarning };
  const findings: Omit<Finding, "area">[] = [];
  let exitCode: ExitCode = EXIT.done;
  for await (const { area, ...finding } of examine(options)) {
    findings.push(finding);
    if (!finding.ok && exitCode === EXIT.done) exitCode = EXIT_CODES[area];
    if (!flags.json) await write(stdout, renderFinding(finding, stdout.isTTY === true));
  }
  const lacksEngine = findings.some(({ part, ok }) => !ok && ENGINE.has(part));
  if (lacksEngine && !flags.json && process.platform === "linux") await write(stdout, SETUP);
  if (flags.json) await write(stdout, `${jsonLine({ ok: exitCode === EXIT.done, findings })}\n`);
  return exitCode;
}

async function doctorQuickly(flags: DoctorFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { env, stdout } = surroundings;
  exitOnSignals(surroundings);
  const { examineQuickly } = await import("../doctor/examine-quickly.ts");
  const finding = await examineQuickly({ flag: flags.config, env, cwd: surroundings.cwd() });
  const findings = finding === undefined ? [] : [{ part: finding.part, ok: false, detail: finding.detail }];
  if (flags.json) await write(stdout, `${jsonLine({ ok: finding === undefined, findings })}\n`);
  else if (finding !== undefined) await write(stdout, `${oneLine(finding.detail)}\n`);
  return finding === undefined ? EXIT.done : EXIT_CODES[finding.area];
}

function renderFinding({ part, ok, detail }: Omit<Finding, "area">, colour: boolean): string {
  const mark = ok ? "ok  " : "FAIL";
  const painted = colour ? `\u001b[${ok ? 32 : 31}m${mark}\u001b[0m` : mark;
  return `${painted}  ${part.padEnd(18)} ${oneLine(detail)}\n`;
}
