import { visibleLine } from "../../base/visible-text.ts";

/** What is wrong with a value, or why that could not be found out. */
export type SchemaProblem = SchemaViolation | { unchecked: string };

export interface SchemaViolation {
  /** Where in the value, as a path in a script (`.items[0].name`); empty for the whole value. */
  place: string;
  /** What is wrong there (`must be string, not 1`). */
  message: string;
}

const MAX_CHARS = 1_000;

/** A problem in words. @param subject what the value is called. */
export function describeProblem(subject: string, problem: SchemaProblem): string {
  if ("unchecked" in problem) return `${subject} could not be checked: ${problem.unchecked}`;
  const { place, message } = problem;
  const text = cutText(visibleLine(cutText(`${place} ${message}`, MAX_CHARS)), MAX_CHARS);
  return `${subject}${text}`;
}

/** The beginning of a text, marked as cut where there was more. */
export function cutText(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars)}...`;
}
