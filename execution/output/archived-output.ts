import type { ArchivedRun } from "../../archive/archived-run.ts";
import { jsonLine, readJson } from "../../base/json.ts";
import { TRUNCATION_MARK } from "../../protocol/text-cap.ts";
import type { OutputParts } from "./whole-output.ts";

/** How many characters are compared to recognise a bounded text as the beginning of another. */
const COMPARED_CHARS = 200;

/** The whole output of an archived run, including the parts that its bounded console text and its envelope leave out. */
export function archivedOutput({ envelope, consoleText, stderrText, whole }: ArchivedRun): OutputParts {
  const { result } = envelope;
  const printed = whole.consoleText ?? consoleText;
  const json = result.ok ? (whole.resultJson ?? jsonLine(result.data)) : undefined;
  const isApart = result.ok && !isPrinted(result.data, json ?? "", printed);
  return { consoleText: printed, stderrText, resultJson: isApart ? json : undefined };
}

/** The whole value of a run that succeeded, even if the envelope has only a bounded form of it. */
export function wholeValueOf({ envelope, whole }: ArchivedRun): unknown {
  if (whole.resultJson !== undefined) return readJson(whole.resultJson);
  return envelope.result.ok ? envelope.result.data : undefined;
}

/** Whether the console text already holds the value, because the value is all that the program printed or its last line. */
function isPrinted(data: unknown, json: string, consoleText: string): boolean {
  const printed = consoleText.trim();
  if (printed.slice(printed.lastIndexOf("\n") + 1) === json) return true;
  if (typeof data !== "string") return false;
  const beginning = data.trim().slice(0, COMPARED_CHARS);
  const isBounded = data.endsWith(TRUNCATION_MARK) && printed.startsWith(beginning);
  return isBounded || data.trim() === printed;
}
