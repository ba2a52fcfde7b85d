import { describe, inject } from "vitest";
import type { SandboxEngine } from "../../sandbox/sandbox-engine.ts";
import { openTestedEngine, TESTED_ENGINE } from "./tested-engine.ts";

/** `describe` for what needs a real sandbox. Where there is none the tests are skipped, and their title says why. */
export function describeSandboxed(name: string, tests: () => void): void {
  const problem = inject("sandboxProblem");
  if (problem === "") describe(name, tests);
  else describe.skip(`${name} (skipped: ${problem})`, tests);
}

/**
 * `describe` for what holds on either engine and is tried on both in one run. The tests get how their sandboxes are opened, and the engine's name. Where
 * the other engine than the tested one has no image they are skipped, and their title says why.
 */
export function describeOnEngines(
  name: string,
  tests: (open: (folder: string) => SandboxEngine, engine: "docker" | "runsc") => void,
): void {
  for (const engine of ["docker", "runsc"] as const) {
    const title = `${name} (${engine})`;
    const problem = inject(engine === TESTED_ENGINE ? "sandboxProblem" : "otherEngineProblem");
    const run = () => tests((folder) => openTestedEngine(folder, undefined, engine), engine);
    if (problem === "") describe(title, run);
    else describe.skip(`${title} (skipped: ${problem})`, run);
  }
}

/** `describe` for what is about Docker itself. With another engine the tests are skipped, and their title says why. */
export function describeDocker(name: string, tests: () => void): void {
  if (TESTED_ENGINE === "docker") describeSandboxed(name, tests);
  else describe.skip(`${name} (skipped: it is about Docker, and PTC_ENGINE is ${TESTED_ENGINE})`, tests);
}
