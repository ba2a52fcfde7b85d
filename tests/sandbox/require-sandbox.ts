import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import type { EngineName } from "../../sandbox/sandbox-engine.ts";
import { SandboxError } from "../../sandbox/sandbox-error.ts";
import { openTestedEngine, TESTED_ENGINE } from "./tested-engine.ts";

const OLDEST_NODE = 22;
const RUNTIME = "runsc";
const IMAGE = "ptc-runner";

declare module "vitest" {
  interface ProvidedContext {
    /** Why no sandbox can be started here; empty when one can. */
    sandboxProblem: string;
    /** The same of the other engine than the tested one. */
    otherEngineProblem: string;
    /** Where ptc is built for tests that start it, by the first of them. */
    buildFolder: string;
  }
}

/** Makes the place for the build, and finds out whether programs can run here. Where they must be able to, as in CI, the run fails if they cannot. */
export async function setup(project: TestProject): Promise<() => void> {
  const { provide } = project;
  const [major = 0] = process.versions.node.split(".").map(Number);
  if (major < OLDEST_NODE) {
    throw new Error(`the tests need Node.js ${OLDEST_NODE} or newer, and this is ${process.version}`);
  }
  const problem = await findProblem(TESTED_ENGINE);
  if (problem !== "" && isRequired(process.env)) throw new Error(`the sandbox is missing: ${problem}`);
  provide("sandboxProblem", problem);
  // Docker needs runsc too. Where there is no Docker, it is not asked for.
  const other = TESTED_ENGINE === "docker" ? "runsc" : "docker";
  const otherProblem = await findProblem(other);
  if (otherProblem !== "" && other === "runsc" && isRequired(process.env))
    throw new Error(`sandboxes without Docker are missing: ${otherProblem}`);
  provide("otherEngineProblem", otherProblem);
  const folder = mkdtempSync(join(tmpdir(), "ptc-built-"));
  provide("buildFolder", folder);
  // In watch mode the sources may be others by then.
  project.onTestsRerun(() => rmSync(join(folder, "ptc"), { recursive: true, force: true }));
  return () => rmSync(folder, { recursive: true, force: true });
}

function isRequired({ CI, PTC_REQUIRE_SANDBOX }: NodeJS.ProcessEnv): boolean {
  return PTC_REQUIRE_SANDBOX === "1" || (CI !== undefined && CI !== "" && CI !== "false");
}

async function findProblem(name: EngineName): Promise<string> {
  const engine = openTestedEngine(tmpdir(), undefined, name);
  try {
    const { runtimes } = await engine.describe();
    if (!runtimes.has(RUNTIME))
      return `${engine.name} does not know the runtime ${RUNTIME}; run \`npm run setup\``;
    const image = await engine.findImage(IMAGE);
    return image === undefined ? `there is no image ${IMAGE}; run \`ptc image build\`` : "";
  } catch (error) {
    if (error instanceof SandboxError) return error.message;
    throw error;
  }
}
