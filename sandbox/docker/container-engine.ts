import type { Writable } from "node:stream";
import type { SandboxOutput } from "../sandbox.ts";
import type { StartedSandbox } from "../sandbox-engine.ts";
import type { EngineMachine } from "./channel/choose-channel.ts";
import type { DockerRuntime } from "./channel/runtime-flags.ts";
import type { ContainerRequest } from "./container-profile.ts";
import type { SentryProcess } from "./sentry-process.ts";

/** A started container. How its runner connects is left to the caller. */
export type StartedContainer = Omit<StartedSandbox, "connected" | "clear" | "release"> & {
  /** Carries what the guard reads. */
  readonly stdin: Writable;
  /** Tells the guard to clear the sandbox. Its answer is in the output. */
  clear(): void;
};

/** What a container engine says of itself. */
export interface ContainerEngineDescription {
  version: string;
  /** A text that changes with the engine, its version and the settings of its runtimes. */
  identity: string;
  /** The address of the engine, and what named it. */
  host: string;
  source: string;
  machine: EngineMachine;
  processors: number;
  runtimes: Readonly<Record<string, DockerRuntime>>;
}

/** The operations that ptc needs of a container engine, in the terms of the Docker Engine API. */
export interface ContainerEngine {
  /** @throws SandboxError `engine_unreachable` */
  describe(): Promise<ContainerEngineDescription>;
  /** Digest and labels of an image; `undefined` when there is none of that name. */
  findImage(reference: string): Promise<{ digest: string; labels: Record<string, string> } | undefined>;
  /**
   * @param onRequested is called when only the engine's answer to the last request is waited for.
   * @throws SandboxError `start_failed`
   */
  start(
    request: ContainerRequest,
    output: SandboxOutput,
    onRequested?: () => void,
  ): Promise<StartedContainer>;
  /** All containers, running or not, that carry a label. */
  listLabelled(label: string): Promise<{ id: string; labels: Record<string, string> }[]>;
  /** Whether the engine stores what a container writes. */
  keepsOutput(id: string): Promise<boolean>;
  /** The process that is gVisor's kernel for a running container; `undefined` where it cannot be seen from this machine. */
  findSentry(id: string): Promise<SentryProcess | undefined>;
  /** Kills and removes a container. Does nothing if there is none. */
  remove(id: string): Promise<void>;
}
