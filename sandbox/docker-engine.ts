import { setTimeout as delay } from "node:timers/promises";
import Docker from "dockerode";
import { AttachedOutput } from "./attached-output.ts";
import type { ContainerEngine, EngineDescription, StartedContainer } from "./container-engine.ts";
import type { ContainerRequest } from "./container-profile.ts";
import type { SandboxExit, SandboxOutput } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";

/** How often a container is looked at whose output has ended, and which the engine has not reported as ended. */
const LOOK_AGAIN_MS = 300;

/** The Docker Engine of this machine, over `DOCKER_HOST` or its usual socket. */
export class DockerEngine implements ContainerEngine {
  readonly docker: Docker;

  constructor(docker = new Docker()) {
    this.docker = docker;
  }

  async describe(): Promise<EngineDescription> {
    try {
      const info = (await this.docker.info()) as {
        ServerVersion: string;
        Runtimes: Record<string, { path?: string }>;
      };
      const runtimes = Object.entries(info.Runtimes).map(([name, { path }]) => [name, path] as const);
      return { version: info.ServerVersion, runtimes: new Map(runtimes) };
    } catch (error) {
      throw explain(error, "engine_unreachable");
    }
  }

  async findImage(
    reference: string,
  ): Promise<{ digest: string; labels: Record<string, string> } | undefined> {
    try {
      const image = await this.docker.getImage(reference).inspect();
      return { digest: image.Id, labels: image.Config.Labels ?? {} };
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw explain(error, "engine_unreachable");
    }
  }

  async start(request: ContainerRequest, output: SandboxOutput): Promise<StartedContainer> {
    let container: Docker.Container | undefined;
    try {
      container = await this.docker.createContainer(request as Docker.ContainerCreateOptions);
      const attached = container.attach({ stream: true, stdout: true, stderr: true, hijack: false });
      const waited = container.wait({ condition: "next-exit" }) as Waited;
      waited.catch(() => {});
      const delivered = deliver(await attached, output);
      await container.start();
      return new DockerContainer(container, waited, delivered);
    } catch (error) {
      await container?.remove({ force: true }).catch(() => {});
      throw explain(error, "start_failed");
    }
  }

  async listLabelled(label: string): Promise<{ id: string; labels: Record<string, string> }[]> {
    try {
      const containers = await this.docker.listContainers({ all: true, filters: { label: [label] } });
      return containers.map((container) => ({ id: container.Id, labels: container.Labels }));
    } catch (error) {
      throw explain(error, "engine_unreachable");
    }
  }

  async remove(id: string): Promise<void> {
    try {
      await this.docker.getContainer(id).remove({ force: true });
    } catch (error) {
      const status = statusOf(error);
      // Gone, or already being removed.
      if (status !== 404 && status !== 409) throw explain(error, "engine_unreachable");
    }
  }
}

class DockerContainer implements StartedContainer {
  readonly id: string;
  readonly exited: Promise<SandboxExit>;
  readonly #container: Docker.Container;
  readonly #delivered: Promise<void>;

  constructor(container: Docker.Container, waited: Waited, delivered: Promise<void>) {
    this.id = container.id;
    this.#container = container;
    this.#delivered = delivered;
    this.exited = this.#settle(waited, ({ State }) => (State.Running ? undefined : State.ExitCode)).then(
      async (code) => {
        await delivered;
        return { code };
      },
    );
    this.exited.catch(() => {});
  }

  async kill(): Promise<void> {
    try {
      await this.#container.kill();
    } catch (error) {
      const status = statusOf(error);
      // Gone, or not running any more.
      if (status !== 404 && status !== 409) throw explain(error, "engine_unreachable");
    }
  }

  async removed(): Promise<void> {
    const waited = this.#container.wait({ condition: "removed" }) as Waited;
    try {
      await this.#settle(waited, () => undefined);
    } catch (error) {
      if (!(error instanceof SandboxError) || statusOf(error.cause) !== 404) throw error;
    }
  }

  /**
   * The exit code that the engine answers to a wait. The answer never comes when the engine goes away meanwhile; so once
   * the container's output has ended, the container itself is looked at as well.
   */
  async #settle(
    waited: Waited,
    over: (seen: Docker.ContainerInspectInfo) => number | undefined,
  ): Promise<number> {
    const settled = new AbortController();
    try {
      return await Promise.race([
        waited.then(({ StatusCode }) => StatusCode),
        this.#delivered.then(() => this.#watch(over, settled.signal)),
      ]);
    } catch (error) {
      throw explain(error, "engine_unreachable");
    } finally {
      settled.abort();
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

type Waited = Promise<{ StatusCode: number }>;

/** Settles when the container's output has ended, or the engine has gone away. */
function deliver(stream: NodeJS.ReadableStream, output: SandboxOutput): Promise<void> {
  const attached = new AttachedOutput(output);
  stream.on("data", (chunk: Buffer) => attached.push(chunk));
  return new Promise((resolve) => {
    stream.on("end", resolve);
    stream.on("close", resolve);
    stream.on("error", () => resolve());
  });
}

function statusOf(error: unknown): number | undefined {
  return error instanceof Error && "statusCode" in error ? Number(error.statusCode) : undefined;
}

function explain(error: unknown, otherwise: "engine_unreachable" | "start_failed"): SandboxError {
  if (error instanceof SandboxError) return error;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const message = (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, " ");
  if (code === "ENOENT" || code === "ECONNREFUSED") {
    const advice = "start it, or install Docker and gVisor as README.md says";
    return new SandboxError("engine_unreachable", `no Docker engine answers (${message}); ${advice}`, {
      cause: error,
    });
  }
  if (code === "EACCES") {
    const advice = "add your user to the group that owns it, usually `docker`";
    return new SandboxError(
      "engine_unreachable",
      `the Docker socket refuses this user (${message}); ${advice}`,
      {
        cause: error,
      },
    );
  }
  if (/runtime/i.test(message) && statusOf(error) === 400) {
    const advice = "install gVisor and register it as README.md says";
    return new SandboxError(
      "runtime_missing",
      `Docker does not know the sandbox runtime (${message}); ${advice}`,
      {
        cause: error,
      },
    );
  }
  return new SandboxError(otherwise, `Docker: ${message}`, { cause: error });
}
