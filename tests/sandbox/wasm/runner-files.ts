import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { findPyodide } from "../../../sandbox/wasm/pyodide.ts";
import { WasmEngine } from "../../../sandbox/wasm/wasm-engine.ts";
import { buildWasmRunner } from "../../../scripts/wasm-runner.ts";

/** Builds the runner of the engine `wasm` from these sources, for the tests of one file. */
export async function builtWasmRunner(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "ptc-wasm-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  await buildWasmRunner(folder);
  return folder;
}

/** The engine with that runner, and with the Pyodide of this checkout. Its snapshots are its own. */
export async function openWasmEngine(): Promise<WasmEngine> {
  const folder = await builtWasmRunner();
  const snapshots = mkdtempSync(join(tmpdir(), "ptc-pyodide-"));
  afterAll(() => rmSync(snapshots, { recursive: true, force: true }));
  return new WasmEngine({ folder, findPyodide: () => findPyodide(import.meta.dirname), snapshots });
}
