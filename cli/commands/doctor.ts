import { jsonLine } from "../../base/json.ts";
import { oneLine, visibleLine } from "../../base/visible-text.ts";
import { examine, type Finding } from "../../project/doctor/examine.ts";
import { type ExaminedWalls, examineWalls } from "../../project/doctor/examine-walls.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { engineSetupScript } from "../../system/package.ts";
import {
  CONFIG,
  type CommonFlags,
  defineCommand,
  EXIT,
  type ExitCode,
  exitOnSignals,
  tell,
  write,
} from "../command.ts";
import { openProjectOf } from "../project-command.ts";

interface DoctorFlags extends CommonFlags {
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
const ENGINE: ReadonlySet<string> = new Set(["docker", "runsc", "gvisor"]);
const SETUP = `\n\`ptc setup\` installs Docker and gVisor, or says what to do. On Debian and Ubuntu it is this, which leaves a working engine alone:\n  sudo sh ${engineSetupScript}\n`;

/** `ptc doctor` */
export const doctorCommand = defineCommand("doctor", chooseExamination, (command) =>
  command
    .description("try every part that ptc needs, and say what to do about what fails")
    .option(...CONFIG)
    .option("--walls", "try the walls from inside a sandbox, and remember which do not hold")
    .option("--quick", "start nothing; print one line if something is wrong, otherwise nothing")
    .option("--json", "print the findings as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  ptc doctor --config ptc.yaml\n  ptc doctor --walls\n  ptc doctor --quick\n",
    ),
);

function chooseExamination(flags: DoctorFlags, surroundings: Surroundings): Promise<ExitCode> {
  if (flags.walls) return doctorWalls(flags, surroundings);
  return flags.quick ? doctorQuickly(flags, surroundings) : doctor(flags, surroundings);
}

async function doctor(flags: DoctorFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { env, stdout, stderr } = surroundings;
  exitOnSignals(surroundings);
  const onWarning = (message: string) => void tell(stderr, oneLine(message));
  const options = { flag: flags.config, env, cwd: surroundings.cwd(), onWarning };
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
  const { examineQuickly } = await import("../../project/doctor/examine.ts");
  const finding = await examineQuickly({ flag: flags.config, env, cwd: surroundings.cwd() });
  const findings = finding === undefined ? [] : [{ part: finding.part, ok: false, detail: finding.detail }];
  if (flags.json) await write(stdout, `${jsonLine({ ok: finding === undefined, findings })}\n`);
  else if (finding !== undefined) await write(stdout, `${oneLine(finding.detail)}\n`);
  return finding === undefined ? EXIT.done : EXIT_CODES[finding.area];
}

export function renderFinding({ part, ok, note, detail }: Omit<Finding, "area">, colour: boolean): string {
  const [mark, shade] = ok ? (note ? ["note", 33] : ["ok  ", 32]) : ["FAIL", 31];
  const painted = colour ? `\u001b[${shade}m${mark}\u001b[0m` : mark;
  return `${painted}  ${part.padEnd(18)} ${oneLine(detail)}\n`;
}

const MARKS = {
  holds: ["ok  ", 32],
  "does not hold": ["FAIL", 31],
  "could not be told": ["?   ", 33],
} as const;

/**
 * `ptc doctor --walls`: prints for each wall whether it holds.
 *
 * @throws SandboxError when no sandbox can be started, ConfigurationError.
 */
async function doctorWalls(flags: CommonFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { env, stdout } = surroundings;
  const cwd = surroundings.cwd();
  const { configuration } = await openProjectOf(flags, surroundings);
  exitOnSignals(surroundings);
  const { hold, findings } = await examineWalls(configuration, env, cwd);
  const text = flags.json
    ? `${JSON.stringify({ ok: hold, walls: findings })}\n`
    : findings.map((finding) => renderWall(finding, stdout.isTTY === true)).join("");
  await write(stdout, text);
  return hold ? EXIT.done : EXIT.noSandbox;
}

function renderWall({ wall, verdict, detail }: ExaminedWalls["findings"][number], colour: boolean): string {
  const [mark, shade] = MARKS[verdict];
  const painted = colour ? `\u001b[${shade}m${mark}\u001b[0m` : mark;
  const said = verdict === "does not hold" ? "DOES NOT HOLD: " : verdict === "holds" ? "" : `${verdict}: `;
  return `${painted}  ${wall.padEnd(16)} ${said}${visibleLine(detail)}\n`;
}
