import { renderEnvelope } from "../../execution/seal.ts";
import { type EndedRunFacts, renderEndedRun } from "../run-report/ended-run-text.ts";
import { type Surroundings, write } from "../surroundings.ts";
import { terminalOf } from "./terminal.ts";

/**
 * Prints a run that has just ended: a report on a terminal, else the envelope on one line, which `--json` asks for everywhere.
 * Resolves with whether it was the report.
 */
export async function reportEndedRun(
  run: Omit<EndedRunFacts, "isConsoleShown" | "config">,
  { json, config }: { json?: boolean | undefined; config?: string | undefined },
  { stdout, stderr, env }: Surroundings,
): Promise<boolean> {
  const isReport = stdout.isTTY === true && json !== true;
  const text = isReport
    ? renderEndedRun({ ...run, isConsoleShown: stderr.isTTY === true, config }, terminalOf(stdout, env))
    : `${renderEnvelope(run.envelope)}\n`;
  await write(stdout, text);
  return isReport;
}
