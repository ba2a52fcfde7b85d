import { jsonLine } from "../../base/json.ts";
import type { ExecutedProgram } from "./executed-program.ts";
import type { OutputParts } from "./whole-output.ts";

/** The whole output of a run that has just ended. */
export function outputOf(
  executed: Pick<
    ExecutedProgram,
    "envelope" | "consoleText" | "isConsoleCut" | "stderrText" | "resultFrom" | "wholeResultJson"
  >,
): OutputParts {
  const { envelope, consoleText, isConsoleCut, stderrText, resultFrom, wholeResultJson } = executed;
  const { result } = envelope;
  // A value that is a line of the console, or all of it, is not said twice.
  const isApart = resultFrom === "result" || (resultFrom === "line" && isConsoleCut);
  const resultJson = result.ok && isApart ? (wholeResultJson ?? jsonLine(result.data)) : undefined;
  return { consoleText, stderrText, resultJson };
}
