/**
 * The runner of programs in an interpreter that is compiled to WebAssembly: a process of its own for each program. It loads the
 * interpreter, says hello over its channel, runs its program and prints one line, the claim, on stdout. It is not trusted: a program
 * that gets out of the interpreter shares its process.
 */

import { PROTOCOL_VERSION } from "../../protocol/limits.ts";
import { SocketConnection } from "../node/channel.ts";
import { Interpreter } from "./interpreter.ts";
import { WasmProgram } from "./program.ts";

/** The descriptor of the channel. */
const CHANNEL = 3;

const [memoryBytes] = process.argv.splice(2);
try {
  const interpreter = await Interpreter.open(import.meta.dirname, Number(memoryBytes));
  const program = new WasmProgram(interpreter, new SocketConnection(CHANNEL));
  program.greet({
    type: "hello",
    protocol: PROTOCOL_VERSION,
    language: "javascript",
    runtime: `QuickJS-ng ${interpreter.version}`,
  });
} catch (error) {
  // Node.js would print the whole interpreter.
  console.error(`the interpreter does not start: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
