import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Comparison } from "./report.ts";

const ROUNDS = 15;

/** `ptc run` of a trivial program, as a user's shell sees it, against the barest sandboxed container there is. */
export function measureColdRun(image: string): Comparison {
  const directory = mkdtempSync(join(tmpdir(), "ptc-bench-"));
  const program = join(directory, "trivial.js");
  writeFileSync(program, "globalThis.result = 0;\n");
  const ptc = join(import.meta.dirname, "../dist/cli/ptc.js");
  const runPtc = () => timeProcess(process.execPath, [ptc, "run", program, "--no-host"], directory);
  const runDocker = () =>
    timeProcess(
      "docker",
      "run --rm --runtime runsc --network none".split(" ").concat(image, "node", "-e", "0"),
      directory,
    );
  runPtc();
  runDocker();
  const measuredMs: number[] = [];
  const baselineMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    baselineMs.push(runDocker());
    measuredMs.push(runPtc());
  }
  rmSync(directory, { recursive: true });
  return { name: "ptc run, cold", measuredMs, against: "docker run node -e 0", baselineMs, maxRatio: 1.5 };
}

function timeProcess(command: string, args: readonly string[], cwd: string): number {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}: ${stderr}`);
  return performance.now() - startedAt;
}
