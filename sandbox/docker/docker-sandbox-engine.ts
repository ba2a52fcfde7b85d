import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { type RunnerStarts, SOCKET_FILE_NAME } from "../../protocol/runners.ts";
import {
  AttachedChannel,
  besideGuard,
  GuardAnswers,
  OutputSockets,
  SocketFolder,
  SocketListener,
  StdioSockets,
} from "../guard-channel.ts";
import type { SandboxOutput } from "../sandbox.ts";
import type {
  ChannelKind,
  ChannelPreference,
  EngineDescription,
  EngineOptions,
  ImageStore,
  SandboxEngine,
  SandboxRequest,
  StartedSandbox,
  StoredImage,
} from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import { isUnprivileged } from "../sentry-process.ts";
import { chooseChannel, isEngineElsewhere, socketFlagProblem } from "./choose-channel.ts";
import { buildContainerRequest } from "./container-profile.ts";
import { DOCKER_ADVICE } from "./docker-advice.ts";
import { type ContainerEngine, DockerEngine, type StartedContainer } from "./docker-engine.ts";
import type { DockerImages } from "./docker-image-store.ts";

/** The label that names the ptc process that owns a container. */
export const OWNER_LABEL = "dev.ptc.owner";

/** Containers, and the client for their images, if there is one. */
type DockerContainers = ContainerEngine & { readonly docker?: DockerImages };

/**
 * Sandboxes that are containers of a Docker Engine. The runner of each connects to a mounted Unix socket or, if the engine cannot
 * mount one of this machine, over the container's attached stdin and stdout.
 */
export class DockerSandboxEngine implements SandboxEngine {
  readonly name = "Docker";
  readonly advice = DOCKER_ADVICE;
  readonly hasServers = true;
  readonly #containers: DockerContainers;
  readonly #runners: RunnerStarts;
  readonly #sockets: SocketFolder;
  #preference: ChannelPreference;
  #isElsewhere: boolean | undefined;
  /** By runtime. */
  readonly #channels = new Map<string, Promise<ChannelKind>>();

  constructor(containers: DockerContainers, { folder, runners, channel = "auto" }: EngineOptions) {
    this.#containers = containers;
    this.#runners = runners;
    this.#sockets = new SocketFolder(folder);
    this.#preference = channel;
  }

  async openImages(): Promise<ImageStore> {
    const { docker } = this.#containers;
    if (docker === undefined) throw new SandboxError("build_failed", "this engine has no images");
    const { DockerImageStore } = await import("./docker-image-store.ts");
    return new DockerImageStore(docker);
  }

  isElsewhere(): boolean {
    if (this.#isElsewhere === undefined) {
      this.#isElsewhere = false;
      // A start over a configured channel has not asked the engine what it is.
      void this.describe().catch(() => {
        this.#isElsewhere = undefined;
      });
    }
    return this.#isElsewhere;
  }

