/**
 * Checks the Python code of the runner and the client: format and lint with ruff, and types with pyright for the runner only
 * (runner-image/pyrightconfig.json), because those of the client need its packages, which its test installs. With `--write` it
 * formats the files instead of complaining about them.
 */
import { spawnSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-nodejs";

interface Diagnostic {
  code: string | null;
  message: string;
  start_location: { row: number; column: number };
}

const root = join(import.meta.dirname, "..");
const ruff = new Workspace(
  {
    "line-length": 128,
    "target-version": "py311",
    lint: {
      select: ["E", "F", "I", "N", "UP", "B", "SIM", "RET", "C4", "PIE", "RUF"],
      ignore: ["RUF067", "SIM905"],
    },
  },
  PositionEncoding.Utf16,
);

let faults = 0;
for (const file of globSync("{runner-image,runner-image/wasm,clients}/python/**/*.py", {
  cwd: root,
}).sort()) {
  const path = join(root, file);
  const text = readFileSync(path, "utf8");
  const formatted = ruff.format(text);
  if (formatted !== text && process.argv.includes("--write")) writeFileSync(path, formatted);
  else if (formatted !== text)
    report(`${file}: is not formatted; run \`node scripts/check-python.ts --write\``);
  for (const { code, message, start_location: at } of ruff.check(formatted) as Diagnostic[])
    report(`${file}:${at.row}:${at.column}: ${code ?? "syntax"} ${message}`);
}
const pyright = createRequire(import.meta.url).resolve("pyright/index.js");
const { status } = spawnSync(process.execPath, [pyright, "-p", "runner-image"], {
  cwd: root,
  stdio: "inherit",
});
process.exitCode = faults > 0 || status !== 0 ? 1 : 0;

function report(fault: string): void {
  faults++;
  console.error(fault);
}
