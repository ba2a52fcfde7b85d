/** `npm run bench`: prints ratios measured in this one run, and fails when one is too large. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { DockerEngine } from "../sandbox/docker-engine.ts";
import { currentProcess } from "../sandbox/process-identity.ts";
import { StateDirectory } from "../sandbox/state-directory.ts";
import { measureArchive } from "./archive.ts";
import { measureArchivedRun } from "./archived-run.ts";
import { measureBrokeredCall } from "./brokered-call.ts";
import { measureGeneration, readToolLists } from "./codegen.ts";
import { measureColdRun } from "./cold-run.ts";
import { type Agreement, measureAgreement, reportAgreement } from "./fidelity.ts";
import { type Comparison, report } from "./report.ts";
import { measureSearch, readSearchSets, reportFigure } from "./search.ts";
import { measureTokens, reportTokens, type TokenShare } from "./tokens.ts";
import { measureTypeCheck } from "./type-check.ts";
import { measureWarmRun } from "./warm-run.ts";

const image = "ptc-runner";
const base = mkdtempSync(join(tmpdir(), "ptc-b-"));
const state = new StateDirectory(base, currentProcess());

const sandboxed = { engine: new DockerEngine(), state, image };
const comparisons: Comparison[] = [
  measureColdRun(image),
  await measureBrokeredCall(sandboxed),
  ...(await measureWarmRun(sandboxed)),
  ...(await measureArchivedRun(sandboxed, join(base, "archived-run"))),
  ...(await measureArchive(join(base, "archive"))),
];
const toolLists = process.env.PTC_TOOL_LISTS ?? join(import.meta.dirname, "../../shared/data/tools");
const shares: TokenShare[] = [];
const agreements: Agreement[] = [];
if (existsSync(toolLists)) {
  const listings = readToolLists(toolLists);
  comparisons.push(...(await measureGeneration(listings)));
  comparisons.push(await measureTypeCheck(listings));
  shares.push(...(await measureTokens(listings, countTokens)));
  agreements.push(await measureAgreement(listings, 2));
} else {
  console.log(
    `skipped: generation, tokens and fidelity, for want of tool lists at ${toolLists} (PTC_TOOL_LISTS)`,
  );
}
const searchSets = readSearchSets(
  process.env.PTC_SEARCH_SETS ?? join(import.meta.dirname, "../../shared/data/search"),
);
if (searchSets.length === 0) console.log("skipped: search, for want of sets of queries (PTC_SEARCH_SETS)");
const figures =
  searchSets.length === 0
    ? []
    : measureSearch(searchSets, existsSync(toolLists) ? readToolLists(toolLists) : []);
const holds = [
  ...comparisons.map(report),
  ...shares.map(reportTokens),
  ...agreements.map(reportAgreement),
  ...figures.map(reportFigure),
];
rmSync(base, { recursive: true, force: true });
process.exit(holds.every(Boolean) ? 0 : 1);
