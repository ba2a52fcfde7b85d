/** `npm run bench`: prints ratios measured in this one run, and fails when one is too large. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { SocketFolder } from "../sandbox/docker/channel/socket-folder.ts";
import { DockerEngine } from "../sandbox/docker/docker-engine.ts";
import { DockerSandboxEngine } from "../sandbox/docker/docker-sandbox-engine.ts";
import { readSearchSets, searchSetsFolder } from "../tests/catalog/search/search-sets.ts";
import { type Agreement, measureAgreement } from "../tests/codegen/agreement.ts";
import { toolLists, toolListsFolder, toolListsPresent } from "../tests/codegen/tool-lists.ts";
import { measureArchive } from "./archive.ts";
import { measureArchivedRun } from "./archived-run.ts";
import { measureBrokeredCall } from "./brokered-call.ts";
import { measureGeneration } from "./codegen.ts";
import { measureColdRun } from "./cold-run.ts";
import { measureOverMcp } from "./over-mcp.ts";
import { measureReading } from "./reading.ts";
import { type Comparison, report } from "./report.ts";
import { reportAgreement } from "./report-agreement.ts";
import { measureSearch, reportFigure } from "./search.ts";
import { measureTokens, reportTokens, type TokenShare } from "./tokens.ts";
import { measureTypeCheck } from "./type-check.ts";
import { measureWarmRun } from "./warm-run.ts";

const image = "ptc-runner";
const base = mkdtempSync(join(tmpdir(), "ptc-b-"));
const containers = new DockerEngine();

const sandboxed = {
  engine: new DockerSandboxEngine(containers, base),
  containers,
  sockets: new SocketFolder(base),
  image,
};
const comparisons: Comparison[] = [
  measureColdRun(image),
  await measureBrokeredCall(sandboxed),
  ...(await measureWarmRun(sandboxed)),
  ...(await measureArchivedRun(sandboxed, join(base, "archived-run"))),
  ...(await measureArchive(join(base, "archive"))),
  ...(await measureOverMcp(join(base, "over-mcp"))),
];
const shares: TokenShare[] = [];
const agreements: Agreement[] = [];
if (toolListsPresent) {
  comparisons.push(...(await measureGeneration(toolLists)));
  comparisons.push(await measureTypeCheck(toolLists));
  shares.push(...(await measureTokens(toolLists, countTokens)));
  agreements.push(await measureAgreement(toolLists, 2));
} else {
  console.log(
    `skipped: generation, tokens and fidelity, for want of tool lists at ${toolListsFolder} (PTC_TOOL_LISTS)`,
  );
}
const searchSets = readSearchSets(searchSetsFolder);
if (searchSets.length === 0) console.log("skipped: search, for want of sets of queries (PTC_SEARCH_SETS)");
const figures = searchSets.length === 0 ? [] : measureSearch(searchSets, toolLists);
if (toolListsPresent) figures.push(...(await measureReading(toolLists, countTokens)));
const holds = [
  ...comparisons.map(report),
  ...shares.map(reportTokens),
  ...agreements.map(reportAgreement),
  ...figures.map(reportFigure),
];
rmSync(base, { recursive: true, force: true });
process.exit(holds.every(Boolean) ? 0 : 1);
