import type { Readable, Writable } from "node:stream";
import type { Host } from "./host.ts";
import type { Project } from "./open-project.ts";
import type { ReadFile } from "./text-file.ts";

/** The parts of a process that a command may use. A background host gives a command those of its caller. */
export interface Surroundings {
  argv: string[];
  env: Record<string, string | undefined>;
  stdin: Readable & { isTTY?: boolean; setRawMode?: (isRaw: boolean) => unknown };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
  cwd(): string;
  on(event: (typeof SIGNALS)[number], listener: () => void): unknown;
  exit(code: number): never;
  /** Reads files where the user is. By default this process does. */
  readFile?: ReadFile;
  /** The background host that runs the command. */
  shared?: SharedHost;
  /** Facts for a command that a background host could have run but did not. */
  withoutHost?: {
    /** Whether a host may be started for the next command. */
    mayStart: boolean;
    /** The run that had started to make calls when its host was lost. */
    lostRun?: string | undefined;
  };
}

/** A host that outlives the command. */
export interface SharedHost {
  host: Pick<Host, "currentTools" | "run" | "pendingApprovals">;
  /** Leaves the command to its caller when the host was started with another configuration or environment. */
  accept(configuration: Project["configuration"]): void;
  /** Called before the first call of a run. Resolves when the caller has been notified. */
  onCalling(runId: string): Promise<void>;
  /** Receives the failures that belong to no run, while the command runs. */
  onWarning(listener: (message: string) => void): void;
}

/** The signals that ask ptc to end. */
export const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