  async describe(): Promise<EngineDescription> {
    const { version, identity, host, source, machine, processors, runtimes } =
      await this.#containers.describe();
    this.#isElsewhere = isEngineElsewhere({ host, machine });
    const preference = this.#preference;
    const described = Object.entries(runtimes).map(([name, runtime]) => {
      const channel = chooseChannel({ preference, host, machine, runtime: [name, runtime] });
      // So that a start after this does not ask the engine again.
      if (!this.#channels.has(name)) this.#channels.set(name, Promise.resolve(channel.kind));
      const problem = channel.kind === "socket" ? socketFlagProblem(name, runtime) : undefined;
      return [name, { path: runtime.path, channel, problem }] as const;
    });
    return {
      version,
      identity,
      profile: profileDigest(this.#runners, [host, preference]),
      endpoint: `${host} (${source})`,
      processors,
      runtimes: new Map(described),
    };
  }

  findImage(reference: string): Promise<StoredImage | undefined> {
    return this.#containers.findImage(reference);
  }

  async prepare(runtime: string): Promise<void> {
    await this.#channelOf(runtime).catch(() => {});
  }

  async start(request: SandboxRequest, output: SandboxOutput): Promise<StartedSandbox> {
    const kind = await this.#channelOf(request.runtime);
    if (kind === "attached") return this.#startAttached(request, output);
    try {
      return await this.#startWithSocket(request, output);
    } catch (error) {
      if (this.#preference !== "auto" || !isUnmountable(error)) throw error;
      this.#preference = "attached";
      this.#channels.clear();
      return this.#startAttached(request, output);
    }
  }

  #channelOf(runtime: string): Promise<ChannelKind> {
    const preference = this.#preference;
    if (preference !== "auto") return Promise.resolve(preference);
    const known = this.#channels.get(runtime);
    if (known !== undefined) return known;
    // The engine refuses a runtime that it does not know, whatever the channel.
    const asked = this.describe().then(
      ({ runtimes }): ChannelKind =>
        runtimes.get(runtime)?.channel?.kind === "socket" ? "socket" : "attached",
    );
    this.#channels.set(runtime, asked);
    asked.catch(() => this.#channels.delete(runtime));
    return asked;
  }

  async #startWithSocket(request: SandboxRequest, output: SandboxOutput): Promise<StartedSandbox> {
    const socketDirectory = this.#sockets.makeSocketDirectory();
    let listener: SocketListener | undefined;
    let sockets: OutputSockets | undefined;
    let stdio: StdioSockets | undefined;
    const release = () => {
      listener?.close();
      sockets?.close();
      stdio?.close();
      rmSync(socketDirectory, { recursive: true, force: true });
    };
    try {
      listener = await SocketListener.listen(socketDirectory, SOCKET_FILE_NAME);
      sockets = await OutputSockets.listen(socketDirectory, output);
      if (request.server !== undefined) stdio = await StdioSockets.listen(socketDirectory);
      const answers = new GuardAnswers();
      const container = await this.#startContainer(request, besideGuard(output, answers), socketDirectory);
      const delivered = sockets.ended.bind(sockets);
      const exited = container.exited.then(async (exit) => {
        await delivered();
        return exit;
      });
      exited.catch(() => {});
      return {
        ...endsOf(container),
        connected: listener.connection,
        stdio: stdio?.connected,
        exited,
        pause: () => container.pause(),
        clear() {
          const cleared = answers.next();
          container.clear();
          return cleared;
        },
        resume: () => container.resume(),
        release,
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #startAttached(request: SandboxRequest, output: SandboxOutput): Promise<StartedSandbox> {
    const channel = new AttachedChannel(output);
    const container = await this.#startContainer(request, channel);
    channel.open(container.stdin);
    const end = () => channel.end();
    container.exited.then(end, end);
    return {
      ...endsOf(container),
      connected: channel.connected,
      exited: container.exited,
      pause: () => channel.pause(),
      clear: () => channel.clear(),
      resume: () => channel.resume(),
      release: end,
    };
  }

  #startContainer(
    { image, runtime, runner, server, limits, owner, onRequested }: SandboxRequest,
    output: SandboxOutput,
    socketDirectory?: string,
  ): Promise<StartedContainer> {
    const start = this.#runners[runner];
    const labels = { [OWNER_LABEL]: owner };
    const request = buildContainerRequest({
      ...{ image, runtime, start, limits, socketDirectory, server, labels },
    });
    return this.#containers.start(request, output, onRequested);
  }

  async list(): Promise<{ id: string; owner: string }[]> {
    const containers = await this.#containers.listLabelled(OWNER_LABEL);
    return containers.map(({ id, labels }) => ({ id, owner: labels[OWNER_LABEL] ?? "" }));
  }

  keepsOutput(id: string): Promise<boolean> {
    return this.#containers.keepsOutput(id);
  }

  async keepsKernelUnprivileged(id: string): Promise<boolean | undefined> {
    const sentry = await this.#containers.findSentry(id);
    return sentry && isUnprivileged(sentry);
  }

  remove(id: string): Promise<void> {
    return this.#containers.remove(id);
  }
}

/** Opens the engine that the `docker` command would use, or the one at the address. Sends no request yet. */
export function openDockerSandboxes(options: EngineOptions): SandboxEngine {
  return new DockerSandboxEngine(new DockerEngine(undefined, options.address), options);
}

/** The parts of a sandbox that its container provides. */
function endsOf(
  container: StartedContainer,
): Pick<StartedSandbox, "id" | "leave" | "kill" | "removed" | "removesItself"> {
  return {
    id: container.id,
    removesItself: true,
    leave: () => container.leave(),
    kill: () => container.kill(),
    removed: () => container.removed(),
  };
}

/** Whether an engine refused to mount a folder of this machine because it sees a different file system. */
function isUnmountable(error: unknown): boolean {
  return (
    error instanceof SandboxError &&
    error.code === "start_failed" &&
    /\bmount|bind source path/i.test(error.message)
  );
}

/**
 * The digest of the container's profile without image, runtime and limits. A different profile may have different walls.
 *
 * @param more anything else that affects how a sandbox is isolated.
 */
function profileDigest(runners: RunnerStarts, more: readonly string[]): string {
  const limits = { memoryMb: 512, cpus: 1, pids: 256 };
  const requests = ["", undefined].flatMap((socketDirectory) =>
    Object.values(runners).map((start) =>
      buildContainerRequest({ image: "", runtime: "", start, limits, socketDirectory, labels: {} }),
    ),
  );
  return createHash("sha256")
    .update(JSON.stringify([requests, more]))
    .digest("hex");
}
