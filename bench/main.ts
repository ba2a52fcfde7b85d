/**
 * `npm run bench`: measures, and prints a table and one line of JSON. Every figure is measured in this run. Exit codes: 0 done;
 * 1 if a bound is missed, something could not be measured or, with `--compare`, a ratio got worse; 2 bad usage.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Bench, type Figure, isKept, type Measurement } from "./measurement.ts";
import { PARTS } from "./parts/measurements.ts";
import { compare, readBaseline, recordBaseline, renderComparison, renderFigures } from "./report.ts";
import { arrivals, steady } from "./runs/arrivals.ts";
import { consoles } from "./runs/console.ts";
import { engines } from "./runs/engines.ts";
import { fairness } from "./runs/fairness.ts";
import { http } from "./runs/http.ts";
import { kubernetes } from "./runs/kubernetes.ts";
import { library } from "./runs/library.ts";
import { plan } from "./runs/plan.ts";
import { calls, pythonPrograms, refills, trivialRun } from "./runs/served.ts";
import { servers } from "./runs/servers.ts";
import { coldRun, sharedHost } from "./runs/shell.ts";
import { wasm } from "./runs/wasm.ts";
import { brokeredCall, insideSandbox } from "./sandboxed.ts";
import { growth, thousandRuns } from "./scale.ts";

const MEASUREMENTS: readonly Measurement[] = [
  trivialRun,
  insideSandbox,
  calls,
  pythonPrograms,
  library,
  plan,
  http,
  consoles,
  brokeredCall,
  refills,
  steady,
  fairness,
  sharedHost,
  coldRun,
  engines,
  wasm,
  servers,
  kubernetes,
  arrivals,
  growth,
  thousandRuns,
  ...PARTS,
];

const QUICK_SHARE = 0.25;
const MIN_ROUNDS = 3;

const USAGE = `npm run bench -- [--only NAME]... [--quick] [--json FILE] [--compare] [--record]

  --only NAME   measure only this; may be repeated
  --quick       fewer rounds: shows that it works, but the figures are unreliable
  --json FILE   write the JSON there instead of printing it
  --compare     compare with bench/baseline.json; exit 1 only if a ratio got worse beyond the tolerance
  --record      make this run's ratios the baseline

${MEASUREMENTS.map(({ name, about }) => `  ${name.padEnd(16)}${about}`).join("\n")}
`;

process.exit(await main(process.argv.slice(2)));

async function main(args: string[]): Promise<number> {
  const flags = readFlags(args);
  if (typeof flags === "number") return flags;
  const figures: Figure[] = [];
  const skipped: string[] = [];
  const failed: string[] = [];
  const folder = mkdtempSync(join(tmpdir(), "ptc-b-"));
  const bench: Bench = {
    folder,
    image: "ptc-runner",
    isQuick: flags.quick,
    rounds: (count) => (flags.quick ? Math.max(MIN_ROUNDS, Math.ceil(count * QUICK_SHARE)) : count),
    skip: (what, why) => void skipped.push(`${what}: ${why}`),
  };
  try {
    for (const { name, about, measure } of flags.chosen) {
      process.stderr.write(`${name}: ${about} ...\n`);
      try {
        figures.push(...(await measure(bench)));
      } catch (error) {
        failed.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(renderFigures(figures));
  for (const line of skipped) process.stdout.write(`skipped: ${line}\n`);
  for (const line of failed) process.stdout.write(`could not be measured: ${line}\n`);
  const report = {
    machine: { processors: availableParallelism(), node: process.version, platform: process.platform },
    quick: flags.quick,
    figures: figures.map((figure) => ({ ...figure, kept: isKept(figure) })),
    skipped,
    failed,
  };
  if (flags.json === undefined) process.stdout.write(`${JSON.stringify(report)}\n`);
  else writeFileSync(flags.json, `${JSON.stringify(report, null, 2)}\n`);
  if (flags.record) recordBaseline(figures);
  if (failed.length > 0) return 1;
  if (!flags.compare) return figures.some((figure) => isKept(figure) === false) ? 1 : 0;
  const compared = compare(figures, readBaseline());
  process.stdout.write(`\n${renderComparison(compared)}`);
  return compared.some(({ isWorse }) => isWorse) ? 1 : 0;
}

interface Flags {
  chosen: readonly Measurement[];
  quick: boolean;
  compare: boolean;
  record: boolean;
  json: string | undefined;
}

/** Reads the command line. If it is wrong or asks for help, prints that and returns the exit code. */
function readFlags(args: string[]): Flags | 0 | 2 {
  try {
    const { values } = parseArgs({
      args,
      options: {
        only: { type: "string", multiple: true, default: [] },
        quick: { type: "boolean", default: false },
        compare: { type: "boolean", default: false },
        record: { type: "boolean", default: false },
        json: { type: "string" },
        help: { type: "boolean", default: false },
      },
    });
    const { only, json, help, ...rest } = values;
    const unknown = only.filter((name) => !MEASUREMENTS.some((each) => each.name === name));
    if (unknown.length > 0) throw new Error(`there is no measurement '${unknown.join("', '")}'`);
    if (help) {
      process.stdout.write(USAGE);
      return 0;
    }
    const chosen = MEASUREMENTS.filter(({ name }) => only.length === 0 || only.includes(name));
    return { chosen, json, ...rest };
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return 2;
  }
}
