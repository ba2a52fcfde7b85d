import { visibleLine } from "../../base/visible-text.ts";

/** What is wrong with a value, or why it could not be checked. */
export type SchemaProblem = SchemaViolation | { unchecked: string };

export interface SchemaViolation {
  /** Where in the value, as a path in a script (`.items[0].name`); empty for the whole value. */
  place: string;
  /** What is wrong there (`must be string, not 1`). */
  message: string;
}

const MAX_CHARS = 1_000;

/** Describes a problem. @param subject the name of the value. */
export function describeProblem(subject: string, problem: SchemaProblem): string {
  if ("unchecked" in problem) return `${subject} could not be checked: ${problem.unchecked}`;
  const { place, message } = problem;
  const text = cutText(visibleLine(cutText(`${place} ${message}`, MAX_CHARS)), MAX_CHARS);
  return `${subject}${text}`;
}

/** The beginning of a text, marked as cut if there was more. */
export function cutText(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars)}...`;
}
