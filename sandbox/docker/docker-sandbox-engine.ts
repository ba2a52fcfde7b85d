import { rmSync } from "node:fs";
import type { SandboxOutput } from "../sandbox.ts";
import type { EngineDescription, SandboxEngine, SandboxRequest, StartedSandbox } from "../sandbox-engine.ts";
import type { ContainerEngine } from "./container-engine.ts";
import { buildContainerRequest } from "./container-profile.ts";
import { SocketFolder } from "./socket-folder.ts";
import { SocketListener } from "./socket-listener.ts";

/** The label that names the ptc process that owns a container. */
export const OWNER_LABEL = "dev.ptc.owner";

/** Sandboxes that are containers of a Docker Engine. The runner of each connects to a Unix socket that is mounted into it. */
export class DockerSandboxEngine implements SandboxEngine {
  readonly #containers: ContainerEngine;
  readonly #sockets: SocketFolder;

  /** @param folder an existing folder on the engine's host. The path of a socket in it must fit into 108 bytes. */
  constructor(containers: ContainerEngine, folder: string) {
    this.#containers = containers;
    this.#sockets = new SocketFolder(folder);
  }

  describe(): Promise<EngineDescription> {
    return this.#containers.describe();
  }

  findImage(reference: string): Promise<{ digest: string } | undefined> {
    return this.#containers.findImage(reference);
  }

  async start(
    { image, runtime, limits, owner }: SandboxRequest,
    output: SandboxOutput,
  ): Promise<StartedSandbox> {
    const socketDirectory = this.#sockets.makeSocketDirectory();
    let listener: SocketListener | undefined;
    const release = () => {
      listener?.close();
      rmSync(socketDirectory, { recursive: true, force: true });
    };
    try {
      listener = await SocketListener.listen(socketDirectory);
      const labels = { [OWNER_LABEL]: owner };
      const emptyFile = this.#sockets.emptyFile;
      const container = await this.#containers.start(
        buildContainerRequest({ image, runtime, limits, socketDirectory, emptyFile, labels }),
        output,
      );
      return {
        id: container.id,
        connected: listener.connection,
        exited: container.exited,
        pause: () => container.pause(),
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

  async list(): Promise<{ id: string; owner: string }[]> {
    const containers = await this.#containers.listLabelled(OWNER_LABEL);
    return containers.map(({ id, labels }) => ({ id, owner: labels[OWNER_LABEL] ?? "" }));
  }

  keepsOutput(id: string): Promise<boolean> {
    return this.#containers.keepsOutput(id);
  }

  remove(id: string): Promise<void> {
    return this.#containers.remove(id);
  }
}
