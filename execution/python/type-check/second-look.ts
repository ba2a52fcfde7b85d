import type { PyrightDiagnostic } from "./pyright-process.ts";

/** Says that a call fits none of the signatures that a function has. */
export const NO_OVERLOAD = /^No overloads for /;

/** Findings with what a second look tells of calls for which the first found no signature. */
export function withDetails(
  found: readonly PyrightDiagnostic[],
  again: readonly PyrightDiagnostic[],
): PyrightDiagnostic[] {
  return found.flatMap((each) => {
    if (!NO_OVERLOAD.test(each.message)) return [each];
    const isWithin = ({ start }: PyrightDiagnostic): boolean =>
      isBefore(each.start, start) && isBefore(start, each.end);
    return again.filter(
      (other) => isWithin(other) && ["reportCallIssue", "reportArgumentType"].includes(other.rule ?? ""),
    );
  });
}

function isBefore(a: PyrightDiagnostic["start"], b: PyrightDiagnostic["start"]): boolean {
  return a.line < b.line || (a.line === b.line && a.character <= b.character);
}
