/**
 * Changes the sources in small ways and reports how many of the changes the fast tests notice. `npm run mutate` draws a sample from
 * the core; `npm run mutate -- FILE...` tries every change in some files. Exits with 1 if fewer are noticed than `--floor` requires.
 */
import { globSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { MutantResult } from "@stryker-mutator/api/core";
import { Stryker } from "@stryker-mutator/core";
import { sampledPlaces } from "./only-sampled.ts";
import { drawSample } from "./sample.ts";
import { isSurvivor, lineOf } from "./survivors.ts";

/** The folders that the sample is drawn from. */
const CORE = [
  "archive",
  "broker",
  "catalog",
  "codegen",
  "execution",
  "languages",
  "runner-image",
  "sandbox",
  "secrets",
  "upstream",
];

/** The folder whose sources run in sandboxes, or in processes that tests start. */
const RUNNERS = "runner-image";

const HELP = `npm run mutate [-- FLAGS] [-- FILE...]

FILE...        files or globs to mutate completely, FILE:LINE-LINE for some lines; without any, a sample from ${CORE.join(", ")}
--sample N     draw at least this many mutants (400), from the named files if there are any
--seed N       draw a different sample (1)
--floor N      exit 1 if fewer per cent of the mutants are killed (85)
--jobs N       test runners at a time (2)
--fresh        ignore earlier results for sources and tests that have not changed
`;

const root = join(import.meta.dirname, "../..");
process.chdir(root);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    floor: { type: "string", default: "85" },
    jobs: { type: "string", default: "2" },
    fresh: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}

const wanted = values.sample ?? (positionals.length > 0 ? undefined : "400");
const patterns = positionals.length > 0 ? positionals : CORE.map((folder) => `${folder}/**/*.ts`);
const files = patterns.flatMap(filesOf).sort();
if (files.length === 0) fail(`no file matches ${positionals.join(" ")}`);
const mutate = wanted === undefined ? files : await sampledOf(wanted);
// Stryker's runners read this, so that a ptc started by a test runs without a host or a keyring.
Object.assign(process.env, { PTC_HOST: "off", PTC_KEYRING: "off" });
const isOfRunner = (range: string) => range.startsWith(`${RUNNERS}/`);
report([
  ...(await tryMutants(
    "core",
    mutate.filter((range) => !isOfRunner(range)),
  )),
  ...(await tryMutants(RUNNERS, mutate.filter(isOfRunner))),
]);

/** Tries mutants with the tests that import what they change; no test imports a runner, so those have the tests that start one. */
async function tryMutants(name: string, ranges: string[]): Promise<MutantResult[]> {
  if (ranges.length === 0) return [];
  process.env.PTC_MUTATED = name;
  return new Stryker({
    mutate: ranges,
    plugins: [
      "@stryker-mutator/vitest-runner",
      "./scripts/mutate/only-sampled.ts",
      "./scripts/mutate/survivors.ts",
    ],
    ignorers: wanted === undefined ? [] : ["only-sampled"],
    testRunner: "vitest",
    vitest: {
      configFile: "scripts/mutate/vitest.config.ts",
      related: name !== RUNNERS,
      pool: "forks",
    } as { configFile: string },
    // TypeScript 7 has no API with which Stryker could rewrite the configuration of tests that it does not run.
    tsconfigFile: "none.json",
    coverageAnalysis: "perTest",
    // A mutant that runs only while its module loads would need every test, which takes longer than all the others together.
    ignoreStatic: true,
    concurrency: numberOf("jobs", 1),
    // One process runs all tests.
    testRunnerNodeArgs: ["--max-old-space-size=6144"],
    dryRunTimeoutMinutes: 40,
    timeoutMS: 20_000,
    disableTypeChecks: false,
    incremental: true,
    incrementalFile: `.stryker/${name}.json`,
    force: values.fresh,
    tempDirName: ".stryker/tmp",
    cleanTempDir: "always",
    ignorePatterns: ["dist", "bench/node_modules"],
    reporters: ["progress", "survivors"],
    allowEmpty: true,
  }).runMutationTest();
}

/** The files of a pattern, each with the lines that the pattern ends with. */
function filesOf(pattern: string): string[] {
  const [lines = ""] = wanted === undefined ? (/:\d+(:\d+)?-\d+(:\d+)?$/.exec(pattern) ?? []) : [];
  return globSync(pattern.slice(0, pattern.length - lines.length)).map((file) => `${file}${lines}`);
}

async function sampledOf(text: string): Promise<string[]> {
  const sample = await drawSample(files, numberOf("sample", 1, text), numberOf("seed", 0));
  for (const place of sample.places) sampledPlaces.add(place);
  console.log(
    `${sample.mutants} of ${sample.outOf} mutants, in ${files.length} files, with seed ${values.seed}`,
  );
  return sample.ranges;
}

function report(all: readonly MutantResult[]): void {
  const tried = all.filter(({ status }) => ["Killed", "Timeout", "Survived", "NoCoverage"].includes(status));
  const survivors = tried.filter(isSurvivor);
  for (const survivor of survivors) console.log(lineOf(survivor));
  const killed = tried.length - survivors.length;
  const percent = tried.length === 0 ? 100 : (killed / tried.length) * 100;
  console.log(`${killed} of ${tried.length} mutants killed (${percent.toFixed(1)} %)`);
  if (percent < numberOf("floor", 0)) process.exitCode = 1;
}

function numberOf(flag: "sample" | "seed" | "floor" | "jobs", least: number, text = values[flag]): number {
  const value = Number(text);
  if (text === undefined || !Number.isFinite(value) || value < least)
    fail(`--${flag} takes a number from ${least}`);
  return value;
}

function fail(message: string): never {
  console.error(`mutate: ${message}`);
  process.exit(2);
}
