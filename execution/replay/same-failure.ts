import type { Failure, FailureType } from "../../protocol/failure.ts";

/** Failures of programs that were refused before they ran. */
const NOT_RUN: ReadonlySet<FailureType> = new Set(["TypeCheckError", "BundleError"]);

/** Whether a program failed while it was bundled and checked. */
export function failedBeforeRun(error: Failure): boolean {
  return NOT_RUN.has(error.type);
}

/**
 * Whether two failures of programs that were refused before they ran are the same but for their wording, which another
 * version of ptc chose: mistakes of the same type at the same places. Where a message names no place, nothing but its words
 * tells one mistake from another, and they differ.
 */
export function isReworded(recorded: Failure, replayed: Failure): boolean {
  const places = placesIn(recorded.message);
  return (
    failedBeforeRun(recorded) &&
    recorded.type === replayed.type &&
    places !== "" &&
    places === placesIn(replayed.message)
  );
}

/** The places that a message begins its lines with, such as `program.ts:1:15`. */
function placesIn(message: string): string {
  return (message.match(/^\S.*?:\d+:\d+(?=: )/gm) ?? []).join("\n");
}
