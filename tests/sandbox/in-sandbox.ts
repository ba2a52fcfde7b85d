import { describe, inject } from "vitest";
import { TESTED_ENGINE } from "./tested-engine.ts";

/** `describe` for what needs a real sandbox. Where there is none the tests are skipped, and their title says why. */
export function describeSandboxed(name: string, tests: () => void): void {
  const problem = inject("sandboxProblem");
  if (problem === "") describe(name, tests);
  else describe.skip(`${name} (skipped: ${problem})`, tests);
}

/** `describe` for what is about Docker itself. With another engine the tests are skipped, and their title says why. */
export function describeDocker(name: string, tests: () => void): void {
  if (TESTED_ENGINE === "docker") describeSandboxed(name, tests);
  else describe.skip(`${name} (skipped: it is about Docker, and PTC_ENGINE is ${TESTED_ENGINE})`, tests);
}
