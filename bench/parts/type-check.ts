import type { ServerListing } from "../../catalog/parse-tool.ts";
import { buildServerModel } from "../../catalog/tool-model.ts";
import type { GeneratedModule } from "../../codegen/language-printer.ts";
import { PYTHON_PRINTER } from "../../codegen/python/python-printer.ts";
import { printServerModule } from "../../codegen/typescript/print-typescript.ts";
import { readModule } from "../../codegen/typescript/read-module.ts";
import type { ModuleSource } from "../../languages/module-source.ts";
import type { Program } from "../../languages/program.ts";
import { createPythonTypeChecker } from "../../languages/python/type-check/type-check-python.ts";
import { bundleProgram } from "../../languages/typescript/bundling/bundle.ts";
import { createTypeChecker } from "../../languages/typescript/typescript.ts";
import { type Comparison, type Figure, percentile, show } from "../measurement.ts";

const LINES = 30;

/** Checking a program of 30 lines with many modules, of which it uses two, warm, against bundling the same program. */
export async function measureTypeCheck(listings: readonly ServerListing[]): Promise<Comparison> {
  const modules = await printModules(listings);
  const checker = createTypeChecker();
  const baselineMs: number[] = [];
  const measuredMs: number[] = [];
  for (let round = 0; round < 110; round++) {
    const program = programOf(modules.modules().slice(0, 2), round);
    const bundlingMs = await time(() => bundleProgram(program, modules));
    const checkingMs = await time(() => checker.check(program, modules));
    if (round < 10) continue;
    baselineMs.push(bundlingMs);
    measuredMs.push(checkingMs);
  }
  await checker.close();
  return { name: "type check", measuredMs, against: "bundling", baselineMs, maxRatio: 1.5 };
}

async function printModules(listings: readonly ServerListing[]): Promise<ModuleSource> {
  const texts = new Map<string, string>();
  for (const listing of listings) {
    const module = listing.name.toLowerCase().replace(/[^a-z0-9]+/g, "_");
    const { text } = await printServerModule(buildServerModel(listing, module).server);
    texts.set(module, text);
  }
  return {
    modules: () => [...texts.keys()],
    load: async (module) => readModule(module, texts.get(module) ?? ""),
  };
}

/** A program whose text differs in each round. */
function programOf(modules: readonly string[], round: number): Program {
  const lines = modules.map((module) => `import * as ${module} from "./servers/${module}/index.js";`);
  while (lines.length < LINES - 1)
    lines.push(`const v${lines.length} = await Promise.all([1, 2].map(async (n) => n + ${round}));`);
  lines.push(`result = [${modules.map((module) => `Object.keys(${module}).length`).join(", ")}];`);
  return { code: lines.join("\n"), data: {}, language: "typescript", fileName: "program.ts" };
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const MODULES = 3;
const MAX_MEDIAN_MS = 60;

/** Checking a Python program of 30 lines with three modules, a different one each time, in a warm process. */
export async function measurePythonCheck(listings: readonly ServerListing[]): Promise<Figure> {
  const modules = await printStubs(listings.slice(0, MODULES));
  const source = {
    modules: () => [...modules.keys()],
    load: async (module: string) => modules.get(module),
  };
  const checker = createPythonTypeChecker({ limitMs: 60_000 });
  const times: number[] = [];
  for (let round = 0; round < 65; round++) {
    const code = pythonProgramOf([...modules.keys()], round);
    const startedAt = performance.now();
    const outcome = await checker.check(
      { code, data: {}, language: "python", fileName: "program.py" },
      source,
      "async",
    );
    if (outcome.kind !== "clean") throw new Error(`a correct program is ${outcome.kind}`);
    if (round >= 5) times.push(performance.now() - startedAt);
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

/** A program that differs in each round and uses each module. */
function pythonProgramOf(modules: readonly string[], round: number): string {
  const lines = ["import asyncio", ...modules.map((module) => `import servers.${module}`)];
  while (lines.length < LINES - 1)
    lines.push(`v${lines.length} = [n * ${round} for n in range(${lines.length})]`);
  lines.push(`result = [${modules.map((module) => `len(dir(servers.${module}))`).join(", ")}]`);
  return lines.join("\n");
}
