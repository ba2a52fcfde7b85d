/**
 * A setup file of the mutation run: mutants act in the Node.js processes that tests spawn, such as runners, and what runs there counts
 * as run by the test. `mutated-process.ts` is the other half, in the process.
 */
import childProcess from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, inject } from "vitest";

/** What the instrumented sources read and write (Stryker's `INSTRUMENTER_CONSTANTS`). */
export interface MutantNamespace {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  mutantCoverage?: { static: Counts; perTest: Record<string, Counts> };
}
type Counts = Record<string, number>;

/** What a spawned process is told, in the variable `PTC_MUTATED_PROCESS`. */
export type MutatedProcess = { mutant: string } | { test: string; notes: string };

const root = join(import.meta.dirname, "../..");
const OTHER_HALF = pathToFileURL(join(import.meta.dirname, "mutated-process.ts")).href;

const namespace = () =>
  (globalThis as unknown as Record<string, MutantNamespace>)[inject("globalNamespace" as never)] ?? {};
// After each file of tests Stryker reports all that its process has run, and one process runs all files. So each begins with nothing.
const ranBefore = namespace().mutantCoverage?.perTest ?? {};
for (const test of Object.keys(ranBefore)) delete ranBefore[test];
const folder = mkdtempSync(join(tmpdir(), "ptc-mutate-"));
/** The tests that have spawned processes, and the files in which these note what they ran. */
const noted: { test: string; notes: string }[] = [];

function about(): MutatedProcess | undefined {
  const { activeMutant, currentTestId } = namespace();
  if (activeMutant !== undefined) return { mutant: activeMutant };
  if (currentTestId === undefined) return undefined;
  const told = { test: currentTestId, notes: join(folder, String(noted.length)) };
  noted.push(told);
  return told;
}

/**
 * Whether a process runs a source of ptc, itself or from a folder `processes` of the tests. To a server or client of a test the
 * variables would be strange.
 */
function isMutated(args: unknown): boolean {
  const script: unknown = Array.isArray(args) ? args.find((arg) => isAbsolute(String(arg))) : undefined;
  const path = script === undefined ? ".." : relative(root, String(script));
  return !path.startsWith("..") && (!path.startsWith("tests") || dirname(path).endsWith("/processes"));
}

type Arguments = [command: string, ...rest: unknown[]];

/** The arguments of `spawn` or `spawnSync`, with what the process is told. */
function telling([command, ...rest]: Arguments): Arguments {
  const at = Array.isArray(rest[0]) ? 1 : 0;
  const { env = process.env, ...options } = (rest[at] ?? {}) as childProcess.SpawnOptions;
  const told = command === process.execPath && isMutated(rest[0]) ? about() : undefined;
  if (told !== undefined) {
    const NODE_OPTIONS = [env.NODE_OPTIONS ?? "", `--import=${OTHER_HALF}`].join(" ").trim();
    rest[at] = { ...options, env: { ...env, NODE_OPTIONS, PTC_MUTATED_PROCESS: JSON.stringify(told) } };
  }
  return [command, ...rest];
}

const { spawn, spawnSync } = childProcess;
childProcess.spawn = ((...args: Arguments) =>
  spawn(...(telling(args) as Parameters<typeof spawn>))) as typeof spawn;
childProcess.spawnSync = ((...args: Arguments) =>
  spawnSync(...(telling(args) as Parameters<typeof spawnSync>))) as typeof spawnSync;
syncBuiltinESMExports();

afterAll(() => {
  const coverage = namespace().mutantCoverage ?? { static: {}, perTest: {} };
  for (const { test, notes } of noted) {
    const ran = existsSync(notes) ? readFileSync(notes, "utf8").split("\n") : [];
    coverage.perTest[test] ??= {};
    for (const mutant of ran) if (mutant !== "") coverage.perTest[test][mutant] ??= 1;
  }
  namespace().mutantCoverage = coverage;
  Object.assign(childProcess, { spawn, spawnSync });
  syncBuiltinESMExports();
  rmSync(folder, { recursive: true, force: true });
});
