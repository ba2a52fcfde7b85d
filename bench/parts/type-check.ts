import type { ServerListing } from "../../catalog/parse-tool.ts";
import { buildServerModel } from "../../catalog/tool-model.ts";
import { printServerModule } from "../../codegen/typescript/print-typescript.ts";
import { readModule } from "../../codegen/typescript/read-module.ts";
import type { ModuleSource } from "../../languages/module-source.ts";
import type { Program } from "../../languages/program.ts";
import { bundleProgram } from "../../languages/typescript/bundling/bundle.ts";
import { createTypeChecker } from "../../languages/typescript/typescript.ts";
import type { Comparison } from "../figure.ts";

const WARM_UP = 10;
const ROUNDS = 100;
const LINES = 30;

/** Checking a program of 30 lines against many modules of which it uses two, warm, against bundling the same program. */
export async function measureTypeCheck(listings: readonly ServerListing[]): Promise<Comparison> {
  const modules = await printModules(listings);
  const checker = createTypeChecker();
  const baselineMs: number[] = [];
  const measuredMs: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const program = programOf(modules.modules().slice(0, 2), round);
    const bundlingMs = await time(() => bundleProgram(program, modules));
    const checkingMs = await time(() => checker.check(program, modules));
    if (round < WARM_UP) continue;
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

/** A program with another text in each round. */
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
