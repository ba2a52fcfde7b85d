import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { readSearchSets, searchSetsFolder } from "../../tests/catalog/search/search-sets.ts";
import { MIN_REFUSED, measureAgreement } from "../../tests/codegen/agreement.ts";
import { toolLists, toolListsFolder, toolListsPresent } from "../../tests/codegen/tool-lists.ts";
import { measureLearned } from "../learned/learned-results.ts";
import { type Bench, type Figure, type Measurement, ratio } from "../measurement.ts";
import { measureExamples, measureReading, measureTokens } from "../reading.ts";
import { openSandboxed } from "../sandboxed.ts";
import { measureArchive } from "./archive.ts";
import { measureGeneration } from "./codegen.ts";
import { measureArchivedRun, measureExperiment, measureWarmRun } from "./executions.ts";
import { measureRules } from "./rule-decisions.ts";
import { measureMeaning, measureSearch } from "./search.ts";
import { manyCalls, storage } from "./storage.ts";
import { measureTelemetry } from "./telemetry.ts";
import { measurePythonCheck, measureTypeCheck } from "./type-check.ts";
import { measureOrigins } from "./value-origins.ts";

/** Measurements of single parts of ptc, without a client and mostly without a separate process. */
export const PARTS: readonly Measurement[] = [
  {
    name: "warm-run",
    about: "programs in sandboxes from a full pool, against a sandbox started for the program",
    measure: async (bench) => (await measureWarmRun(openSandboxed(bench))).map(ratio),
  },
  {
    name: "archived-run",
    about: "a run that is archived, and its replay",
    measure: async (bench) =>
      (await measureArchivedRun(openSandboxed(bench), join(bench.folder, "archived-run"))).map(ratio),
  },
  {
    name: "archive",
    about: "handing a run over, and finding one among many",
    measure: async (bench) => (await measureArchive(join(bench.folder, "archive"))).map(ratio),
  },
  storage,
  manyCalls,
  {
    name: "telemetry",
    about: "calls without telemetry, and calls reported to a collector",
    measure: async () => (await measureTelemetry()).map(ratio),
  },
  {
    name: "generation",
    about: "generating modules, and checking a program against them",
    measure: withToolLists(async () => [
      ...(await measureGeneration(toolLists)).map(ratio),
      ratio(await measureTypeCheck(toolLists)),
    ]),
  },
  {
    name: "python-check",
    about: "how long the type check of a program in Python takes",
    measure: withToolLists(async () => [await measurePythonCheck(toolLists)]),
  },
  {
    name: "tokens",
    about: "what a model reads about tools and ptc",
    measure: withToolLists(async () => [
      ...(await measureTokens(toolLists, countTokens)),
      ...(await measureReading(toolLists, countTokens)),
    ]),
  },
  {
    name: "examples",
    about: "what a model reads to do what the examples do, without ptc and with it",
    measure: measureExamples,
  },
  {
    name: "rules",
    about: "how long a decision takes with 1,000 rules, of which 20 can apply",
    measure: measureRules,
  },
  {
    name: "origins",
    about: "how long it takes to find the origins of a call's values, and how often unrelated texts match",
    measure: withToolLists(async () => measureOrigins(toolLists)),
  },
  {
    name: "experiment",
    about:
      "running a program again because the content does not show whether a value depends on what it read",
    measure: async (bench) => (await measureExperiment(openSandboxed(bench))).map(ratio),
  },
  {
    name: "fidelity",
    about: "how often generated types and the validator agree",
    measure: withToolLists(fidelity),
  },
  {
    name: "learned-types",
    about: "what is learned from results of real servers and of synthetic, hard tools",
    measure: (bench) => measureLearned(bench, join(bench.folder, "learned")),
  },
  {
    name: "search",
    about: "quality and speed of finding tools",
    async measure(bench) {
      const sets = readSearchSets(searchSetsFolder);
      if (sets.length > 0) return measureSearch(sets, toolLists);
      bench.skip("search", "there are no query sets (PTC_SEARCH_SETS)");
      return [];
    },
  },
  {
    name: "search-meaning",
    about:
      "quality of finding tools with an endpoint for embeddings (PTC_EMBEDDINGS_URL, PTC_EMBEDDINGS_MODEL)",
    async measure(bench) {
      const { PTC_EMBEDDINGS_URL: url, PTC_EMBEDDINGS_MODEL: model = "all-MiniLM-L6-v2" } = process.env;
      const sets = readSearchSets(searchSetsFolder);
      if (url !== undefined && sets.length > 0)
        return measureMeaning(sets, { url, model }, join(bench.folder, "search"), bench.isQuick ? 10 : 1);
      const why =
        "there is no endpoint (PTC_EMBEDDINGS_URL), or there are no sets of queries (PTC_SEARCH_SETS)";
      bench.skip("search by meaning", why);
      return [];
    },
  },
];

function withToolLists(measure: () => Promise<Figure[]>): Measurement["measure"] {
  return async (bench: Bench) => {
    if (toolListsPresent) return measure();
    bench.skip(
      "what is measured with real tools",
      `there are no tool lists at ${toolListsFolder} (PTC_TOOL_LISTS)`,
    );
    return [];
  };
}

/** Accepted values must type-check, and values refused for their shape must not. */
async function fidelity(): Promise<Figure[]> {
  const { schemas, accepted, refused } = await measureAgreement(toolLists, 2);
  const share = (name: string, kept: number, of: number, atLeast: number): Figure => ({
    name,
    value: kept / of,
    unit: "times",
    against: "all of them",
    bound: { atLeast },
    detail: `${kept} of ${of}, sampled and mutated from ${schemas} schemas`,
  });
  const typed = accepted.filter(({ typeChecks }) => typeChecks).length;
  const untyped = refused.filter(({ typeChecks }) => !typeChecks).length;
  return [
    share("accepted values that type-check", typed, accepted.length, 1),
    share("refused values that do not", untyped, refused.length, MIN_REFUSED),
  ];
}
