import type { Readable, Writable } from "node:stream";

/** What a command may touch of the process it runs in. */
export interface Surroundings {
  argv: string[];
  env: Record<string, string | undefined>;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
  cwd(): string;
  on(event: "SIGINT" | "SIGTERM" | "SIGHUP", listener: () => void): unknown;
}

/** Writes all of a text, whether a file, a terminal or a pipe takes it. A reader that has gone away is not an error. */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.once("error", () => resolve());
    stream.write(text, () => resolve());
  });
}
