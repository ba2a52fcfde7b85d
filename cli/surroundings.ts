import type { Readable, Writable } from "node:stream";

/** What a command may touch of the process it runs in. */
export interface Surroundings {
  argv: string[];
  env: Record<string, string | undefined>;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
  cwd(): string;
  on(event: (typeof SIGNALS)[number], listener: () => void): unknown;
  exit(code: number): never;
}

/** The signals that ask ptc to end. */
export const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const INTERRUPTED = 130;

/** For a command that has nothing to tell when it is interrupted: ends it, and with it the servers that it started. */
export function exitOnSignals(surroundings: Surroundings): void {
  for (const signal of SIGNALS) surroundings.on(signal, () => surroundings.exit(INTERRUPTED));
}

/** Writes all of a text, whether a file, a terminal or a pipe takes it. A reader that has gone away is not an error. */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.once("error", () => resolve());
    stream.write(text, () => resolve());
  });
}
