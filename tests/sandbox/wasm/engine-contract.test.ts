import { vi } from "vitest";
import { WASM_IMAGE } from "../../../sandbox/wasm/wasm-engine.ts";
import { describeEngine } from "../engine-contract.ts";
import { openWasmEngine } from "./runner-files.ts";

// Pyodide takes seconds to load, once.
vi.setConfig({ testTimeout: 120_000 });
const engine = await openWasmEngine();

describeEngine("of interpreters in WebAssembly", () => ({
  ...{ engine, image: WASM_IMAGE, runtime: WASM_IMAGE, close: () => {} },
}));

describeEngine("of interpreters in WebAssembly, with Python", () => ({
  ...{ engine, image: WASM_IMAGE, runtime: WASM_IMAGE, runner: "python", close: () => engine.close() },
}));
