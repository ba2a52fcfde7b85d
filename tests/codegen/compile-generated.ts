import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { RUNTIME_DECLARATIONS } from "../../codegen/typescript/declarations.ts";

/** Every check TypeScript has, and none of the usual exemptions. */
const STRICTEST = {
  target: "es2023",
  lib: ["es2023"],
  module: "nodenext",
  types: [],
  noEmit: true,
  strict: true,
  allowUnreachableCode: false,
  allowUnusedLabels: false,
  erasableSyntaxOnly: true,
  exactOptionalPropertyTypes: true,
  isolatedModules: true,
  noFallthroughCasesInSwitch: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noPropertyAccessFromIndexSignature: true,
  noUncheckedIndexedAccess: true,
  noUncheckedSideEffectImports: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  skipLibCheck: false,
  verbatimModuleSyntax: true,
};

/** Type-checks files in a folder of their own; the lines of the compiler, none when all is well. */
export function compileGenerated(files: ReadonlyMap<string, string>): string[] {
  const dir = mkdtempSync(join(tmpdir(), "ptc-codegen-"));
  try {
    const config = JSON.stringify({ compilerOptions: STRICTEST, include: ["**/*.ts"] });
    const all = new Map([...files, ["tsconfig.json", config], ["package.json", '{"type":"module"}']]);
    for (const [path, text] of all) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
    const tsc = resolve(import.meta.dirname, "../../node_modules/.bin/tsc");
    const run = spawnSync(tsc, ["--project", dir, "--pretty", "false"], {
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    if (run.error) throw run.error;
    const lines = run.stdout.split("\n").filter((line) => line !== "");
    return run.status === 0 || lines.length > 0 ? lines : [`tsc exited with ${run.status}: ${run.stderr}`];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The compiler's lines about each of some modules. All are compiled at once, because each start of the compiler is slow. */
export function compileModules(modules: readonly string[]): string[][] {
  const files = new Map([["runtime.d.ts", RUNTIME_DECLARATIONS]]);
  for (const [i, text] of modules.entries()) files.set(`servers/m${i}/index.ts`, text);
  const about = modules.map((): string[] => []);
  for (const line of compileGenerated(files)) {
    const [, number = ""] = /servers\/m(\d+)\/index\.ts\(/.exec(line) ?? [];
    if (number !== "") about[Number(number)]?.push(line);
    else if (/^\S/.test(line)) throw new Error(line);
  }
  return about;
}
