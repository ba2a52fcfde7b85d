import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { imageOf } from "../../project/sandboxes/project-image.ts";
import { USUAL_SANDBOX } from "../../project/sandboxes/sandboxes.ts";
import { Platforms } from "../../sandbox/runsc/platforms.ts";
import { findRunsc, machineIdentity } from "../../sandbox/runsc/runsc-command.ts";
import { runscFolders } from "../../sandbox/runsc/runsc-folders.ts";
import { SandboxError } from "../../sandbox/sandbox-error.ts";
import { type LocalEngine, openTestedEngine, TESTED_ENGINE } from "./tested-engine.ts";

const OLDEST_NODE = 22;
const RUNTIME = "runsc";
/** What projects without packages of their own need. */
const IMAGE = imageOf(USUAL_SANDBOX).reference;

declare module "vitest" {
  interface ProvidedContext {
    /** The engine that real tests run on. */
    testedEngine: LocalEngine;
    /** Why no sandbox can be started here; empty when one can. */
    sandboxProblem: string;
    /** The same of the other engine than the tested one. */
    otherEngineProblem: string;
    /** The platform of gVisor that sandboxes without Docker use when the tests begin; empty where there is no runsc. */
    runscPlatform: string;
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
  const wanted = project.config.env.PTC_ENGINE === "runsc" ? "runsc" : TESTED_ENGINE;
  const problems = { docker: await findProblem("docker"), runsc: await findProblem("runsc") };
  // Tests that can do with either engine run on Docker where there is nothing else.
  const tested = problems[wanted] !== "" && problems[TESTED_ENGINE] === "" ? TESTED_ENGINE : wanted;
  const other = tested === "docker" ? "runsc" : "docker";
  if (problems[tested] !== "" && isRequired(process.env))
    throw new Error(`the sandbox is missing: ${problems[tested]}`);
  // Docker needs runsc too. Where there is no Docker, it is not asked for.
  if (problems.runsc !== "" && isRequired(process.env))
    throw new Error(`sandboxes without Docker are missing: ${problems.runsc}`);
  provide("testedEngine", tested);
  provide("sandboxProblem", problems[tested]);
  provide("otherEngineProblem", problems[other]);
  provide("runscPlatform", await findPlatform());
  const folder = mkdtempSync(join(tmpdir(), "ptc-built-"));
  provide("buildFolder", folder);
  // In watch mode the sources may be others by then.
  project.onTestsRerun(() => rmSync(join(folder, "ptc"), { recursive: true, force: true }));
  return () => rmSync(folder, { recursive: true, force: true });
}

function isRequired({ CI, PTC_REQUIRE_SANDBOX }: NodeJS.ProcessEnv): boolean {
  return PTC_REQUIRE_SANDBOX === "1" || (CI !== undefined && CI !== "" && CI !== "false");
}

async function findPlatform(): Promise<string> {
  try {
    const platforms = new Platforms(runscFolders().snapshots, machineIdentity());
    return await platforms.find(findRunsc(undefined, ""));
  } catch (error) {
    if (error instanceof SandboxError) return "";
    throw error;
  }
}

async function findProblem(name: LocalEngine): Promise<string> {
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
