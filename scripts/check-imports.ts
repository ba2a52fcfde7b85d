/** Applies the import rules, and makes sure that the tool has seen every file that it should check. */
import { globSync } from "node:fs";
import { join } from "node:path";
import { cruise, type ICruiseResult } from "dependency-cruiser";
import { importedByCommands, MOST_IMPORTED_BY_COMMANDS } from "./command-imports.ts";
import { folderCycles } from "./folder-cycles.ts";
import { FOLDERS, forbidden, options } from "./import-rules.ts";

const CHECKED = [...FOLDERS, "tests", "bench", "scripts"];

/** Generated modules, whose imports exist only where they are used. */
const GOLDEN = "tests/golden/";

process.chdir(join(import.meta.dirname, ".."));
const { output } = await cruise([...CHECKED], {
  ...options,
  exclude: { path: `^${GOLDEN}` },
  ruleSet: { forbidden },
  validate: true,
});
const { modules, summary } = output as ICruiseResult;
const mistakes: string[] = [];

const comments = new Map(forbidden.map((rule) => [rule.name, rule.comment]));
for (const { from, to, rule } of summary.violations) {
  mistakes.push(`${from} must not import ${to}: ${comments.get(rule.name) ?? rule.name}`);
}

const ours = modules.filter(({ source }) => FOLDERS.some((folder) => source.startsWith(`${folder}/`)));
const imports = new Map(
  ours.map(({ source, dependencies }) => [source, dependencies.map(({ resolved }) => resolved)]),
);
for (const { folder, members, imports: circle } of folderCycles(imports)) {
  mistakes.push(
    `${members.join(", ")} import each other in a circle within ${folder || "the repository"}: move what both need below them (${circle.join("; ")})`,
  );
}

const ofCommands = importedByCommands(imports, FOLDERS);
if (ofCommands.length > MOST_IMPORTED_BY_COMMANDS) {
  mistakes.push(
    `cli/ imports ${ofCommands.length} files of other folders, more than ${MOST_IMPORTED_BY_COMMANDS}: move what the command does into project/, so that it only reads flags and prints`,
  );
}

const seen = new Set(modules.map((module) => module.source));
const unseen = globSync(CHECKED.map((folder) => `${folder}/**/*.{ts,mjs,js}`))
  .filter((file) => !file.startsWith(GOLDEN))
  .filter((file) => !seen.has(file));
mistakes.push(...unseen.map((file) => `${file} was not seen by the import checker`));

for (const mistake of mistakes) console.error(mistake);
if (mistakes.length > 0) process.exit(1);
console.log(
  `${seen.size} modules keep the import rules, no folder imports in a circle, and cli/ imports ${ofCommands.length} files of other folders`,
);
