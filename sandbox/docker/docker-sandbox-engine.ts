import { rmSync } from "node:fs";
import { GUARD_COMMANDS } from "../../protocol/guard.ts";
import { SOCKET_FILE_NAME } from "../../protocol/paths.ts";
import type { SandboxOutput } from "../sandbox.ts";
import type {
  ChannelKind,
  ChannelPreference,
  EngineDescription,
  SandboxEngine,
  SandboxRequest,
  StartedSandbox,
} from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import { AttachedChannel } from "./channel/attached-channel.ts";
import { chooseChannel } from "./channel/choose-channel.ts";
import { GuardAnswers } from "./channel/guard-answers.ts";
import { OutputSockets } from "./channel/output-sockets.ts";
import { socketFlagProblem } from "./channel/runtime-flags.ts";
import { SocketFolder } from "./channel/socket-folder.ts";
import { SocketListener } from "./channel/socket-listener.ts";
import type { ContainerEngine } from "./container-engine.ts";
import { buildContainerRequest } from "./container-profile.ts";
import { profileDigest } from "./profile-digest.ts";
import { isUnprivileged } from "./sentry-process.ts";

const GUARD_ANSWER = GUARD_COMMANDS.clear.charCodeAt(0);

/** The label that names the ptc process that owns a container. */
export const OWNER_LABEL = "dev.ptc.owner";

/**
 * Sandboxes that are containers of a Docker Engine. The runner of each connects to a Unix socket that is mounted into it, or,
 * where the engine can mount none of this machine, over the container's attached stdin and stdout.
 */
export class DockerSandboxEngine implements SandboxEngine {
  readonly #containers: ContainerEngine;
  readonly #sockets: SocketFolder;
  #preference: ChannelPreference;
  /** By runtime. */
  readonly #channels = new Map<string, Promise<ChannelKind>>();

  /** @param folder an existing folder of this process, with a path short enough for sockets in it. */
  constructor(containers: ContainerEngine, folder: string, preference: ChannelPreference = "auto") {
    this.#containers = containers;
    this.#sockets = new SocketFolder(folder);
    this.#preference = preference;
  }

  async describe(): Promise<EngineDescription> {
    const { version, identity, host, source, machine, processors, runtimes } =
      await this.#containers.describe();
    const preference = this.#preference;
    const described = Object.entries(runtimes).map(([name, runtime]) => {
      const channel = chooseChannel({ preference, host, machine, runtime: [name, runtime] });
      const problem = channel.kind === "socket" ? socketFlagProblem(name, runtime) : undefined;
      return [name, { path: runtime.path, channel, problem }] as const;
    });
    return {
      version,
      identity,
      profile: profileDigest([host, preference]),
      endpoint: `${host} (${source})`,
      processors,
      runtimes: new Map(described),
    };
  }

  findImage(reference: string): Promise<{ digest: string } | undefined> {
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
    // A runtime that the engine does not know is refused by the engine, whatever the channel.
    const asked = this.describe().then(({ runtimes }) => runtimes.get(runtime)?.channel?.kind ?? "attached");
    this.#channels.set(runtime, asked);
    asked.catch(() => this.#channels.delete(runtime));
    return asked;
  }

  async #startWithSocket(
    { image, runtime, runner, limits, owner, onRequested }: SandboxRequest,
    output: SandboxOutput,
  ): Promise<StartedSandbox> {
    const socketDirectory = this.#sockets.makeSocketDirectory();
    let listener: SocketListener | undefined;
    let sockets: OutputSockets | undefined;
    const release = () => {
      listener?.close();
      sockets?.close();
      rmSync(socketDirectory, { recursive: true, force: true });
    };
    try {
      listener = await SocketListener.listen(socketDirectory, SOCKET_FILE_NAME);
      sockets = await OutputSockets.listen(socketDirectory, output);
      const labels = { [OWNER_LABEL]: owner };
      const answers = new GuardAnswers();
      const container = await this.#containers.start(
        buildContainerRequest({ image, runtime, runner, limits, socketDirectory, labels }),
        besideGuard(output, answers),
        onRequested,
      );
      const delivered = sockets.ended.bind(sockets);
      const exited = container.exited.then(async (exit) => {
        await delivered();
        return exit;
      });
      exited.catch(() => {});
      return {
        id: container.id,
        connected: listener.connection,
        exited,
        pause: () => container.pause(),
        clear() {
          const cleared = answers.next();
          container.clear();
          return cleared;
        },
        resume: () => container.resume(),
        leave: () => container.leave(),
        kill: () => container.kill(),
        removed: () => container.removed(),
        release,
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #startAttached(
    { image, runtime, runner, limits, owner, onRequested }: SandboxRequest,
    output: SandboxOutput,
  ): Promise<StartedSandbox> {
    const channel = new AttachedChannel(output);
    const labels = { [OWNER_LABEL]: owner };
    const container = await this.#containers.start(
      buildContainerRequest({ image, runtime, runner, limits, labels }),
      channel,
      onRequested,
    );
    channel.open(container.stdin);
    const end = () => channel.end();
    container.exited.then(end, end);
    return {
      id: container.id,
      connected: channel.connected,
      exited: container.exited,
      pause: () => channel.pause(),
      clear: () => channel.clear(),
      resume: () => channel.resume(),
      leave: () => container.leave(),
      kill: () => container.kill(),
      removed: () => container.removed(),
      release: end,
    };
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

/** What the container itself writes where the program's output has sockets: the guard's answers, or what stands in its place. */
function besideGuard(output: SandboxOutput, answers: GuardAnswers): SandboxOutput {
  return {
    onStdout(chunk) {
      if (!answers.isAwaited || chunk.some((byte) => byte !== GUARD_ANSWER)) output.onStdout(chunk);
      else for (const _ of chunk) answers.come();
    },
    onStderr: (chunk) => output.onStderr(chunk),
  };
}

/** Whether an engine has refused to mount a folder of this machine, because it sees another file system. */
function isUnmountable(error: unknown): boolean {
  return (
    error instanceof SandboxError &&
    error.code === "start_failed" &&
    /\bmount|bind source path/i.test(error.message)
  );
}
