import type { Duplex } from "node:stream";

/** How a sandbox came to its end, as the host saw it. */
export interface SandboxExit {
  /** Exit code of the container's first process; 128 + signal where a signal ended it. */
  code: number;
}

/** What a container writes. Bytes arrive in order and are not kept: the listener bounds them. */
export interface SandboxOutput {
  onStdout(chunk: Buffer): void;
  onStderr(chunk: Buffer): void;
}

/**
 * A started, connected sandbox that runs one program. The broker gets `channel`, a duplex byte stream; nothing but the
 * sandbox knows what carries it.
 */
export interface Sandbox {
  readonly id: string;
  /** Digest of the image, `sha256:<hex>`. */
  readonly image: string;
  readonly channel: Duplex;
  /** Settles when the container has ended and all its output has been delivered. */
  readonly exited: Promise<SandboxExit>;
  /** Ends the container at once, whatever the program is doing. Safe to call twice. */
  kill(): Promise<void>;
  /** Kills if need be, waits until nothing of the sandbox is left, and never throws. */
  dispose(): Promise<void>;
}

/** Hands out sandboxes. Starting one on demand is a pool of size zero. */
export interface SandboxSource {
  /** Whether one can be had at once; without it, starting one takes a while. */
  readonly ready?: boolean;
  /**
   * @param output receives what the container writes, from its first byte.
   * @param signal gives the sandbox up; one that is being started is nobody's then, and does not stay behind.
   * @throws SandboxError when no sandbox can be had; with the code `cancelled` when it was given up.
   */
  acquire(output: SandboxOutput, signal?: AbortSignal): Promise<Sandbox>;
}

/** Starts sandboxes of one image, which may be built anew meanwhile. */
export interface SandboxStarter extends SandboxSource {
  /** Digest of the image that a sandbox started now would have. @throws SandboxError */
  findImage(): Promise<string>;
}
