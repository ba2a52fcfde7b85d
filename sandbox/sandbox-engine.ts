/**
 * The contract of engines. An engine starts sandboxes: it isolates a runner (runner-image/), connects it to this process, passes on
 * its output, pauses and kills it, and lists sandboxes and images. The isolation of sandboxes is declared once for all engines
 * (sandbox-profile.ts). Nothing above this layer knows an engine:
 *
 *     OpenEngine           one line in project/sandboxes/engine.ts
 *       └ SandboxEngine    start, list, remove, describe, find an image
 *           └ StartedSandbox   channel, exit, pause, clear, kill
 *           └ ImageStore   build, pull and remove images, where the engine can
 *
 * tests/sandbox/engine-contract.ts is this contract as tests, which every engine runs.
 */

import type { Duplex, Readable } from "node:stream";
import type { Platform } from "../protocol/platform.ts";
import type { RunnerName, RunnerStarts } from "../protocol/runners.ts";
import type { SandboxExit, SandboxOutput, SandboxUse, ServerStdio } from "./sandbox.ts";
import type { EngineAdvice, SandboxLimits, ServerWalls, WallName } from "./sandbox-profile.ts";

/** What an engine needs to start one sandbox. */
export interface SandboxRequest {
  /** Digest of the image. */
  image: string;
  /** The engine's name for the runtime that runs the sandbox. */
  runtime: string;
  /** The runner in the sandbox. */
  runner: RunnerName;
  /** For the sandbox of a server, which has the launcher of servers in the place of that runner. */
  server?: ServerWalls | undefined;
  limits: SandboxLimits;
  /** The process that the sandbox belongs to. The engine stores it with the sandbox. */
  owner: string;
  /** What it is for, where that is known by then. */
  use?: SandboxUse | undefined;
  /** Called when the engine has been asked to start the sandbox and only its answer is missing. */
  onRequested?: (() => void) | undefined;
  /** Aborted when nobody wants the sandbox any more. An engine that may have to wait long gives up then, with `cancelled`. */
  signal?: AbortSignal | undefined;
}

/**
 * How the programs in containers reach ptc: over a mounted Unix socket or a connection to their pod, or over the stdin and stdout of
 * the container, which the engine relays.
 */
export type ChannelKind = "socket" | "attached";

/** `auto` leaves it to the engine. */
export type ChannelPreference = ChannelKind | "auto";

export interface ChosenChannel {
  /** `direct` is a socket that the sandbox inherits from ptc, its parent process. */
  kind: ChannelKind | "direct";
  /** Why this one was chosen, phrased to follow "socket, " or "attached, ". */
  why: string;
}

/** An engine's description of itself. Findings about its walls are valid as long as `identity` and `profile` stay the same. */
export interface EngineDescription {
  version: string;
  /** A text that changes with the engine, its version and the settings of its runtimes. */
  identity: string;
  /** Digest of how the engine isolates a sandbox. */
  profile: string;
  /** The address of the engine, and the source of the address. */
  endpoint: string;
  /** Processors of the engine's machine. */
  processors?: number | undefined;
  /** By name. */
  runtimes: ReadonlyMap<string, RuntimeDescription>;
}

/** What an engine knows about a runtime. */
interface RuntimeDescription {
  /** The executable. */
  path?: string | undefined;
  /** How its sandboxes reach ptc. */
  channel?: ChosenChannel | undefined;
  /** Why no sandbox can run with it, and what to do: phrased to follow "runtime 'NAME'". */
  problem?: string | undefined;
}

/** A sandbox that an engine has started. */
export interface StartedSandbox {
  readonly id: string;
  /**
   * Resolves when the runner inside has connected, with the stream that carries its messages. May stay pending for a sandbox
   * that ends before that.
   */
  readonly connected: Promise<Duplex>;
  /**
   * For the sandbox of a server: resolves with its stdin and stdout, in any case before the launcher inside starts it. May stay pending
   * for a sandbox that ends before that. Absent where they are streams over the channel.
   */
  readonly stdio?: Promise<ServerStdio> | undefined;
  /** Resolves when the sandbox has ended and its output has been delivered. Rejects if the engine is lost. */
  readonly exited: Promise<SandboxExit>;
  /** Stops every process of the program until {@link resume}. */
  pause(): void;
  /**
   * Ends every process of the program except its runner, and stops the runner until {@link resume}. Resolves when the processes are
   * gone and all that they wrote has been passed on; never if the sandbox ends first.
   */
  clear(): Promise<void>;
  resume(): void;
  /** Notes for people who look at the engine what the sandbox is used for. Engines that show no such notes lack this method. */
  assign?(use: SandboxUse): void;
  /** Disconnects from the sandbox, which then ends by itself. */
  leave(): void;
  kill(): Promise<void>;
  /** Resolves when the engine has removed the sandbox. */
  removed(): Promise<void>;
  /** Whether the engine removes the sandbox once it has ended also if this process is gone. */
  readonly removesItself?: boolean;
  /** Frees the sandbox's resources on the host, such as the socket of its connection. Safe to call twice. */
  release(): void;
}

