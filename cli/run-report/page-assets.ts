import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageDirectory } from "../package.ts";
import type { PageAssets } from "./page.ts";

const STYLES = ["base.css", "layout.css", "text.css", "timeline.css", "calls.css", "plots.css", "print.css"];
const SCRIPTS = ["calls.js", "timeline.js", "search.js"];

/** Reads what pages are shown and driven by, from beside the sources or from what was built of them. */
export function readPageAssets(): PageAssets {
  const built = import.meta.url.endsWith(".js");
  const folder = join(packageDirectory, built ? "dist" : "", "cli/run-report/page");
  const read = (files: readonly string[]) =>
    files.map((file) => readFileSync(join(folder, file), "utf8")).join("\n");
  return { style: read(STYLES), script: read(SCRIPTS) };
}
