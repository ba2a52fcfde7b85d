import type { ContainerRequest } from "./container-profile.ts";
import type { SandboxExit, SandboxOutput } from "./sandbox.ts";

export interface EngineDescription {
  version: string;
  /** By name; the path of the executable where the engine knows it. */
  runtimes: ReadonlyMap<string, string | undefined>;
}

export interface StartedContainer {
  readonly id: string;
  /** Settles when the container has ended and its output has been delivered. Rejects when the engine goes away. */
  readonly exited: Promise<SandboxExit>;
  kill(): Promise<void>;
  /** Settles when the engine has removed the container. */
  removed(): Promise<void>;
}

/** The few things ptc asks of a container engine. */
export interface ContainerEngine {
  /** @throws SandboxError `engine_unreachable` */
  describe(): Promise<EngineDescription>;
  /** Digest and labels of an image; `undefined` when there is none of that name. */
  findImage(reference: string): Promise<{ digest: string; labels: Record<string, string> } | undefined>;
  /** @throws SandboxError `start_failed` */
  start(request: ContainerRequest, output: SandboxOutput): Promise<StartedContainer>;
  /** All containers, running or not, that carry a label. */
  listLabelled(label: string): Promise<{ id: string; labels: Record<string, string> }[]>;
  /** Kills and removes; a container that is gone already is fine. */
  remove(id: string): Promise<void>;
}
