/**
 * A fuzz target: a parser of foreign input, inputs for it, and what has to hold for every one of them. Beside what a target
 * checks itself, no exception or rejection may get to the top of the process, every check has to come to an end, and no
 * input may hold up the process or make it keep memory.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { messageOf } from "../../base/faults.ts";
import { tries } from "../tries.ts";
import { heldBytes, MAX_GROWTH_BYTES } from "./host-load.ts";
import { minimize } from "./minimize.ts";
import { mutate } from "./mutate.ts";
import { Random } from "./random.ts";
import type { Subject } from "./subject.ts";
import { TopOfProcess } from "./top-of-process.ts";
import { type Fault, tryInput } from "./try-input.ts";

/** What was seen so far. */
interface FuzzProgress {
  iterations: number;
  maxDelayMs: number;
  grownBytes: number;
}

export interface FuzzTarget {
  name: string;
  /** How many inputs `fuzz.test.ts` tries: a second or two on a machine with nothing else to do. */
  iterations?: number | undefined;
  /** Tries the corpus and that many inputs of a seed. @throws FuzzFailure for the first that breaks something. */
  run(seed: number, iterations: number, onProgress?: (progress: FuzzProgress) => void): Promise<void>;
  /**
   * Tries the corpus and a few inputs beside other tests of the process: no load is measured, and nothing is made smaller.
   * Absent where checks share something that takes long to open.
   *
   * @throws what the check throws, with the name of the input.
   */
  sample?: (() => Promise<void>) | undefined;
  /** Tries one input. @throws FuzzFailure */
  tryInput?(input: Buffer): Promise<void>;
}

export class FuzzFailure extends Error {
  override readonly name = "FuzzFailure";
}

const CORPUS = join(import.meta.dirname, "corpus");
/** Other work of the process gets its turn this often. */
const TURN_MS = 50;
const SAMPLE_SEED = 1;
/** How many inputs `sample` tries of a target that says nothing else. */
const SAMPLES = 30;
/** Memory is measured so often in a campaign, and after no fewer inputs: all garbage has to be collected for it. */
const MEMORY_CHECKS = 10;
const MEMORY_CHECK_INPUTS = 500;
/** Of what a check does at random with an input that is known to be of interest. */
const VARIANTS = 8;
/** `PTC_FUZZ_PAST`: goes on past failures whose message this matches, so that a defect that is known hides no other. */
const PAST = process.env.PTC_FUZZ_PAST ? new RegExp(process.env.PTC_FUZZ_PAST) : undefined;

export function fuzzTarget(subject: Subject): FuzzTarget {
  return {
    name: subject.name,
    iterations: subject.iterations,
    sample: subject.open === undefined ? () => sample(subject, tries(subject.samples ?? SAMPLES)) : undefined,
    run: (seed, iterations, onProgress = () => {}) =>
      opened(subject, (top) => runCampaign(subject, top, { seed, iterations, onProgress })),
    tryInput: (input) =>
      opened(subject, async (top) => {
        for (let variant = 0; variant < VARIANTS; variant++) {
          const { fault } = await tryInput(subject, top, input, variant);
          if (fault !== undefined)
            throw await failure(subject, top, { input, variant, name: "given" }, fault);
        }
      }),
  };
}

async function sample(subject: Subject, iterations: number): Promise<void> {
  const corpus = readCorpus(subject.name);
  const made = Array.from({ length: iterations }, (_, i) => ({
    file: `${SAMPLE_SEED}-${i}`,
    input: makeInput(subject, corpus, new Random(subject.name, SAMPLE_SEED, i)),
  }));
  for (const { file, input } of [...corpus, ...made]) {
    try {
      await subject.check(input, new Random(subject.name, file));
    } catch (cause) {
      throw new FuzzFailure(`${subject.name} ${file}: ${messageOf(cause)}`, { cause });
    }
  }
}

async function opened(subject: Subject, work: (top: TopOfProcess) => Promise<void>): Promise<void> {
  const close = await subject.open?.();
  const top = new TopOfProcess();
  try {
    await work(top);
  } finally {
    top.release();
    await close?.();
  }
}

