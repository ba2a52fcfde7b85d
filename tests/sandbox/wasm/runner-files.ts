import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { buildWasmRunner } from "../../../scripts/wasm-runner.ts";

/** Builds the runner of the engine `wasm` from these sources, for the tests of one file. */
export async function builtWasmRunner(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "ptc-wasm-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  await buildWasmRunner(folder);
  return folder;
}