/** One part that an engine needs, and whether it is there. */
export interface EnginePart {
  part: string;
  ok: boolean;
  /** What was found; for a part that is missing, what to do. */
  detail: string;
}

/** What sandboxes are to be like for which an engine is examined. */
export interface ExaminationRequest {
  runtime: string;
  runners: readonly RunnerName[];
  limits: SandboxLimits;
}

/** Starts sandboxes, and knows those of all ptc processes. */
export interface SandboxEngine {
  /** The engine's name in messages. */
  readonly name: string;
  /** What to do if a wall does not hold, or the runtime is missing. */
  readonly advice: EngineAdvice;
  /** Whether servers can have sandboxes. A request for one is refused by an engine without this. */
  readonly hasServers?: boolean;
  /** What programs in JavaScript find in its sandboxes; Node.js by default. */
  readonly platform?: Platform | undefined;
  /** Walls that it has not, by design, each with what is missing. They are required of other engines alone. */
  readonly lacks?: Partial<Readonly<Record<WallName, string>>> | undefined;
  /** Whether the limits of sandboxes are set where the sandboxes are defined, and cannot be requested. */
  readonly hasFixedLimits?: boolean;
  /**
   * Whether its sandboxes use the processors of another machine, as far as that is known by now. Engines whose sandboxes are all of this
   * machine lack this method. Never throws.
   */
  isElsewhere?(): boolean;
  /** @throws SandboxError `engine_unreachable` */
  describe(): Promise<EngineDescription>;
  /**
   * Looks part by part whether it has what sandboxes need, where that is more than `describe` can say in one line. Makes nothing.
   * Goes on after a part that is missing, as far as others do not depend on it. Never rejects.
   */
  examine?(request: ExaminationRequest): AsyncIterable<EnginePart>;
  /** An image, with what it says of its content; `undefined` when no image has that name. @throws SandboxError `engine_unreachable` */
  findImage(reference: string): Promise<StoredImage | undefined>;
  /** Finds out in advance what `start` needs to know about a runtime. Never rejects. */
  prepare?(runtime: string): Promise<void>;
  /**
   * @param output receives the sandbox's output, from the first byte.
   * @throws SandboxError `start_failed`, `runtime_missing`, `engine_unreachable`; the sandbox is then removed.
   */
  start(request: SandboxRequest, output: SandboxOutput): Promise<StartedSandbox>;
  /** The sandboxes of all ptc processes, running or not. @throws SandboxError `engine_unreachable` */
  list(): Promise<{ id: string; owner: string }[]>;
  /** Whether the engine stores what a sandbox writes. @throws SandboxError `engine_unreachable` */
  keepsOutput(id: string): Promise<boolean>;
  /**
   * Whether the kernel of a running sandbox, if it has its own, has no rights over its host: it is not root there and has no
   * capabilities. `undefined` if that cannot be seen from here.
   *
   * @throws SandboxError `engine_unreachable`
   */
  keepsKernelUnprivileged?(id: string): Promise<boolean | undefined>;
  /** Kills and removes a sandbox. Does nothing if there is none. @throws SandboxError `engine_unreachable` */
  remove(id: string): Promise<void>;
  /**
   * Makes a snapshot in advance, from which sandboxes of this kind start faster, unless there is one. Engines without this method have
   * no snapshots. @throws Error that says why there is none.
   */
  snapshot?(request: SandboxRequest): Promise<void>;
  /** Whether sandboxes of this kind are started from a snapshot, as a sentence. */
  describeSnapshot?(request: SandboxRequest): Promise<string>;
  /**
   * Measures what a program of an image costs on each platform that the engine chooses from, and has later sandboxes use the better
   * one. Says what each costs or why it failed, as a sentence; `undefined` where there is but one. @throws Error
   */
  measurePlatforms?(request: Pick<SandboxRequest, "image" | "owner">): Promise<string | undefined>;
  /** Its images, if it can build them. Sends no request yet. */
  openImages?(): Promise<ImageStore>;
  /**
   * Has what dead ptc processes of other machines have left removed from now on, every so often, until it is closed. Engines whose
   * sandboxes are all of this machine lack this method. Sends no request yet, and never throws.
   */
  keepSwept?(owner: string): void;
  /** Releases its resources outside this process, such as its lease, with which its sandboxes end too. Never rejects. */
  close?(): Promise<void>;
  /**
   * For an engine that is chosen when it is first needed: the chosen engine, why it was chosen, and what it then said of itself, if it
   * was asked. Never rejects.
   */
  settled?(): Promise<{ engine: SandboxEngine; why: string; described?: EngineDescription }>;
}

