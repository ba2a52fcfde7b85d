import { visibleLine } from "../../../base/visible-text.ts";
import { loadConfiguration } from "../../../configuration/load.ts";
import { type ExaminedWalls, examineWalls } from "../../doctor/examine-walls.ts";
import { EXIT, type ExitCode } from "../../exit-code.ts";
import { exitOnSignals, type Surroundings, write } from "../../surroundings.ts";

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
export async function doctorWalls(
  flags: { config?: string; json?: boolean },
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { env, stdout } = surroundings;
  const cwd = surroundings.cwd();
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd });
  exitOnSignals(surroundings);
  const { hold, findings } = await examineWalls(configuration, env, cwd);
  const text = flags.json
    ? `${JSON.stringify({ ok: hold, walls: findings })}\n`
    : findings.map((finding) => renderFinding(finding, stdout.isTTY === true)).join("");
  await write(stdout, text);
  return hold ? EXIT.done : EXIT.noSandbox;
}

function renderFinding(
  { wall, verdict, detail }: ExaminedWalls["findings"][number],
  colour: boolean,
): string {
  const [mark, shade] = MARKS[verdict];
  const painted = colour ? `\u001b[${shade}m${mark}\u001b[0m` : mark;
  const said = verdict === "does not hold" ? "DOES NOT HOLD: " : verdict === "holds" ? "" : `${verdict}: `;
  return `${painted}  ${wall.padEnd(16)} ${said}${visibleLine(detail)}\n`;
}
