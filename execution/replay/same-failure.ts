import type { Failure, FailureType } from "../../protocol/failure.ts";

/** Failures of programs that were refused before they ran. */
const NOT_RUN: ReadonlySet<FailureType> = new Set(["TypeCheckError", "BundleError"]);

/** Whether a program failed while it was bundled and checked. */
export function failedBeforeRun(error: Failure): boolean {
  return NOT_RUN.has(error.type);
}

/**
 * Whether two failures of programs that were refused before they ran are the same but for their wording, which another
 * version of ptc chose: mistakes of the same type at the same places.
 */
export function isReworded(recorded: Failure, replayed: Failure): boolean {
  return (
    failedBeforeRun(recorded) &&
    recorded.type === replayed.type &&
    placesIn(recorded.message) === placesIn(replayed.message)
  );
}

/** The places that a message begins its lines with, such as `program.ts:1:15`. */
function placesIn(message: string): string {
  return (message.match(/^\S.*?:\d+:\d+(?=: )/gm) ?? []).join("\n");
}
