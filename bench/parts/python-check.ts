import type { ServerListing } from "../../catalog/parse-tool.ts";
import { buildServerModel } from "../../catalog/tool-model.ts";
import type { GeneratedModule } from "../../codegen/language-printer.ts";
import { PYTHON_PRINTER } from "../../codegen/python/python-printer.ts";
import { createPythonTypeChecker } from "../../languages/python/type-check/type-check-python.ts";
import { type Figure, percentile, show } from "../figure.ts";

const MODULES = 3;
const LINES = 30;
const WARM_UP = 5;
const ROUNDS = 60;
const MAX_MEDIAN_MS = 60;

/** Checking a program in Python of 30 lines over three modules, each time another, in a process that is warm. */
export async function measurePythonCheck(listings: readonly ServerListing[]): Promise<Figure> {
  const modules = await printStubs(listings.slice(0, MODULES));
  const source = {
    modules: () => [...modules.keys()],
    load: async (module: string) => modules.get(module),
  };
  const checker = createPythonTypeChecker({ limitMs: 60_000 });
  const times: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const code = programOf([...modules.keys()], round);
    const startedAt = performance.now();
    const outcome = await checker.check(
      { code, data: {}, language: "python", fileName: "program.py" },
      source,
      "async",
    );
    if (outcome.kind !== "clean") throw new Error(`a correct program is ${outcome.kind}`);
    if (round >= WARM_UP) times.push(performance.now() - startedAt);
  }
  await checker.close();
  return {
    name: `type check of ${LINES} lines of Python over ${MODULES} modules, p50`,
    value: percentile(times, 0.5),
    unit: "ms",
    bound: { atMost: MAX_MEDIAN_MS },
    detail: `${show(times)} ms`,
  };
}

async function printStubs(listings: readonly ServerListing[]): Promise<Map<string, GeneratedModule>> {
  const modules = new Map<string, GeneratedModule>();
  for (const listing of listings) {
    const module = listing.name.toLowerCase().replace(/[^a-z0-9]+/g, "_");
    const { text } = await PYTHON_PRINTER.printModule(buildServerModel(listing, module).server);
    modules.set(module, PYTHON_PRINTER.readModule(module, text));
  }
  return modules;
}

/** A program with other names in each round, which awaits a call of each module. */
function programOf(modules: readonly string[], round: number): string {
  const lines = ["import asyncio", ...modules.map((module) => `import servers.${module}`)];
  while (lines.length < LINES - 1)
    lines.push(`v${lines.length} = [n * ${round} for n in range(${lines.length})]`);
  lines.push(`result = [${modules.map((module) => `len(dir(servers.${module}))`).join(", ")}]`);
  return lines.join("\n");
}
