import { describe, inject } from "vitest";

/** `describe` for what needs a real sandbox. Where there is none the tests are skipped, and their title says why. */
export function describeSandboxed(name: string, tests: () => void): void {
  const problem = inject("sandboxProblem");
  if (problem === "") describe(name, tests);
  else describe.skip(`${name} (skipped: ${problem})`, tests);
}
