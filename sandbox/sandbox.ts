/**
 * A lease (`Sandbox`) is one sandbox for one program, or for one session (kept-sandbox.ts). It comes from a source, which starts it
 * on demand (sandbox-starter.ts) or has it waiting (pool/sandbox-pool.ts), and is returned with `dispose`, which ends it: a sandbox is
 * never shared by unrelated programs.
 */

import type { Duplex } from "node:stream";
import type { Platform } from "../protocol/platform.ts";
import type { RunnerName } from "../protocol/runners.ts";

/** How a sandbox ended. */
export interface SandboxExit {
  /** The exit code of the container's first process, or 128 + the number of the signal that ended it. */
  code: number;
  /** Whether something other than ptc told the engine to kill it. */
  isKilledByOthers?: boolean;
  /** Who that was, and what to do, as far as the engine knows: continues "killed from outside, ". */
  killedBy?: string;
}

/** Whose program a sandbox is for, where that is known. Nothing is decided by it: it is for people who look at an engine. */
export interface SandboxUse {
  /** The id of the run. */
  readonly run: string;
  readonly principal: string;
}

/** Receives a container's output, in order. The receiver must bound it. */
export interface SandboxOutput {
  onStdout(chunk: Buffer): void;
  onStderr(chunk: Buffer): void;
}

/** ptc's ends of the stdin and stdout of a server. No process of the sandbox passes on what goes over them. */
export interface ServerStdio {
  readonly stdin: Duplex;
  readonly stdout: Duplex;
}

/**
 * A started, connected sandbox that runs one program. `channel` is a duplex byte stream for the broker, used only by this sandbox.
 */
export interface Sandbox {
  readonly id: string;
  /** Digest of the image, `sha256:<hex>`. */
  readonly image: string;
  readonly channel: Duplex;
  /** For the sandbox of a server; absent where the stdin and stdout of the server are streams over the channel. */
  readonly stdio?: Promise<ServerStdio> | undefined;
  /** Resolves when the container has ended and all its output has been delivered. */
  readonly exited: Promise<SandboxExit>;
  /** How long it may outlive its program before `dispose` has to end it. Undefined if it ends with its program. */
  readonly lingerMs?: number | undefined;
  /**
   * Stops every process of the program until `resume`. It can still be killed meanwhile, and ends when ptc ends. Sandboxes without this
   * method cannot be paused.
   */
  pause?(): void;
  resume?(): void;
  /**
   * Ends every process of the program except its runner, and stops the runner until `resume`. Resolves when they are gone and all that
   * they wrote has been delivered; never if the sandbox ends meanwhile.
   */
  clear?(): Promise<void>;
  /** Says what it is used for, where it was started for something else. */
  assign?(use: SandboxUse): void;
  /** Ends the container at once, whatever the program is doing. Safe to call twice. */
  kill(): Promise<void>;
  /** Kills the container if it still runs, and resolves when the sandbox is removed. Never rejects. */
  dispose(): Promise<void>;
}

/** Provides sandboxes, from a pool or by starting them on demand. */
export interface SandboxSource {
  /** Whether a sandbox is available immediately. Otherwise one must be started, which takes time. */
  readonly ready?: boolean;
  /** What programs in JavaScript find in its sandboxes; Node.js by default. */
  readonly platform?: Platform | undefined;
  /**
   * @param output receives the container's output, from the first byte.
   * @param signal cancels the request. A sandbox that is being started is then pooled or removed.
   * @param use what it is for.
   * @throws SandboxError when there is no sandbox; `cancelled` when the request was cancelled.
   */
  acquire(output: SandboxOutput, signal?: AbortSignal, use?: SandboxUse): Promise<Sandbox>;
  /** The same source for whoever leaves the last waiting sandbox to others, and has one started instead. */
  sparing?(): SandboxSource;
  /** The source of sandboxes with a certain runner. A source without this method has sandboxes of one kind only. */
  withRunner?(runner: RunnerName): SandboxSource;
}
