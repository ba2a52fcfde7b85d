import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { SOCKET_FILE_NAME } from "../../../protocol/runners.ts";
import type { ContainerRequest } from "../../../sandbox/docker/container-profile.ts";
import type { ContainerEngine, StartedContainer } from "../../../sandbox/docker/docker-engine.ts";
import type { SandboxExit, SandboxOutput } from "../../../sandbox/sandbox.ts";
import { SandboxError } from "../../../sandbox/sandbox-error.ts";

/** The runner of a fake container: it connects to the broker's socket and says `hello from <id>`. */
export class FakeContainer implements StartedContainer {
  readonly id: string;
  readonly exited: Promise<SandboxExit>;
  readonly output: SandboxOutput;
  readonly stdin = new PassThrough().resume();
  /** What the engine was told to run. */
  command: readonly string[] = [];
  socket: Socket | undefined;
  ended = false;
  #settle: (exit: SandboxExit) => void = () => {};
  #onEnd: () => void;

  constructor(id: string, output: SandboxOutput, onEnd: () => void) {
    this.id = id;
    this.output = output;
    this.#onEnd = onEnd;
    this.exited = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  async boot(request: ContainerRequest, greets: boolean): Promise<void> {
    this.command = request.Cmd;
    const [mount] = request.HostConfig.Mounts;
    const socket = connect(join(mount?.Source ?? "", SOCKET_FILE_NAME));
    this.socket = socket;
    socket.on("error", () => {});
    socket.on("close", () => this.end(1));
    await once(socket, "connect");
    if (greets) socket.write(`hello from ${this.id}`);
  }

  end(code: number): void {
    if (this.ended) return;
    this.ended = true;
    this.socket?.destroy();
    this.#onEnd();
    this.#settle({ code });
  }

  /** Exits, though something still holds its socket. */
  exitAndStayConnected(code: number): void {
    this.#settle({ code });
  }

  pause(): void {}
  clear(): void {}
  resume(): void {}
  /** A runner without a host ends by itself. */
  leave(): void {}
  kill = async (): Promise<void> => this.end(137);
  removed = async (): Promise<void> => void (await this.exited);
}

/** A container engine in memory, whose containers really connect. */
export class FakeEngine implements ContainerEngine {
  image = "sha256:first";
  down = false;
  /** Whether runners speak once they are connected. */
  greets = true;
  readonly live = new Map<string, FakeContainer>();
  started = 0;
  attempts = 0;
  looks = 0;
  starting = 0;
  mostStarting = 0;
  #held: (() => void)[] | undefined;

  /** From now on starts wait until they are let go. */
  hold(): void {
    this.#held ??= [];
  }

  /** Lets starts go on that wait: all of them, or only the first or the last. */
  release(which: "first" | "last" | "all"): void {
    const go = which === "all" ? this.#held?.splice(0) : this.#held?.splice(which === "first" ? 0 : -1, 1);
    if (which === "all") this.#held = undefined;
    for (const each of go ?? []) each();
  }

  describe = async () => ({
    version: "fake",
    identity: "fake",
    host: "unix:///here",
    source: "a test",
    machine: { name: "here", kernel: "1", operatingSystem: "a test" },
    processors: 1,
    runtimes: {},
  });
  listLabelled = async () => [];
  keepsOutput = async () => false;
  findSentry = async () => undefined;
  remove = async () => {};

  async findImage() {
    this.looks++;
    this.#refuse();
    return { digest: this.image, labels: {} };
  }

  async start(request: ContainerRequest, output: SandboxOutput): Promise<StartedContainer> {
    this.attempts++;
    this.starting++;
    this.mostStarting = Math.max(this.mostStarting, this.starting);
    try {
      const held = this.#held;
      if (held !== undefined) await new Promise<void>((resolve) => held.push(resolve));
      this.#refuse();
      const id = `container-${++this.started}`;
      const container = new FakeContainer(id, output, () => this.live.delete(id));
      this.live.set(id, container);
      void container.boot(request, this.greets);
      return container;
    } finally {
      this.starting--;
    }
  }

  #refuse(): void {
    if (this.down) throw new SandboxError("engine_unreachable", "no engine answers");
  }
}
