import type { Readable, Writable } from "node:stream";

/** The parts of the process that a command may use. */
export interface Surroundings {
  argv: string[];
  env: Record<string, string | undefined>;
  stdin: Readable & { isTTY?: boolean; setRawMode?: (isRaw: boolean) => unknown };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
  cwd(): string;
  on(event: (typeof SIGNALS)[number], listener: () => void): unknown;
  exit(code: number): never;
}

/** The signals that ask ptc to end. */
export const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const INTERRUPTED = 130;

/** Makes signals end the process and the servers that it started, for a command with no output when interrupted. */
export function exitOnSignals(surroundings: Surroundings): void {
  for (const signal of SIGNALS) surroundings.on(signal, () => surroundings.exit(INTERRUPTED));
}

/** Writes a complete text to a file, a terminal or a pipe. A reader that has disconnected is not an error. */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve) => {
    const failed = () => resolve();
    stream.once("error", failed);
    stream.write(text, (error) => {
      // The error of a failed write is emitted after this, and would end ptc if nobody listened.
      if (!error) stream.off("error", failed);
      resolve();
    });
  });
}
