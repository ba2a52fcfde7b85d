/** `npm run bench`: prints ratios measured in this one run, and fails when one is too large. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { DockerEngine } from "../sandbox/docker-engine.ts";
import { currentProcess } from "../sandbox/process-identity.ts";
import { StateDirectory } from "../sandbox/state-directory.ts";
import { measureBrokeredCall } from "./brokered-call.ts";
import { measureGeneration, readToolLists } from "./codegen.ts";
import { measureColdRun } from "./cold-run.ts";
import { type Comparison, report } from "./report.ts";
import { measureTokens, reportTokens, type TokenShare } from "./tokens.ts";

const image = "ptc-runner";
const base = mkdtempSync(join(tmpdir(), "ptc-b-"));
const state = new StateDirectory(base, currentProcess());

const comparisons: Comparison[] = [
  measureColdRun(image),
  await measureBrokeredCall({ engine: new DockerEngine(), state, image }),
];
const toolLists = process.env.PTC_TOOL_LISTS ?? join(import.meta.dirname, "../../shared/data/tools");
const shares: TokenShare[] = [];
if (existsSync(toolLists)) {
  const listings = readToolLists(toolLists);
  comparisons.push(...(await measureGeneration(listings)));
  shares.push(...(await measureTokens(listings, countTokens)));
} else {
  console.log(`skipped: generation and tokens, for want of tool lists at ${toolLists} (PTC_TOOL_LISTS)`);
}
const holds = [...comparisons.map(report), ...shares.map(reportTokens)];
rmSync(base, { recursive: true, force: true });
process.exit(holds.every(Boolean) ? 0 : 1);
