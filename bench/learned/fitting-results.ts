import { TYPESCRIPT_PRINTER as PRINTER } from "../../codegen/typescript/typescript-printer.ts";
import { planGeneration } from "../../generation/generate-plan.ts";
import { serverModule } from "../../protocol/tool-names.ts";
import { compileGenerated } from "../../tests/codegen/compile-generated.ts";
import { checkPython } from "../../tests/codegen/python/check-python.ts";
import { generateStubs, pythonValue } from "../../tests/codegen/python/generate-stubs.ts";

/** A tool with the schema that was learned of it, and results that came later. */
export interface LearnedTool {
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

/** Type-checks results as values of the types that were learned, by the compilers of both languages. */
export async function fittingResults(
  tools: readonly LearnedTool[],
): Promise<Record<"TypeScript" | "Python", Fit>> {
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
