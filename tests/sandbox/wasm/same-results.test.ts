import { describe, expect, test } from "vitest";
import { WASM_IMAGE, WasmEngine } from "../../../sandbox/wasm/wasm-engine.ts";
import { ProcessEngine } from "../../runner-image/process-engine.ts";
import { tries } from "../../tries.ts";
import { compareEngines } from "../programs/compare-engines.ts";
import { useRecordedPrograms } from "../programs/recorded-programs.ts";
import { builtWasmRunner } from "./runner-files.ts";

const FIRST_SEED = Number(process.env.PTC_PROGRAM_SEED ?? 1);
const PROGRAMS = process.env.PTC_PROGRAM_SEED ? 1 : tries(200);
const TIMEOUT_MS = 600_000;

const folder = await builtWasmRunner();

/** `npm run fuzz -- --target wasm-results` goes on for hours. */
describe("ordinary programs in an interpreter", () => {
  const wasm = useRecordedPrograms(() => new WasmEngine({ folder }), WASM_IMAGE);
  const node = useRecordedPrograms(() => new ProcessEngine());

  test("see, print and return what they do in Node.js", { timeout: TIMEOUT_MS }, async () => {
    expect(await compareEngines([node, wasm], FIRST_SEED, PROGRAMS)).toEqual([]);
  });
});
