import { WASM_IMAGE, WasmEngine } from "../../../sandbox/wasm/wasm-engine.ts";
import { describeEngine } from "../engine-contract.ts";
import { builtWasmRunner } from "./runner-files.ts";

const folder = await builtWasmRunner();

describeEngine("of interpreters in WebAssembly", () => {
  const engine = new WasmEngine({ folder });
  return { engine, image: WASM_IMAGE, runtime: WASM_IMAGE, close: () => engine.close() };
});
