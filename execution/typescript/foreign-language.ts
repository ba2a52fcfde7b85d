import type { FailureReason } from "../prepare/failure-reason.ts";

/** Syntax of Python that is no valid JavaScript. Programs can be long, so none of these patterns may backtrack. */
const PYTHON = [
  /^[ \t]*(?:async )?def \w+\(/m,
  /^[ \t]*(?:if|elif|else|for|while|try|except|with|class)\b[^{}\n]{0,200}:[ \t]{0,9}(?:#.*)?$/m,
  /^(?:import [\w.]+(?: as \w+)?|from [\w.]+ import [\w*,() ]+)$/m,
  /[(=,+][ \t]*f["']/,
];

/** The language that a text which is no TypeScript seems to be in; none when that cannot be told. */
export function foreignLanguage(code: string): FailureReason[] {
  return PYTHON.some((sign) => sign.test(code)) ? [{ code: "other_language", language: "python" }] : [];
}
