import { createHash, randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { Duplex, type Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  GUARD_COMMANDS,
  GUARD_FRAMES,
  GUARD_HEADER_BYTES,
  GUARD_PIECE_BYTES,
  GUARD_WINDOW_BYTES,
} from "../../protocol/guard.ts";
import { MAX_CONNECTIONS } from "../../protocol/limits.ts";
import {
  type RunnerStarts,
  SOCKET_FILE_NAME,
  STDERR_FILE_NAME,
  STDOUT_FILE_NAME,
} from "../../protocol/runners.ts";
import type { SandboxOutput } from "../sandbox.ts";
import type {
  ChannelKind,
  ChannelPreference,
  EngineDescription,
  EngineOptions,
  SandboxEngine,
  SandboxRequest,
  StartedSandbox,
} from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import { chooseChannel } from "./channel/choose-channel.ts";
import { socketFlagProblem } from "./channel/runtime-flags.ts";
import type { ContainerEngine } from "./container-engine.ts";
import { buildContainerRequest } from "./container-profile.ts";
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
  readonly #runners: RunnerStarts;
  readonly #sockets: SocketFolder;
  #preference: ChannelPreference;
  /** By runtime. */
  readonly #channels = new Map<string, Promise<ChannelKind>>();

  constructor(containers: ContainerEngine, { folder, runners, channel = "auto" }: EngineOptions) {
    this.#containers = containers;
    this.#runners = runners;
    this.#sockets = new SocketFolder(folder);
    this.#preference = channel;
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
      profile: profileDigest(this.#runners, [host, preference]),
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
        buildContainerRequest({
          image,
          runtime,
          start: this.#runners[runner],
          limits,
          socketDirectory,
          labels,
        }),
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
      buildContainerRequest({ image, runtime, start: this.#runners[runner], limits, labels }),
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

/**
 * Digest of the container's profile without image, runtime and limits. Another profile may have other walls.
 *
 * @param more what else decides on how a sandbox is isolated.
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

/**
 * The folder on the host that holds what is mounted into sandboxes.
 *
 *     <folder>/<random>/broker.sock  one folder per sandbox
 */
export class SocketFolder {
  readonly #path: string;

  /** @param path an existing folder that other users of the host cannot enter. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Makes the folder that is mounted into one sandbox. */
  makeSocketDirectory(): string {
    const path = join(this.#path, randomBytes(6).toString("hex"));
    mkdirSync(path);
    // The sandbox's user must be able to reach the socket. The parent folder keeps other users of the host out.
    chmodSync(path, 0o755);
    return path;
  }
}

/**
 * The host's ends of the sockets that are a runner's stdout and stderr (runner-image/guard.pl). What is written there comes
 * without the engine's copies of a container's output, which take milliseconds.
 */
export class OutputSockets {
  readonly #listeners: readonly SocketListener[];
  /** Settles for each socket that was connected, when its last byte has been passed on. */
  readonly #delivered: Promise<void>[] = [];

  private constructor(listeners: readonly [SocketListener, SocketListener], output: SandboxOutput) {
    this.#listeners = listeners;
    const [stdout, stderr] = listeners;
    this.#deliver(stdout, (chunk) => output.onStdout(chunk));
    this.#deliver(stderr, (chunk) => output.onStderr(chunk));
  }

  /** @param directory the folder that is mounted into the sandbox. */
  static async listen(directory: string, output: SandboxOutput): Promise<OutputSockets> {
    const stdout = await SocketListener.listen(directory, STDOUT_FILE_NAME);
    try {
      return new OutputSockets([stdout, await SocketListener.listen(directory, STDERR_FILE_NAME)], output);
    } catch (error) {
      stdout.close();
      throw error;
    }
  }

  /** The sandbox has ended: resolves when all that it wrote has been passed on. */
  async ended(): Promise<void> {
    // A connection that is made already is reported in the next turn.
    await nextTurn();
    this.close();
    await Promise.all(this.#delivered);
  }

  /** Takes no further connection. */
  close(): void {
    for (const listener of this.#listeners) listener.close();
  }

  #deliver({ connection }: SocketListener, pass: (chunk: Buffer) => void): void {
    void connection.then((socket) => {
      socket.on("data", pass);
      this.#delivered.push(new Promise((resolve) => socket.once("close", () => resolve())));
    });
  }
}

/** The host's end of one of a sandbox's sockets. It accepts a single connection and then stops listening. */
export class SocketListener {
  readonly connection: Promise<Socket>;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.connection = new Promise((resolve) => {
      server.once("connection", (socket) => {
        server.close();
        // An error before anyone reads must not end the process. The reader learns of the end from `close`.
        socket.on("error", () => {});
        resolve(socket);
      });
    });
  }

  /** @param directory a folder that only this user and the sandbox can enter. */
  static async listen(directory: string, name: string): Promise<SocketListener> {
    const path = join(directory, name);
    const server = createServer();
    server.maxConnections = MAX_CONNECTIONS;
    const listener = new SocketListener(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    chmodSync(path, 0o666);
    return listener;
  }

  close(): void {
    this.#server.close();
  }
}

const NOTHING = Buffer.alloc(0);

/**
 * The host's end of a sandbox whose guard relays (runner-image/guard.pl): takes the container's stdout apart into the
 * program's channel, stdout and stderr, and writes the channel and commands to the container's stdin. Payloads are passed on as
 * they come, and of the channel no more is held than was granted. Whatever breaks that closes the channel.
 */
export class AttachedChannel implements SandboxOutput {
  /** Resolves with the channel when the runner has sent something on it. */
  readonly connected: Promise<Duplex>;
  readonly #output: SandboxOutput;
  readonly #duplex: Duplex;
  readonly #answers = new GuardAnswers();
  readonly #header = Buffer.alloc(GUARD_HEADER_BYTES);
  #headerBytes = 0;
  #payloadBytes = 0;
  #isBroken = false;
  #stdin: Writable | undefined;
  /** Bytes of the channel that may be sent. */
  #granted = GUARD_WINDOW_BYTES;
  #waiting: { rest: Buffer; done: () => void } | undefined;
  /** Bytes of the channel that came and for which nothing was granted yet. */
  #received = 0;
  #isReading = true;
  #settleConnected: (channel: Duplex) => void = () => {};

  /** @param output receives what the program writes to its stdout and stderr. */
  constructor(output: SandboxOutput) {
    this.#output = output;
    this.connected = new Promise((resolve) => {
      this.#settleConnected = resolve;
    });
    this.#duplex = new Duplex({
      allowHalfOpen: false,
      read: () => {
        this.#isReading = true;
        this.#grant();
      },
      write: (chunk: Buffer, _encoding, done) => {
        this.#waiting = { rest: chunk, done };
        this.#sendWaiting();
      },
    });
    // An error before anyone reads must not end the process. The reader learns of the end from `close`.
    this.#duplex.on("error", () => {});
  }

  /** Says where to write. Nothing is written before. */
  open(stdin: Writable): void {
    this.#stdin = stdin;
    this.#sendWaiting();
  }

  pause(): void {
    this.#send(GUARD_COMMANDS.pause, 0);
  }

  clear(): Promise<void> {
    const cleared = this.#answers.next();
    this.#send(GUARD_COMMANDS.clear, 0);
    return cleared;
  }

  resume(): void {
    this.#send(GUARD_COMMANDS.resume, 0);
  }

  /** The sandbox has ended: nothing more comes. */
  end(): void {
    if (!this.#duplex.readableEnded && !this.#duplex.destroyed) this.#duplex.push(null);
  }

  onStdout(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0 && !this.#isBroken) {
      rest = rest.subarray(this.#payloadBytes > 0 ? this.#takePayload(rest) : this.#takeHeader(rest));
    }
  }

  /** What comes here was written by the guard itself, or by what stands in its place. */
  onStderr(chunk: Buffer): void {
    this.#output.onStderr(chunk);
  }

  #takeHeader(bytes: Buffer): number {
    const taken = bytes.copy(this.#header, this.#headerBytes);
    this.#headerBytes += taken;
    if (this.#headerBytes === GUARD_HEADER_BYTES) {
      this.#headerBytes = 0;
      this.#startFrame(this.#header.readUInt32BE(1));
    }
    return taken;
  }

  #startFrame(number: number): void {
    switch (this.#letter) {
      case GUARD_FRAMES.data:
      case GUARD_FRAMES.stdout:
      case GUARD_FRAMES.stderr:
        this.#payloadBytes = number;
        return;
      case GUARD_FRAMES.grant:
        this.#granted = Math.min(this.#granted + number, GUARD_WINDOW_BYTES);
        this.#sendWaiting();
        return;
      case GUARD_FRAMES.end:
        this.end();
        return;
      case GUARD_FRAMES.cleared:
        this.#answers.come();
        return;
      default:
        this.#break();
    }
  }

  #takePayload(bytes: Buffer): number {
    const payload = bytes.subarray(0, this.#payloadBytes);
    this.#payloadBytes -= payload.length;
    if (this.#letter === GUARD_FRAMES.stdout) this.#output.onStdout(payload);
    else if (this.#letter === GUARD_FRAMES.stderr) this.#output.onStderr(payload);
    else this.#receive(payload);
    return payload.length;
  }

  get #letter(): string {
    return String.fromCharCode(this.#header[0] as number);
  }

  #receive(payload: Buffer): void {
    this.#received += payload.length;
    if (this.#received > GUARD_WINDOW_BYTES) {
      this.#break();
      return;
    }
    if (this.#duplex.destroyed || this.#duplex.readableEnded) return;
    this.#settleConnected(this.#duplex);
    this.#isReading = this.#duplex.push(payload);
    this.#grant();
  }

  #grant(): void {
    if (!this.#isReading || this.#received < GUARD_WINDOW_BYTES / 4) return;
    this.#send(GUARD_FRAMES.grant, this.#received);
    this.#received = 0;
  }

  #break(): void {
    this.#isBroken = true;
    this.#duplex.destroy();
  }

  #sendWaiting(): void {
    while (this.#waiting !== undefined && this.#granted > 0 && this.#stdin !== undefined) {
      const { rest, done } = this.#waiting;
      const piece = rest.subarray(0, Math.min(this.#granted, GUARD_PIECE_BYTES));
      this.#granted -= piece.length;
      this.#send(GUARD_FRAMES.data, piece.length, piece);
      this.#waiting = piece.length === rest.length ? undefined : { rest: rest.subarray(piece.length), done };
      if (this.#waiting === undefined) done();
    }
  }

  #send(letter: string, number: number, payload: Buffer = NOTHING): void {
    if (this.#stdin?.writable !== true) return;
    const frame = Buffer.allocUnsafe(GUARD_HEADER_BYTES + payload.length);
    frame.write(letter, 0, "latin1");
    frame.writeUInt32BE(number, 1);
    payload.copy(frame, GUARD_HEADER_BYTES);
    this.#stdin.write(frame);
  }
}

/** What waits for the guard of a sandbox to say that it has done what it was told. */
class GuardAnswers {
  readonly #waiting: (() => void)[] = [];

  /** Whether something waits. */
  get isAwaited(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves with the answer to what is told to the guard now; never for a guard that has ended. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The guard has answered. */
  come(): void {
    this.#waiting.shift()?.();
  }
}
