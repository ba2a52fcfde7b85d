/** `npm run bench`: prints ratios measured in this one run, and fails when one is too large. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DockerEngine } from "../sandbox/docker-engine.ts";
import { currentProcess } from "../sandbox/process-identity.ts";
import { StateDirectory } from "../sandbox/state-directory.ts";
import { measureBrokeredCall } from "./brokered-call.ts";
import { measureColdRun } from "./cold-run.ts";
import { report } from "./report.ts";

const image = "ptc-runner";
const base = mkdtempSync(join(tmpdir(), "ptc-b-"));
const state = new StateDirectory(base, currentProcess());

const comparisons = [
  measureColdRun(image),
  await measureBrokeredCall({ engine: new DockerEngine(), state, image }),
];
const holds = comparisons.map(report);
rmSync(base, { recursive: true, force: true });
process.exit(holds.every(Boolean) ? 0 : 1);
