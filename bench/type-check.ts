import { RUNTIME_DECLARATIONS } from "../codegen/print-runtime.ts";
import { printServerModule } from "../codegen/print-typescript.ts";
import type { ServerListing } from "../codegen/server-listing.ts";
import { buildServerModel } from "../codegen/tool-model.ts";
import { bundleProgram } from "../execution/bundle.ts";
import type { Program } from "../execution/program.ts";
import { type CheckedModules, createTypeChecker } from "../execution/type-check.ts";
import type { Comparison } from "./report.ts";

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

async function printModules(listings: readonly ServerListing[]): Promise<CheckedModules> {
  const texts = new Map<string, string>();
  for (const listing of listings) {
    const module = listing.name.toLowerCase().replace(/[^a-z0-9]+/g, "_");
    const { text } = await printServerModule(buildServerModel(listing, module).server);
    texts.set(module, text);
  }
  return {
    declarations: RUNTIME_DECLARATIONS,
    modules: () => [...texts.keys()],
    load: async (module) => texts.get(module),
  };
}

/** No two rounds have the same text. */
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
