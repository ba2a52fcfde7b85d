import { schemaOfShape } from "../../catalog/learned/learned-state.ts";
import { mergeShapes, NOTHING, observeShape } from "../../catalog/learned/shape.ts";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../codegen/typescript/typescript-printer.ts";
import { planGeneration } from "../../generation/generate-plan.ts";
import { serverModule } from "../../protocol/tool-names.ts";
import { compareWithDeclared } from "../../tests/catalog/learned/declared-members.ts";
import { KEYED_TOOLS } from "../../tests/catalog/learned/made-up/keyed-tools.ts";
import { measureMadeUp } from "../../tests/catalog/learned/made-up/measure-made-up.ts";
import { PLAIN_TOOLS } from "../../tests/catalog/learned/made-up/plain-tools.ts";
import { compileGenerated } from "../../tests/codegen/compile-generated.ts";
import { checkPython } from "../../tests/codegen/python/check-python.ts";
import { generateStubs, pythonValue } from "../../tests/codegen/python/generate-stubs.ts";
import type { Bench, Figure } from "../measurement.ts";
import { type ArchivedTool, archiveResults } from "./archived-results.ts";

const CALLS = [1, 3, 10] as const;

/** Rounds of calls to learn from, and further rounds whose results are compared with what was learned. */
const LEARNED_ROUNDS = 10;
const FURTHER_ROUNDS = 4;

/**
 * Minimum shares that must be found, for the numbers of calls above. Some members that servers declare never occur here, such as
 * those of conflicts.
 */
const BOUNDS = {
  declared: [0.6, 0.75, 0.75],
  fitting: [0.8, 0.95, 0.98],
  madeUp: [0.8, 0.9, 0.95],
} as const;

/** Measures what is learned about tools of real servers from archived runs, and about synthetic tools that are hard. */
export async function measureLearned({ isQuick }: Bench, folder: string): Promise<Figure[]> {
  const tools = await archiveResults(folder, LEARNED_ROUNDS + (isQuick ? 1 : FURTHER_ROUNDS));
  return [
    ...CALLS.flatMap((calls, i) => ofDeclared(tools, calls, BOUNDS.declared[i] ?? 0)),
    ...(await ofFurther(tools)),
    ...CALLS.flatMap((calls, i) => ofMadeUp(calls, BOUNDS.madeUp[i] ?? 0, isQuick ? 2 : 5)),
  ];
}

/** The schema learned from a tool's first results. */
function learn({ results }: ArchivedTool, calls: number): Record<string, unknown> {
  return schemaOfShape(
    results
      .slice(0, calls)
      .map((each) => observeShape(each))
      .reduce(mergeShapes, NOTHING),
  );
}

function ofDeclared(tools: readonly ArchivedTool[], calls: number, atLeast: number): Figure[] {
  const declaring = tools.filter(({ definition }) => definition.outputSchema !== undefined);
  const compared = declaring.map(({ name, definition, results }) => ({
    name,
    ...compareWithDeclared(definition.outputSchema, results.slice(0, calls)),
  }));
  const declared = compared.reduce((sum, each) => sum + each.declared, 0);
  const found = compared.reduce((sum, each) => sum + each.found, 0);
  const foreign = compared.flatMap(({ name, undeclared }) => undeclared.map((path) => `${name}${path}`));
  return [
    {
      name: `declared members of real servers that are found, ${calls} calls`,
      value: found / declared,
      unit: "times",
      against: "all that are declared",
      bound: { atLeast },
      detail: `${found} of ${declared} of ${declaring.length} tools`,
    },
    {
      name: `members that are learned and not declared, ${calls} calls`,
      value: foreign.length,
      unit: "members",
      bound: { atMost: 0 },
      detail: foreign.slice(0, 3).join(" "),
    },
  ];
}

/** The share of later results that fit the learned types of both languages. */
async function ofFurther(tools: readonly ArchivedTool[]): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [i, calls] of CALLS.entries()) {
    const learned = tools
      .filter(({ results }) => results.length > LEARNED_ROUNDS)
      .map((tool) => ({ ...tool, schema: learn(tool, calls), further: tool.results.slice(LEARNED_ROUNDS) }))
      .filter(({ schema }) => Object.keys(schema).length > 0);
    for (const [language, { fitting, all, unfit }] of Object.entries(await fittingResults(learned)))
      figures.push({
        name: `further results that fit the learned type in ${language}, ${calls} calls`,
        value: fitting / all,
        unit: "times",
        against: "all further results",
        bound: { atLeast: BOUNDS.fitting[i] ?? 0 },
        detail: `${fitting} of ${all} of ${learned.length} tools; not of ${unfit.slice(0, 3).join(" ")}`,
      });
  }
  return figures;
}

