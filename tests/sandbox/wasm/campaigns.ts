/** What `npm run fuzz` tries on the engine `wasm` for hours. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunnerName } from "../../../protocol/runners.ts";
import type { SandboxEngine } from "../../../sandbox/sandbox-engine.ts";
import { findPyodide } from "../../../sandbox/wasm/pyodide.ts";
import { WASM_IMAGE, WasmEngine } from "../../../sandbox/wasm/wasm-engine.ts";
import { buildWasmRunner } from "../../../scripts/wasm-runner.ts";
import { FuzzFailure, type FuzzTarget } from "../../fuzz/fuzz-target.ts";
import { heldBytes } from "../../fuzz/host-load.ts";
import { ProcessEngine } from "../../runner-image/process-engine.ts";
import { compareEngines } from "../programs/compare-engines.ts";
import { campaignTarget } from "../programs/program-campaign.ts";
import { recordedPrograms } from "../programs/recorded-programs.ts";
import { openTestedEngine } from "../tested-engine.ts";
import { openHostileCampaign } from "./hostile-campaign.ts";

/** How many ordinary programs are compared before figures are told. */
const STEP = 250;
/** How many differences are shown. */
const SHOWN = 10;

async function openEngine(): Promise<WasmEngine> {
  const folder = mkdtempSync(join(tmpdir(), "ptc-wasm-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  await buildWasmRunner(folder);
  return new WasmEngine({ folder, findPyodide: () => findPyodide(import.meta.dirname) });
}

const hostile = campaignTarget("wasm", async () => openHostileCampaign(await openEngine()));

/** Compares ordinary programs on the engine `wasm` with those of another, which has `image`. */
function comparison(
  name: string,
  other: string,
  open: (folder: string) => SandboxEngine,
  image: string,
  runner: RunnerName = "javascript",
): FuzzTarget {
  return {
    name,
    async run(seed, iterations, onProgress = () => {}) {
      const wasm = await openEngine();
      const folder = mkdtempSync(join(tmpdir(), "ptc-compared-"));
      process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
      const first = open(folder);
      const engines = [
        recordedPrograms(first, image, runner),
        recordedPrograms(wasm, WASM_IMAGE, runner),
      ] as const;
      const heldAtFirst = heldBytes();
      const differences = [];
      for (let done = 0; done < iterations; done += STEP) {
        const count = Math.min(STEP, iterations - done);
        differences.push(...(await compareEngines(engines, seed + done, count, runner)));
        onProgress({ iterations: done + count, maxDelayMs: 0, grownBytes: heldBytes() - heldAtFirst });
      }
      await Promise.all([wasm.close(), first.close?.()]);
      if (differences.length === 0) return;
      const shown = differences
        .slice(0, SHOWN)
        .map(({ seed: of, program, first: one, second }) =>
          [`program of seed ${of}:`, program, `${other}:`, one, "wasm:", second].join("\n"),
        );
      throw new FuzzFailure([`${differences.length} programs differ`, ...shown].join("\n\n"));
    },
  };
}

const results = comparison("wasm-results", "Node.js", () => new ProcessEngine(), "node");
const gvisor = comparison("wasm-gvisor", "gVisor", openTestedEngine, "ptc-runner");

const python = comparison("wasm-python", "Python", () => new ProcessEngine(), "python", "python");
const pythonGvisor = comparison("wasm-python-gvisor", "gVisor", openTestedEngine, "ptc-runner", "python");

export const targets: readonly FuzzTarget[] = [hostile, results, gvisor, python, pythonGvisor];
