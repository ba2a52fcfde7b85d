import type { Readable, Writable } from "node:stream";

/** The process of a server, on this machine or in a sandbox. */
export interface ServerProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Its process group on this machine; undefined in a sandbox. */
  readonly pid: number | undefined;
  /** Resolves when it has ended, which may be before the last of its output is read. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Resolves when all of its output is read too. */
  readonly drained: Promise<void>;
  /** Signals the process and its children. Does nothing if it has ended. */
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

/**
 * Starts the process of a server elsewhere than on this machine, such as in a sandbox. Rejects after
 * everything is removed: with a {@link LaunchError}, or an error of `spawn`.
 */
export type LaunchServer = (
  program: {
    readonly command: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  },
  signal: AbortSignal,
) => Promise<ServerProcess>;

/** A server cannot be started where it is to run. The message is one line that says why, and what to do. */
export class LaunchError extends Error {
  override readonly name = "LaunchError";
}
