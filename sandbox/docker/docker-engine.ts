import { createHash } from "node:crypto";
import type { Duplex, Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { GUARD_COMMANDS } from "../../protocol/guard.ts";
import type { SandboxExit, SandboxOutput } from "../sandbox.ts";
import type { StartedSandbox, StoredImage } from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import { readSentryProcess, type SentryProcess } from "../sentry-process.ts";
import type { DockerRuntime, EngineMachine } from "./choose-channel.ts";
import type { ContainerRequest } from "./container-profile.ts";
import { type DockerClient, explainDockerFault, httpStatusOf, openDockerClient } from "./docker-client.ts";
import { readLabels } from "./image-labels.ts";

/** A started container. The caller arranges how its runner connects. */
export type StartedContainer = Omit<StartedSandbox, "connected" | "clear" | "release"> & {
  /** The guard's input. */
  readonly stdin: Writable;
  /** Tells the guard to clear the sandbox. The guard answers in the output. */
  clear(): void;
};

/** A container engine's description of itself. */
export interface ContainerEngineDescription {
  version: string;
  /** A text that changes with the engine, its version and the settings of its runtimes. */
  identity: string;
  /** The address of the engine, and the source of the address. */
  host: string;
  source: string;
  machine: EngineMachine;
  processors: number;
  runtimes: Readonly<Record<string, DockerRuntime>>;
}

/** The operations that ptc needs from a container engine, in terms of the Docker Engine API. */
export interface ContainerEngine {
  /** @throws SandboxError `engine_unreachable` */
  describe(): Promise<ContainerEngineDescription>;
  /** The digest of an image; `undefined` if no image has that name. */
  findImage(reference: string): Promise<StoredImage | undefined>;
  /**
   * @param onRequested called when the last request has been sent and only the engine's answer is missing.
   * @throws SandboxError `start_failed`
   */
  start(
    request: ContainerRequest,
    output: SandboxOutput,
    onRequested?: () => void,
  ): Promise<StartedContainer>;
  /** All containers with a label, running or not. */
  listLabelled(label: string): Promise<{ id: string; labels: Record<string, string> }[]>;
  /** Whether the engine stores what a container writes. */
  keepsOutput(id: string): Promise<boolean>;
  /** The process that is gVisor's kernel for a running container; `undefined` if it cannot be seen from this machine. */
  findSentry(id: string): Promise<SentryProcess | undefined>;
  /** Kills and removes a container. Does nothing if there is none. */
  remove(id: string): Promise<void>;
}

/** The used members of `GET /info`. */
interface DockerInfo {
  ID: string;
  Name: string;
  ServerVersion: string;
  KernelVersion: string;
  OperatingSystem: string;
  NCPU: number;
  Runtimes: Record<string, DockerRuntime>;
}

/** The interval for inspecting a container whose output has ended but whose exit the engine has not reported. */
const LOOK_AGAIN_MS = 300;
/** The exit code of a process ended by SIGKILL. */
const SIGKILLED = 137;

/** The Docker Engine that the `docker` command would use. It is searched for when it is first needed. */
export class DockerEngine implements ContainerEngine {
  #client: DockerClient | undefined;

  readonly #socket: string | undefined;

  /**
   * @param docker the client to use instead of searching for one.
   * @param socket the address of the only engine to use, such as `unix:///run/docker.sock`, whatever variables and contexts say.
   */
  constructor(docker?: Docker, socket?: string) {
    this.#socket = socket;
    if (docker !== undefined) this.#client = { docker, host: "", source: "" };
  }

  /** @throws SandboxError `engine_unreachable` if no reachable engine is named. */
  get docker(): Docker {
    this.#client ??= openDockerClient(process.env, this.#socket);
    return this.#client.docker;
  }

  async describe(): Promise<ContainerEngineDescription> {
    const info = (await this.#ask(() => this.docker.info())) as DockerInfo;
    const { ID, ServerVersion, Runtimes } = info;
    const identity = createHash("sha256")
      .update(JSON.stringify([ID, ServerVersion, Runtimes]))
      .digest("hex");
    const { host = "", source = "" } = this.#client ?? {};
    return {
      version: ServerVersion,
      identity,
      host,
      source,
      machine: { name: info.Name, kernel: info.KernelVersion, operatingSystem: info.OperatingSystem },
      processors: info.NCPU,
      runtimes: Runtimes,
    };
  }

  async findImage(reference: string): Promise<StoredImage | undefined> {
    try {
      const { Id, Config } = await this.docker.getImage(reference).inspect();
      return { digest: Id, ...readLabels(Config?.Labels) };
    } catch (error) {
      if (httpStatusOf(error) === 404) return undefined;
      throw explainDockerFault(error, "engine_unreachable", this.#client);
    }
  }

  async start(
    request: ContainerRequest,
    output: SandboxOutput,
    onRequested?: () => void,
  ): Promise<StartedContainer> {
    let container: Docker.Container | undefined;
    let attached: Duplex | undefined;
    let waited: Waited | undefined;
    try {
      container = await this.docker.createContainer(request as Docker.ContainerCreateOptions);
      const attaching = container.attach({
        stream: true,
        stdin: true,
        stdout: true,
        stderr: true,
        hijack: true,
      });
      waited = waitFor(container, "next-exit");
      attached = (await attaching) as Duplex;
      const delivered = deliver(attached, output);
      const starting = container.start();
      onRequested?.();
      await starting;
      return new DockerContainer(this.docker, container, attached, waited, delivered);
    } catch (error) {
      attached?.destroy();
      waited?.cancel();
      await container?.remove({ force: true }).catch(() => {});
      throw explainDockerFault(error, "start_failed", this.#client);
    }
  }

  async listLabelled(label: string): Promise<{ id: string; labels: Record<string, string> }[]> {
    const asked = { all: true, filters: { label: [label] } };
    const containers = await this.#ask(() => this.docker.listContainers(asked));
    return containers.map((container) => ({ id: container.Id, labels: container.Labels }));
  }

  async keepsOutput(id: string): Promise<boolean> {
    try {
      await this.docker.getContainer(id).logs({ stdout: true, stderr: true, tail: 1 });
      return true;
    } catch (error) {
      if (error instanceof Error && /logging driver/.test(error.message)) return false;
      throw explainDockerFault(error, "engine_unreachable", this.#client);
    }
  }

  async findSentry(id: string): Promise<SentryProcess | undefined> {
    const { Id, State } = await this.#ask(() => this.docker.getContainer(id).inspect());
    return readSentryProcess(Id, State.Pid);
  }

  remove(id: string): Promise<void> {
    return this.#ask(() => unlessGone(this.docker.getContainer(id).remove({ force: true })));
  }

  /** @throws SandboxError `engine_unreachable` */
  async #ask<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      throw explainDockerFault(error, "engine_unreachable", this.#client);
    }
  }
}

/** Waits for a request about a container that may already be gone, about to be removed, or no longer running. */
async function unlessGone(request: Promise<unknown>): Promise<void> {
  await request.catch((error: unknown) => {
    const status = httpStatusOf(error);
    if (status !== 404 && status !== 409) throw error;
  });
}

class DockerContainer implements StartedContainer {
  readonly id: string;
  readonly exited: Promise<SandboxExit>;
  readonly #container: Docker.Container;
  readonly stdin: Writable;
  readonly #delivered: Promise<void>;
  #isKilled = false;

  constructor(
    docker: Docker,
    container: Docker.Container,
    stdin: Writable,
    waited: Waited,
    delivered: Promise<void>,
  ) {
    this.id = container.id;
    this.#container = container;
    this.stdin = stdin;
    this.#delivered = delivered;
    this.exited = this.#settle(waited, ({ State }) => (State.Running ? undefined : State.ExitCode)).then(
      async (code) => {
        await delivered;
        if (code !== SIGKILLED || this.#isKilled) return { code };
        return { code, isKilledByOthers: await wasKilled(docker, container.id) };
      },
    );
    this.exited.catch(() => {});
  }

  pause(): void {
    if (this.stdin.writable) this.stdin.write(GUARD_COMMANDS.pause);
  }

  clear(): void {
    if (this.stdin.writable) this.stdin.write(GUARD_COMMANDS.clear);
  }

  resume(): void {
    if (this.stdin.writable) this.stdin.write(GUARD_COMMANDS.resume);
  }

  leave(): void {
    this.stdin.end();
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    await unlessGone(this.#container.kill()).catch((error: unknown) => {
      throw explainDockerFault(error, "engine_unreachable");
    });
  }

  async removed(): Promise<void> {
    try {
      await this.#settle(waitFor(this.#container, "removed"), () => undefined);
    } catch (error) {
      if (!(error instanceof SandboxError) || httpStatusOf(error.cause) !== 404) throw error;
    }
  }

  /**
   * Resolves with the exit code from the engine's wait request. If the engine restarts meanwhile, or misses the end itself, that request
   * is never answered, so the container is also inspected after its output has ended. The request is cancelled then, because its
   * connection would keep the process from ending.
   */
  async #settle(
    waited: Waited,
    over: (seen: Docker.ContainerInspectInfo) => number | undefined,
  ): Promise<number> {
    const settled = new AbortController();
    try {
      return await Promise.race([
        waited.answer.then(({ StatusCode }) => StatusCode),
        this.#delivered.then(() => this.#watch(over, settled.signal)),
      ]);
    } catch (error) {
      throw explainDockerFault(error, "engine_unreachable");
    } finally {
      settled.abort();
      waited.cancel();
    }
  }

  async #watch(
    over: (seen: Docker.ContainerInspectInfo) => number | undefined,
    signal: AbortSignal,
  ): Promise<number> {
    for (;;) {
      await delay(LOOK_AGAIN_MS, undefined, { signal });
      const code = over(await this.#container.inspect());
      if (code !== undefined) return code;
    }
  }
}

/**
 * Whether the engine was told to kill a container (Docker Engine API, `GET /events`). A container that ran out of memory has the same
 * exit code. False if the engine does not say.
 */
async function wasKilled(docker: Docker, id: string): Promise<boolean> {
  try {
    const events = await docker.getEvents({
      since: 0,
      until: Date.now() / 1000,
      filters: { type: ["container"], container: [id], event: ["kill"] },
    });
    return (await text(events as Readable)) !== "";
  } catch {
    return false;
  }
}

/** A wait request to the engine. */
interface Waited {
  readonly answer: Promise<{ StatusCode: number }>;
  /** Closes the connection of the request. Does nothing once it is answered. */
  cancel(): void;
}

function waitFor(container: Docker.Container, condition: "next-exit" | "removed"): Waited {
  const cancelled = new AbortController();
  const answer: Waited["answer"] = container.wait({ condition, abortSignal: cancelled.signal });
  answer.catch(() => {});
  return { answer, cancel: () => cancelled.abort() };
}

/** Settles when the container's output has ended, or the connection to the engine is lost. */
function deliver(stream: NodeJS.ReadableStream, output: SandboxOutput): Promise<void> {
  const attached = new AttachedOutput(output);
  stream.on("data", (chunk: Buffer) => attached.push(chunk));
  return new Promise((resolve) => {
    stream.on("end", resolve);
    stream.on("close", resolve);
    stream.on("error", () => resolve());
  });
}

const HEADER_BYTES = 8;
const STDOUT = 1;
const STDERR = 2;

/**
 * Splits the output of an attached container into stdout and stderr (Docker Engine API, `POST /containers/{id}/attach`, "Stream
 * format": a byte that names the stream, three zeros, the length as 4 bytes big-endian, the payload). Passes payloads on as they
 * arrive and keeps at most one header, however small the chunks are.
 */
export class AttachedOutput {
  readonly #output: SandboxOutput;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #payloadBytes = 0;

  constructor(output: SandboxOutput) {
    this.#output = output;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      const taken = this.#payloadBytes > 0 ? this.#takePayload(rest) : this.#takeHeader(rest);
      rest = rest.subarray(taken);
    }
  }

  #takeHeader(bytes: Buffer): number {
    const taken = bytes.copy(this.#header, this.#headerBytes);
    this.#headerBytes += taken;
    if (this.#headerBytes === HEADER_BYTES) {
      this.#headerBytes = 0;
      this.#payloadBytes = this.#header.readUInt32BE(4);
    }
    return taken;
  }

  #takePayload(bytes: Buffer): number {
    const payload = bytes.subarray(0, this.#payloadBytes);
    this.#payloadBytes -= payload.length;
    if (this.#header[0] === STDOUT) this.#output.onStdout(payload);
    else if (this.#header[0] === STDERR) this.#output.onStderr(payload);
    return payload.length;
  }
}
