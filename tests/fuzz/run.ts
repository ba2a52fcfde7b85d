/** `npm run fuzz`: tries inputs until one breaks something, or until it is stopped. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readCount, readFlags } from "../script-flags.ts";
import { FuzzFailure, type FuzzTarget } from "./fuzz-target.ts";
import { loadTargets } from "./targets-here.ts";

const USAGE = `npm run fuzz                                  every target in turn, with new seeds, until stopped
npm run fuzz -- --target NAME                 one target; \`programs\` runs generated programs in real sandboxes
npm run fuzz -- --target wasm                 the same in interpreters in WebAssembly
npm run fuzz -- --target wasm-results         ordinary programs there, whose results must be those of Node.js
npm run fuzz -- --target wasm-gvisor          the same, compared with sandboxes in gVisor
npm run fuzz -- --target wasm-python          ordinary programs in Python there, whose results must be those of Python here
npm run fuzz -- --target wasm-python-gvisor   the same, compared with sandboxes in gVisor
npm run fuzz -- --target loop                 the largest and worst of everything, by how long a server's loop is held
npm run fuzz -- --target NAME --seed N --iterations N
npm run fuzz -- --target NAME --input FILE    one input`;

/** Of a target, before it is the next one's turn. */
const ITERATIONS = 5_000;

const values = readFlags("fuzz", USAGE, {
  target: { type: "string" },
  seed: { type: "string" },
  iterations: { type: "string" },
  input: { type: "string" },
  help: { type: "boolean" },
});

async function chooseTargets(name: string | undefined): Promise<FuzzTarget[]> {
  if (name === "programs") return [(await import("../sandbox/programs/program-campaign.ts")).target];
  const ofWasm = (await import("../sandbox/wasm/campaigns.ts")).targets.filter((each) => each.name === name);
  if (ofWasm.length > 0) return ofWasm;
  const all = await loadTargets();
  const chosen = all.filter((target) => name === undefined || target.name === name);
  if (chosen.length === 0)
    throw new FuzzFailure(
      `no target ${name}: ${all.map((each) => each.name).join(", ")}, programs, wasm, wasm-results, wasm-gvisor, wasm-python, wasm-python-gvisor`,
    );
  return chosen;
}

async function runOnce(target: FuzzTarget, seed: number, iterations: number): Promise<void> {
  const started = performance.now();
  await target.run(seed, iterations, (progress) => {
    const seconds = (performance.now() - started) / 1_000;
    const figures = [
      `${progress.iterations} inputs`,
      `${Math.round(progress.iterations / seconds)}/s`,
      `longest turn ${Math.round(progress.maxDelayMs)} ms`,
      `held ${Math.round(progress.grownBytes / 1024 / 1024)} MiB more`,
      `resident ${Math.round(process.memoryUsage.rss() / 1024 / 1024)} MiB`,
    ];
    console.log(`${target.name} seed ${seed}: ${figures.join(", ")}`);
  });
}

async function main(): Promise<void> {
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const count = (flag: "seed" | "iterations", value: string) => readCount("fuzz", USAGE, `--${flag}`, value);
  const iterations = values.iterations === undefined ? ITERATIONS : count("iterations", values.iterations);
  const givenSeed = values.seed === undefined ? undefined : count("seed", values.seed);
  if (values.target === "loop") {
    // Each target is a test, which says what held the loop for how long.
    const files = ["run", "--project", "alone", "tests/loop"];
    const { status } = spawnSync("vitest", files, {
      ...{ stdio: "inherit", env: { ...process.env, PTC_LOOP: "whole" } },
    });
    process.exitCode = status ?? 1;
    return;
  }
  const targets = await chooseTargets(values.target);
  if (values.input !== undefined) {
    for (const target of targets) await target.tryInput?.(readFileSync(values.input));
    console.log("nothing broke");
    return;
  }
  if (givenSeed !== undefined) {
    for (const target of targets) await runOnce(target, givenSeed, iterations);
    return;
  }
  for (let seed = Date.now() % 2 ** 31; ; seed++)
    for (const target of targets) await runOnce(target, seed, iterations);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof FuzzFailure ? error.message : error);
  process.exitCode = 1;
}
// A target may have left a thread or a server running.
process.exit();
