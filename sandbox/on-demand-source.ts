import { rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { ContainerEngine, StartedContainer } from "./container-engine.ts";
import { buildContainerRequest, type SandboxLimits } from "./container-profile.ts";
import { OWNER_LABEL } from "./leftovers.ts";
import type { Sandbox, SandboxOutput, SandboxSource } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { SocketListener } from "./socket-listener.ts";
import type { StateDirectory } from "./state-directory.ts";

const CONNECT_TIMEOUT_MS = 30_000;
const EXIT_GRACE_MS = 250;

export interface OnDemandOptions {
  engine: ContainerEngine;
  state: StateDirectory;
  /** Identity of this process, for the owner label. */
  owner: string;
  /** Name of the runner image. */
  image: string;
  runtime: string;
  limits: SandboxLimits;
}

/** Starts a container for each sandbox that is asked for. */
export class OnDemandSource implements SandboxSource {
  readonly #options: OnDemandOptions;
  #image: Promise<string> | undefined;

  constructor(options: OnDemandOptions) {
    this.#options = options;
  }

  async acquire(output: SandboxOutput): Promise<Sandbox> {
    const { engine, state, owner, runtime, limits } = this.#options;
    this.#image ??= this.#findImage();
    const image = await this.#image;
    const socketDirectory = state.makeSocketDirectory();
    const listener = await SocketListener.listen(socketDirectory);
    const release = () => {
      listener.close();
      rmSync(socketDirectory, { recursive: true, force: true });
    };
    let container: StartedContainer;
    try {
      container = await engine.start(
        buildContainerRequest({
          image,
          runtime,
          limits,
          socketDirectory,
          emptyFile: state.emptyFile,
          labels: { [OWNER_LABEL]: owner },
        }),
        output,
      );
    } catch (error) {
      release();
      throw error;
    }
    try {
      const channel = await connected(listener, container);
      return new DockerSandbox(container, image, channel, release);
    } catch (error) {
      await container.kill().catch(() => {});
      release();
      throw error;
    }
  }

  async #findImage(): Promise<string> {
    const { engine, image } = this.#options;
    const found = await engine.findImage(image);
    if (found === undefined) {
      this.#image = undefined;
      throw new SandboxError("image_missing", `there is no image '${image}' here; run \`ptc image build\``);
    }
    return found.digest;
  }
}

class DockerSandbox implements Sandbox {
  readonly id: string;
  readonly image: string;
  readonly channel: Sandbox["channel"];
  readonly exited: Sandbox["exited"];
  readonly #container: StartedContainer;
  readonly #release: () => void;
  #ended = false;

  constructor(container: StartedContainer, image: string, channel: Sandbox["channel"], release: () => void) {
    this.id = container.id;
    this.image = image;
    this.channel = channel;
    this.exited = container.exited;
    this.#container = container;
    this.#release = release;
    container.exited.then(
      () => {
        this.#ended = true;
      },
      () => {},
    );
  }

  async kill(): Promise<void> {
    if (!this.#ended) await this.#container.kill();
  }

  async dispose(): Promise<void> {
    const removed = this.#container.removed();
    // A runner without a host ends by itself, sooner than it could be killed.
    this.channel.destroy();
    await Promise.race([this.exited.catch(() => {}), delay(EXIT_GRACE_MS, undefined, { ref: false })]);
    await this.kill().catch(() => {});
    await removed.catch(() => {});
    this.#release();
  }
}

async function connected(listener: SocketListener, container: StartedContainer): Promise<Sandbox["channel"]> {
  const timeout = new AbortController();
  const failures = [
    container.exited.then(({ code }) => {
      throw new SandboxError("start_failed", `the sandbox ended with exit code ${code} before it connected`);
    }),
    new Promise<never>((_, reject) => {
      const timer = setTimeout(() => {
        reject(
          new SandboxError(
            "start_failed",
            `the sandbox did not connect within ${CONNECT_TIMEOUT_MS / 1000} s`,
          ),
        );
      }, CONNECT_TIMEOUT_MS);
      timeout.signal.addEventListener("abort", () => clearTimeout(timer));
    }),
  ];
  try {
    return await Promise.race([listener.connection, ...failures]);
  } finally {
    timeout.abort();
  }
}
