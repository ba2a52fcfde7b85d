/** Writes the generated pages of docs/. `--check` writes nothing, and exits 1 if one of them is not up to date. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { madePages } from "./docs/made-pages.ts";

const root = join(import.meta.dirname, "..");
const check = process.argv.includes("--check");
for (const [path, text] of await madePages()) {
  if (!check) writeFileSync(join(root, path), text);
  else if (readFileSync(join(root, path), "utf8") !== text) {
    console.error(`${path} is not up to date: node scripts/docs.ts`);
    process.exitCode = 1;
  }
}
