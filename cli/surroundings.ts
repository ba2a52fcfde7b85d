import type { Readable, Writable } from "node:stream";
import type { Configuration } from "../configuration/configuration.ts";
import type { Host } from "../wiring/host.ts";
import type { ReadFile } from "./text-file.ts";

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
  /** Reads files where the user is; without it, this process does. */
  readFile?: ReadFile;
  /** The background host that runs the command. */
  shared?: SharedHost;
  /** What a command that a background host did not run has to know of that. */
  alone?: {
    /** Whether a host may be started for the next command. */
    mayStart: boolean;
    /** The run that had begun to make calls when its host was lost. */
    lostRun?: string | undefined;
  };
}

/** A host that goes on after the command. */
export interface SharedHost {
  host: Pick<Host, "currentTools" | "run" | "takeSuspended" | "pendingApprovals">;
  /** Leaves the command to its caller when the host was started with something else than this caller has. */
  accept(configuration: Configuration): void;
  /** Is about to make the first call of a run. Resolves when the caller knows. */
  onCalling(runId: string): Promise<void>;
  /** Receives the failures that belong to no run, while the command goes on. */
  onWarning(listener: (message: string) => void): void;
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
