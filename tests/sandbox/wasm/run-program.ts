import { once } from "node:events";
import { encodeFrame, FrameDecoder } from "../../../protocol/frames.ts";
import { MAX_CALL_FRAME_BYTES, MAX_REPLY_FRAME_BYTES } from "../../../protocol/limits.ts";
import type { ProgramEnvironment, Trace } from "../../../protocol/messages.ts";
import type { RunnerName } from "../../../protocol/runners.ts";
import { WASM_IMAGE, type WasmEngine } from "../../../sandbox/wasm/wasm-engine.ts";

/** How a program came out. */
export interface Ran {
  claim: { ok: boolean; data?: unknown; error?: { type: string; message: string } } | undefined;
  code: number;
  stderr: string;
  trace: Trace | undefined;
}

const CAPS = { max_output_bytes: 65_536, max_stderr_bytes: 65_536 };

/** What a program is started with unless a test says otherwise. */
export const ENVIRONMENT: ProgramEnvironment = { seed: "5e".repeat(32), time_zone: "Europe/Berlin" };

interface GivenProgram {
  runner: RunnerName;
  bundle: string;
  data?: unknown;
  files?: readonly { name: string; base64: string }[];
  environment?: ProgramEnvironment | undefined;
  memoryMb?: number | undefined;
}

/** Runs a bundle to its end. Calls that come together are answered with their arguments, the later ones first. */
export async function runProgram(
  engine: WasmEngine,
  { runner, bundle, data = {}, files, environment = ENVIRONMENT, memoryMb = 256 }: GivenProgram,
): Promise<Ran> {
  let stdout = "";
  let stderr = "";
  let trace: Trace | undefined;
  const request = {
    image: "",
    runtime: WASM_IMAGE,
    runner,
    owner: "test",
    limits: { memoryMb, cpus: 1, pids: 64 },
  };
  const started = await engine.start(request, {
    onStdout(chunk) {
      stdout += chunk;
    },
    onStderr(chunk) {
      stderr += chunk;
    },
  });
  const channel = await started.connected;
  channel.on("error", () => {});
  const decoder = new FrameDecoder(MAX_CALL_FRAME_BYTES);
  const send = (message: object) => channel.write(encodeFrame(message, MAX_REPLY_FRAME_BYTES));
  const calls: { id: number; arguments: unknown }[] = [];
  channel.on("data", (chunk: Buffer) => {
    for (const payload of decoder.push(chunk)) {
      const message = JSON.parse(payload.toString());
      if (message.type === "trace") trace = message.trace;
      if (message.type === "call") calls.push(message);
    }
    setTimeout(() => {
      for (const { id, arguments: args } of calls.splice(0).reverse())
        send({ type: "reply", id, ok: true, data: args });
    }, 5);
  });
  await once(channel, "data");
  send({ type: "program", bundle, data, ...CAPS, environment, ...(files && { files }) });
  const { code } = await started.exited;
  return { claim: stdout === "" ? undefined : JSON.parse(stdout), code, stderr, trace };
}