function ofMadeUp(calls: number, atLeast: number, seeds: number): Figure[] {
  const tools = [...PLAIN_TOOLS, ...KEYED_TOOLS];
  const measures = tools.flatMap((tool) =>
    Array.from({ length: seeds }, (_, seed) => ({
      keys: tool.keys,
      ...measureMadeUp(tool, calls, seed + 100),
    })),
  );
  const members = measures.reduce((sum, each) => sum + each.members, 0);
  const found = measures.reduce((sum, each) => sum + each.found, 0);
  // With few results, keys that look like names cannot be recognised as data.
  const telling = measures.filter(({ keys }) => calls >= 10 || keys !== "words");
  const wrong = telling.flatMap(({ tool, foreign, leaked }) =>
    [...foreign, ...leaked].map((each) => `${tool} ${each}`),
  );
  return [
    {
      name: `members of made-up tools that are found, ${calls} calls`,
      value: found / members,
      unit: "times",
      against: "all of them",
      bound: { atLeast },
      detail: `${found} of ${members}, of ${tools.length} tools`,
    },
    {
      name: `keys and texts of made-up tools that are in a learned type, ${calls} calls`,
      value: wrong.length,
      unit: "texts",
      bound: { atMost: 0 },
      detail: wrong.slice(0, 3).join("; "),
    },
  ];
}

/** A tool with its learned schema and later results. */
interface LearnedTool {
  name: string;
  server: string;
  definition: Readonly<Record<string, unknown>>;
  schema: Readonly<Record<string, unknown>>;
  further: readonly unknown[];
}

interface Fit {
  fitting: number;
  all: number;
  /** Names of tools with results that do not fit. */
  unfit: readonly string[];
}

/** Checks with the type checkers of both languages whether results are values of the learned types. */
async function fittingResults(tools: readonly LearnedTool[]): Promise<Record<"TypeScript" | "Python", Fit>> {
  const servers = [...new Set(tools.map(({ server }) => server))];
  const listings = servers.map((name) => ({
    name,
    implementation: { name, version: "1" },
    protocolVersion: "2025-11-25",
    tools: tools
      .filter(({ server }) => server === name)
      .map(({ definition, schema }) => ({
        name: definition.name,
        inputSchema: definition.inputSchema,
        outputSchema: schema,
      })),
  }));
  return { TypeScript: await inTypeScript(tools, listings), Python: await inPython(tools, listings) };
}

type Listings = Parameters<typeof generateStubs>[0];

async function inTypeScript(tools: readonly LearnedTool[], listings: Listings): Promise<Fit> {
  const { files } = await planGeneration({ listings });
  const sources = new Map([...files].filter(([path]) => path.endsWith(".ts") && path !== "globals.d.ts"));
  const places = new Map<string, string>();
  for (const { name: server } of listings) {
    const module = serverModule(server);
    const path = PRINTER.modulePath(module);
    const types = new Map(
      PRINTER.readModule(module, sources.get(path) ?? "").tools.map((tool) => [
        tool.namespacedName,
        tool.output,
      ]),
    );
    const lines = [`import type * as m from "../${path.replace(/\.ts$/, ".js")}";`];
    for (const { name, further } of tools.filter((tool) => tool.server === server))
      for (const result of further) {
        const type = types.get(name) ?? "any";
        places.set(`values/${module}.ts:${lines.length + 1}`, name);
        lines.push(
          `export const v${lines.length}: ${type === "any" ? "any" : `m.${type}`} = ${JSON.stringify(result)};`,
        );
      }
    sources.set(`values/${module}.ts`, `${lines.join("\n")}\n`);
  }
  const unfit = compileGenerated(sources).flatMap((line) => {
    const [, path = "", number = ""] = /(values\/\w+\.ts)\((\d+),/.exec(line) ?? [];
    return path === "" ? [] : `${path}:${number}`;
  });
  return fitOf(places, unfit);
}

async function inPython(tools: readonly LearnedTool[], listings: Listings): Promise<Fit> {
  const { files, modules } = await generateStubs(listings);
  const places = new Map<string, string>();
  for (const { name: server } of listings) {
    const module = serverModule(server);
    const types = new Map(modules.get(module)?.tools.map((tool) => [tool.namespacedName, tool.output]));
    const lines = ["from typing import Any", `import servers.${module} as m`, "", "unused: Any = m"];
    for (const { name, further } of tools.filter((tool) => tool.server === server))
      for (const result of further) {
        const type = types.get(name) ?? "Any";
        places.set(`values_${module}.py:${lines.length}`, name);
        lines.push(
          `v${lines.length}: ${/^[A-Z]\w*Output$/.test(type) ? `m.${type}` : type} = ${pythonValue(result)}`,
        );
      }
    files.set(`values_${module}.py`, `${lines.join("\n")}\n`);
  }
  return fitOf(
    places,
    checkPython(files).map(({ path, line }) => `${path}:${line}`),
  );
}

function fitOf(places: ReadonlyMap<string, string>, unfit: readonly string[]): Fit {
  const failed = new Set(unfit.filter((place) => places.has(place)));
  const names = new Set([...failed].map((place) => places.get(place) ?? ""));
  return { all: places.size, fitting: places.size - failed.size, unfit: [...names] };
}
