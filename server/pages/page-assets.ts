import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageDirectory } from "../../system/package.ts";
import type { PageAssets } from "./page.ts";

const STYLES = [
  "base.css",
  "layout.css",
  "text.css",
  "timeline.css",
  "calls.css",
  "plots.css",
  "tables.css",
  "print.css",
];
const SCRIPTS = ["calls.js", "timeline.js", "search.js", "runs.js"];

/** Reads the style and the script of pages from beside this module, in the sources or in the build. */
export function readPageAssets(): PageAssets {
  const built = import.meta.url.endsWith(".js");
  const folder = join(packageDirectory, built ? "dist" : "", "server/pages/assets");
  const read = (files: readonly string[]) =>
    files.map((file) => readFileSync(join(folder, file), "utf8")).join("\n");
  return { style: read(STYLES), script: read(SCRIPTS) };
}
