import { afterAll, describe, expect, test } from "vitest";
import { WASM_IMAGE } from "../../../sandbox/wasm/wasm-engine.ts";
import { ProcessEngine } from "../../runner-image/process-engine.ts";
import { missingFor } from "../../runner-image/runner-process.ts";
import { tries } from "../../tries.ts";
import { compareEngines } from "../programs/compare-engines.ts";
import { useRecordedPrograms } from "../programs/recorded-programs.ts";
import { openWasmEngine } from "./runner-files.ts";

const FIRST_SEED = Number(process.env.PTC_PROGRAM_SEED ?? 1);
const programs = (usual: number) => (process.env.PTC_PROGRAM_SEED ? 1 : tries(usual));
const TIMEOUT_MS = 600_000;

const engine = await openWasmEngine();
afterAll(() => engine.close());

/** `npm run fuzz -- --target wasm-results` goes on for hours, and `wasm-python` for Python. */
describe("ordinary programs in an interpreter", () => {
  const wasm = useRecordedPrograms(() => engine, WASM_IMAGE);
  const node = useRecordedPrograms(() => new ProcessEngine());

  test("see, print and return what they do in Node.js", { timeout: TIMEOUT_MS }, async () => {
    expect(await compareEngines([node, wasm], FIRST_SEED, programs(200))).toEqual([]);
  });
});

const missing = missingFor("python");

describe.skipIf(missing !== "")(`ordinary programs in Python in an interpreter${missing}`, () => {
  const wasm = useRecordedPrograms(() => engine, WASM_IMAGE, "python");
  const python = useRecordedPrograms(() => new ProcessEngine(), "python", "python");

  test("see, print and return what they do in Python elsewhere", { timeout: TIMEOUT_MS }, async () => {
    expect(await compareEngines([python, wasm], FIRST_SEED, programs(100), "python")).toEqual([]);
  });
});
