import { rmSync } from "node:fs";
import type { ContainerEngine, StartedContainer } from "./container-engine.ts";
import { buildContainerRequest, type SandboxLimits } from "./container-profile.ts";
import { DockerSandbox, endContainer } from "./docker-sandbox.ts";
import { OWNER_LABEL } from "./leftovers.ts";
import { orCancelled, refuseCancelled } from "./or-cancelled.ts";
import type { Sandbox, SandboxOutput, SandboxStarter } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { SocketListener } from "./socket-listener.ts";
import type { StateDirectory } from "./state-directory.ts";

const CONNECT_TIMEOUT_MS = 30_000;

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
export class OnDemandSource implements SandboxStarter {
  readonly #options: OnDemandOptions;

  constructor(options: OnDemandOptions) {
    this.#options = options;
  }

  /** Rejects, also when it was given up, only when nothing of the sandbox is left. */
  async acquire(output: SandboxOutput, signal?: AbortSignal): Promise<Sandbox> {
    const { engine, state, owner, runtime, limits } = this.#options;
    refuseCancelled(signal);
    const image = await orCancelled(this.findImage(), signal);
    const socketDirectory = state.makeSocketDirectory();
    let listener: SocketListener | undefined;
    let container: StartedContainer | undefined;
    const release = () => {
      listener?.close();
      rmSync(socketDirectory, { recursive: true, force: true });
    };
    try {
      listener = await SocketListener.listen(socketDirectory);
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
      const channel = orCancelled(connected(listener, container), signal);
      return new DockerSandbox(container, image, await channel, release);
    } catch (error) {
      if (container !== undefined) await endContainer(container);
      release();
      throw error;
    }
  }

  /** @throws SandboxError `image_missing`, `engine_unreachable` */
  async findImage(): Promise<string> {
    const { engine, image } = this.#options;
    const found = await engine.findImage(image);
    if (found !== undefined) return found.digest;
    throw new SandboxError("image_missing", `there is no image '${image}' here; run \`ptc image build\``);
  }
}

async function connected(listener: SocketListener, container: StartedContainer): Promise<Sandbox["channel"]> {
  const settled = new AbortController();
  const failures = [
    container.exited.then(({ code }) => {
      throw new SandboxError("start_failed", `the sandbox ended with exit code ${code} before it connected`);
    }),
    new Promise<never>((_, reject) => {
      const late = `the sandbox did not connect within ${CONNECT_TIMEOUT_MS / 1000} s`;
      const timer = setTimeout(() => reject(new SandboxError("start_failed", late)), CONNECT_TIMEOUT_MS);
      settled.signal.addEventListener("abort", () => clearTimeout(timer));
    }),
  ];
  try {
    return await Promise.race([listener.connection, ...failures]);
  } finally {
    settled.abort();
  }
}