/** The available engines. */
export const ENGINE_NAMES = ["docker", "runsc", "kubernetes", "wasm"] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];
export type EngineChoice = EngineName | "auto";

export interface EngineOptions {
  /** Which engine; `auto` by default. */
  choice?: EngineChoice | undefined;
  /** The runtime of sandboxes; gVisor's by default. */
  runtime?: string | undefined;
  /** An existing folder of this process for the engine's files, with a path short enough for sockets in it. */
  folder: string;
  /** How each runner is started. */
  runners: RunnerStarts;
  /** How programs reach ptc; `auto` by default. */
  channel?: ChannelPreference | undefined;
  /** The address of the only engine to use; by default ptc searches for one. */
  address?: string | undefined;
  /**
   * Which runsc is used without an engine: the one at an absolute path, or with `system` one in a folder of the system. What is used then is
   * root's and writable by nobody else. By default the first one in `PATH`.
   */
  runsc?: string | undefined;
  /** Whether sandboxes may run if a limit is not possible. */
  allowsWeakerIsolation?: boolean | undefined;
  /** The folder of the runner of the engine `wasm`. */
  wasmFolder?: string | undefined;
  /** For sandboxes that are pods of a cluster. */
  kubernetes?: KubernetesOptions | undefined;
}

/** Which cluster has the pods, and from which pools they are claimed. */
export interface KubernetesOptions {
  /** By default the one that `kubectl` would use, or that of the pod in which ptc runs. */
  kubeconfig?: string | undefined;
  context?: string | undefined;
  /** By default that of the context, or of the pod in which ptc runs. */
  namespace?: string | undefined;
  /** The prefix of the names of the SandboxWarmPools; `-` and the name of the runner follow. */
  template?: string | undefined;
  /** A folder with `ca.crt`, `tls.crt` and `tls.key`, for connections to pods. */
  certificates?: string | undefined;
  /** How long a program waits for a pod. */
  readyTimeoutMs?: number | undefined;
}

/** Opens an engine. Sends no request yet. */
export type OpenEngine = (options: EngineOptions) => SandboxEngine;

/** The contents of the runner image. */
export interface ImageRequest {
  reference: string;
  /** The base image. */
  base: string;
  /** By path: those that belong under /opt/ptc, and the `Dockerfile`, which defines everything else in the image. */
  files: ReadonlyMap<string, Uint8Array>;
  /** What the image says of itself, stored with it. */
  contents: ImageContents;
  onProgress: OnProgress;
}

/** What an image says of itself. Each part is undefined for an image that does not say it, such as one that ptc did not build. */
export interface ImageContents {
  /** A digest of its base and its files. */
  content?: string | undefined;
  /** A digest of its files, as in `NeededImage.runner`. */
  runner?: string | undefined;
  /** The name of its base. */
  base?: string | undefined;
  /** The distribution's packages that were added for Python programs, by their full names. */
  pythonPackages?: readonly string[] | undefined;
}

export interface StoredImage extends ImageContents {
  /** The id of the image, `sha256:...`. */
  digest: string;
}

export interface ListedImage {
  /** Its name, or its digest if it has none. */
  reference: string;
  bytes: number;
  /** The name of its base, if it says so. */
  base?: string | undefined;
}

/** Receives the progress, one short line at a time. */
export type OnProgress = (line: string) => void;

/** The images of an engine. image/runner-image.ts builds the one in which programs run. */
export interface ImageStore {
  /** Undefined if there is no such image. */
  inspect(reference: string): Promise<StoredImage | undefined>;
  /** Pulls an image. Throws `base_unavailable`, without a long wait, if no registry can be reached. */
  pull(reference: string, onProgress: OnProgress): Promise<StoredImage>;
  /**
   * Builds the image in which programs run, and removes the one that had its name before, unless a container uses it. Throws
   * `build_failed`.
   */
  build(request: ImageRequest): Promise<StoredImage>;
  /** Gives an image a name more, which another image may have had. The reference is `name` or `name:tag`. */
  tag(digest: string, reference: string): Promise<void>;
  /** Makes an image of a root file system in a tar stream; the reference is `name:tag`. Throws `build_failed`. */
  importRootfs(request: { tar: Readable; reference: string }): Promise<StoredImage>;
  /** The images that ptc has made: those in which programs run, and their bases. Shared layers count for each image. */
  listOwn(): Promise<ListedImage[]>;
  /** Removes a name, and the image if it has no other; or an image by its digest. @throws SandboxError if a sandbox uses it. */
  remove(reference: string): Promise<void>;
}
