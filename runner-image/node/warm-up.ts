import { inspect } from "node:util";
import { encodeFrame, FrameDecoder } from "../../protocol/frames.ts";

const ROUNDS = 3;

/** Loads and compiles what the first program will need: the module loader, source maps, framing and formatting. */
export async function warmUp(): Promise<void> {
  const decoder = new FrameDecoder(1_000);
  for (let round = 0; round < ROUNDS; round++) {
    await import(`data:text/javascript,await null; export const warm = ${round};`);
    for (const payload of decoder.push(encodeFrame({ type: "warm", round }, 1_000))) {
      inspect(JSON.parse(payload.toString("utf8")));
    }
  }
  void new Error("warm").stack;
}
