import type { Duplex } from "node:stream";
import { encodeFrame } from "../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES, PROTOCOL_VERSION } from "../../protocol/limits.ts";
import type { SandboxOutput } from "../../sandbox/sandbox.ts";
import type { SandboxRequest } from "../../sandbox/sandbox-engine.ts";
import { InProcessEngine } from "../sandbox/in-process-engine.ts";

/** The bytes that a socket brings at once. */
const CHUNK_BYTES = 64 * 1024;

/** What a sandbox sends: calls, each as a whole frame, which are sent when the one before is answered, and then its claim. */
export interface Script {
  calls: readonly Buffer[];
  claim: Buffer;
}

/** A frame with a call, whose arguments are JSON as a program of its own makes it. */
export function callFrame(id: number, tool: string, args: string): Buffer {
  const payload = Buffer.from(`{"type":"call","id":${id},"tool":"${tool}","arguments":${args}}`);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

/**
 * An engine whose sandboxes send what was made before, and look at nothing that is sent to them but for its length. So all that the
 * thread does is the host's.
 */
export class ScriptedEngine extends InProcessEngine {
  script: Script = { calls: [], claim: claimOf("null") };

  protected override runIn(runner: SandboxRequest["runner"], inside: Duplex, output: SandboxOutput): void {
    const { calls, claim } = this.script;
    const frame = (message: object) => encodeFrame(message, MAX_REPLY_FRAME_BYTES);
    let received = 0;
    const frames = new FrameCounter(() => {
      const next = calls[received++];
      if (next !== undefined) return void inside.write(next);
      for (let at = 0; at < claim.length; at += CHUNK_BYTES)
        output.onStdout(claim.subarray(at, at + CHUNK_BYTES));
      inside.write(frame({ type: "done", bytes: claim.length, console_bytes: 0 }));
    });
    inside.on("data", (chunk: Buffer) => frames.push(chunk));
    inside.write(frame({ type: "hello", protocol: PROTOCOL_VERSION, language: runner, runtime: "v24" }));
  }
}

export function claimOf(data: string): Buffer {
  return Buffer.from(`{"ok":true,"data":${data},"from":"result"}\n`);
}

/** Counts frames by their lengths. */
class FrameCounter {
  readonly #onFrame: () => void;
  #head = Buffer.alloc(0);
  #left = 0;

  constructor(onFrame: () => void) {
    this.#onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left === 0) {
        this.#head = Buffer.concat([this.#head, rest.subarray(0, 4 - this.#head.length)]);
        rest = rest.subarray(Math.min(rest.length, 4));
        if (this.#head.length < 4) return;
        this.#left = this.#head.readUInt32BE();
        this.#head = Buffer.alloc(0);
      }
      const taken = Math.min(this.#left, rest.length);
      this.#left -= taken;
      rest = rest.subarray(taken);
      if (this.#left === 0) this.#onFrame();
    }
  }
}