interface Campaign {
  seed: number;
  iterations: number;
  onProgress: (progress: FuzzProgress) => void;
}

async function runCampaign(subject: Subject, top: TopOfProcess, campaign: Campaign): Promise<void> {
  const { seed, iterations, onProgress } = campaign;
  const corpus = readCorpus(subject.name);
  let maxDelayMs = 0;
  const attempt = async (input: Buffer, name: string, variant = 0) => {
    const { fault, delayMs } = await tryInput(subject, top, input, variant);
    maxDelayMs = Math.max(maxDelayMs, delayMs);
    if (fault === undefined || PAST?.test(fault.message)) return;
    throw await failure(subject, top, { input, variant, name }, fault);
  };
  for (const { file, input } of corpus) {
    for (let variant = 0; variant < VARIANTS; variant++) await attempt(input, file, variant);
  }
  // What is made once, with the first inputs, is not kept because of them.
  const heldAtFirst = heldBytes();
  const measureEvery = Math.max(MEMORY_CHECK_INPUTS, Math.ceil(iterations / MEMORY_CHECKS));
  let turnAt = performance.now();
  for (let i = 0; i < iterations; i++) {
    await attempt(makeInput(subject, corpus, new Random(subject.name, seed, i)), `${seed}-${i}`);
    if (performance.now() - turnAt > TURN_MS) {
      await nextTurn();
      turnAt = performance.now();
    }
    if ((i + 1) % measureEvery !== 0 && i + 1 !== iterations) continue;
    const grownBytes = heldBytes() - heldAtFirst;
    onProgress({ iterations: i + 1, maxDelayMs, grownBytes });
    if (grownBytes > MAX_GROWTH_BYTES) {
      const megabytes = Math.round(grownBytes / 1024 / 1024);
      throw new FuzzFailure(
        `${subject.name}: ${megabytes} MiB more are held after ${i + 1} inputs of seed ${seed}`,
      );
    }
  }
}

function makeInput(subject: Subject, corpus: readonly { input: Buffer }[], random: Random): Buffer {
  const fresh = () => Buffer.from(subject.generate(random));
  const known = () => (corpus.length === 0 ? fresh() : random.pick(corpus).input);
  switch (random.below(8)) {
    case 0:
    case 1:
      return mutate(random, known(), fresh());
    case 2:
      return mutate(random, fresh(), known());
    default:
      return fresh();
  }
}

function readCorpus(name: string): { file: string; input: Buffer }[] {
  const folder = join(CORPUS, name);
  let files: string[];
  try {
    files = readdirSync(folder).sort();
  } catch {
    return [];
  }
  return files.map((file) => ({ file, input: readFileSync(join(folder, file)) }));
}

/** Makes the input as small as it can be, keeps it in a file, and says how to try it again. */
async function failure(
  subject: Subject,
  top: TopOfProcess,
  { input, variant, name }: { input: Buffer; variant: number; name: string },
  fault: Fault,
): Promise<FuzzFailure> {
  const smallest =
    fault.kind === "never settles"
      ? input
      : await minimize(input, async (candidate) => {
          const again = await tryInput(subject, top, candidate, variant);
          return again.fault?.kind === fault.kind && sketch(again.fault) === sketch(fault);
        });
  const folder = join(tmpdir(), "ptc-fuzz");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${subject.name}-${name}`);
  writeFileSync(file, smallest);
  const shown = JSON.stringify(smallest.subarray(0, 300).toString("latin1"));
  const lines = [
    `${subject.name} ${name}: ${fault.kind}: ${fault.message}`,
    `input, ${smallest.length} bytes: ${shown}`,
    `again: npm run fuzz -- --target ${subject.name} --input ${file}`,
    `keep it: cp ${file} tests/fuzz/corpus/${subject.name}/`,
  ];
  return new FuzzFailure(lines.join("\n"));
}

/** What two failures of one cause have in common. */
function sketch({ message }: Fault): string {
  return message.slice(0, 60).replaceAll(/\d+|"[^"]*"/g, "");
}
