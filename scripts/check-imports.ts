/** Applies the import rules, and makes sure that the tool has seen every file it was to judge. */
import { globSync } from "node:fs";
import { join } from "node:path";
import { cruise, type ICruiseResult } from "dependency-cruiser";
import { FOLDERS, forbidden, options } from "./import-rules.ts";

const CHECKED = [...FOLDERS, "tests", "bench", "scripts"];

/** Generated modules: what they import is beside them only where they are used. */
const GOLDEN = "tests/golden/";

process.chdir(join(import.meta.dirname, ".."));
const { output } = await cruise([...CHECKED], {
  ...options,
  exclude: { path: `^${GOLDEN}` },
  ruleSet: { forbidden },
  validate: true,
});
const { modules, summary } = output as ICruiseResult;

const comments = new Map(forbidden.map((rule) => [rule.name, rule.comment]));
for (const { from, to, rule } of summary.violations) {
  console.error(`${from} must not import ${to}: ${comments.get(rule.name) ?? rule.name}`);
}

const seen = new Set(modules.map((module) => module.source));
const unseen = globSync(CHECKED.map((folder) => `${folder}/**/*.{ts,mjs,js}`))
  .filter((file) => !file.startsWith(GOLDEN))
  .filter((file) => !seen.has(file));
for (const file of unseen) console.error(`${file} was not seen by the import checker`);

if (summary.violations.length > 0 || unseen.length > 0) process.exit(1);
console.log(`${seen.size} modules keep the import rules`);
