import type { SandboxOutput } from "../../sandbox/sandbox.ts";

export const NO_OUTPUT: SandboxOutput = { onStdout() {}, onStderr() {} };

/** An output, and what came to it: one character a byte. */
export function keptOutput(): { written: { out: string; err: string }; output: SandboxOutput } {
  const written = { out: "", err: "" };
  const output: SandboxOutput = {
    onStdout(chunk) {
      written.out += chunk.toString("latin1");
    },
    onStderr(chunk) {
      written.err += chunk.toString("latin1");
    },
  };
  return { written, output };
}
