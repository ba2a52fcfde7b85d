import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import type { Surroundings } from "../surroundings.ts";

/** How long to collect keys that were pressed before the question; they do not count as an answer. */
const DRAIN_MS = 50;
/** The byte that a terminal in raw mode sends for Ctrl-C. */
const INTERRUPT = 0x03;

/** Reads and drops what was typed before the question was shown. Resolves with false if Ctrl-C was among it. */
export async function throwAwayTyped(stdin: Surroundings["stdin"]): Promise<boolean> {
  let isInterrupted = false;
  const ignore = (chunk: Buffer | string) => {
    isInterrupted ||= Buffer.from(chunk).includes(INTERRUPT);
  };
  // Outside raw mode, a terminal holds typed keys back until a line is complete.
  stdin.setRawMode?.(true);
  stdin.on("data", ignore);
  stdin.resume();
  await delay(DRAIN_MS);
  stdin.pause();
  stdin.off("data", ignore);
  stdin.setRawMode?.(false);
  return !isInterrupted;
}

/** Resolves with the typed line, or with `undefined` on Ctrl-C, at the end of input, or when `signal` is aborted. */
export function readLine(
  prompt: string,
  { stdin, stderr }: Surroundings,
  onInterrupt: () => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  const reader = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 0 });
  const over = new AbortController();
  return new Promise<string | undefined>((resolve) => {
    reader.on("SIGINT", () => {
      onInterrupt();
      resolve(undefined);
    });
    reader.on("close", () => resolve(undefined));
    signal.addEventListener("abort", () => resolve(undefined), { signal: over.signal });
    reader.question(prompt, resolve);
  }).finally(() => {
    over.abort();
    reader.close();
    if (signal.aborted) stderr.write("\n");
  });
}
