/** Runs ordinary programs on two engines, and finds those that end otherwise on the second one. */
import type { RunnerName } from "../../../protocol/runners.ts";
import { batchOf, writeOrdinaryProgram } from "./ordinary-programs.ts";
import type { RecordedPrograms } from "./recorded-programs.ts";

/** The programs that share a sandbox. */
const BATCH = 25;
const ENVIRONMENT = { seed: "5e".repeat(32), time_zone: "Europe/Berlin" };

export interface EngineDifference {
  seed: number;
  program: string;
  first: string;
  second: string;
}

interface Outcome {
  result: string;
  console: string;
}

type Engines = readonly [first: RecordedPrograms, second: RecordedPrograms];

/** Runs the programs of `count` seeds on both engines. */
export async function compareEngines(
  engines: Engines,
  firstSeed: number,
  count: number,
  runner: RunnerName = "javascript",
): Promise<EngineDifference[]> {
  const differences: EngineDifference[] = [];
  for (let start = 0; start < count; start += BATCH) {
    const seeds = Array.from({ length: Math.min(BATCH, count - start) }, (_, at) => firstSeed + start + at);
    differences.push(...(await compareBatch(engines, seeds, runner)));
  }
  return differences;
}

/** Programs that do not even begin together are tried in halves, down to the one that does not begin. */
async function compareBatch(
  engines: Engines,
  seeds: readonly number[],
  runner: RunnerName,
): Promise<EngineDifference[]> {
  const bodies = seeds.map((seed) => writeOrdinaryProgram(seed, runner));
  const [first, second] = await Promise.all(engines.map((engine) => outcomesOf(engine, bodies, runner)));
  if (typeof first === "string" || typeof second === "string") {
    if (seeds.length === 1) {
      const [seed = 0] = seeds;
      const show = (each: typeof first) => (typeof each === "string" ? each : "ended");
      return show(first) === show(second)
        ? []
        : [{ seed, program: bodies[0] ?? "", first: show(first), second: show(second) }];
    }
    const half = Math.ceil(seeds.length / 2);
    return [
      ...(await compareBatch(engines, seeds.slice(0, half), runner)),
      ...(await compareBatch(engines, seeds.slice(half), runner)),
    ];
  }
  return seeds.flatMap((seed, at) => {
    const [one, other] = [text(first?.[at]), text(second?.[at])];
    return one === other ? [] : [{ seed, program: bodies[at] ?? "", first: one, second: other }];
  });
}

function text(outcome: Outcome | undefined): string {
  return outcome === undefined ? "" : `${outcome.result}\n${outcome.console}`;
}

/** The outcomes of programs that ran together, or the type of the failure that ended them all. */
async function outcomesOf(
  engine: RecordedPrograms,
  bodies: readonly string[],
  runner: RunnerName,
): Promise<Outcome[] | string> {
  const answer = async ({ tool, args }: { tool: string; args: unknown }) => {
    if (tool.endsWith("fail")) throw new Error("out of order");
    return { echo: args };
  };
  const { claim, console } = await engine.record(batchOf(bodies, runner), answer, ENVIRONMENT);
  if (claim?.ok !== true) return claim === undefined ? "no claim" : claim.error.type;
  const printed = console.split(/out program \d+\n/).slice(1);
  return (claim.data as string[]).map((result, at) => ({ result, console: printed[at] ?? "" }));
}
