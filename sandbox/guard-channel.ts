/**
 * The host's ends of the connections of a sandbox's guard (runner-image/guard.pl): three sockets in a folder that is mounted into
 * the sandbox, five for a server, or frames over the guard's own stdin and stdout, with the channel inside the frames or separate. Every engine whose
 * image has the guard uses these.
 */

import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { Duplex, type Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  GUARD_COMMANDS,
  GUARD_FRAMES,
  GUARD_PIECE_BYTES,
  GUARD_WINDOW_BYTES,
  GuardFrameReader,
  guardFrame,
} from "../protocol/guard.ts";
import { MAX_CONNECTIONS } from "../protocol/limits.ts";
import { SERVER_STDIO_FILE_NAMES, STDERR_FILE_NAME, STDOUT_FILE_NAME } from "../protocol/runners.ts";
import type { SandboxOutput, ServerStdio } from "./sandbox.ts";

const GUARD_ANSWER = GUARD_COMMANDS.clear.charCodeAt(0);

/**
 * The folder on the host that contains everything that is mounted into sandboxes.
 *
 *     <folder>/<random>/broker.sock  one folder per sandbox
 */
export class SocketFolder {
  readonly #path: string;

  /** @param path an existing folder that other users of the host cannot enter. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Creates the folder that is mounted into one sandbox. */
  makeSocketDirectory(): string {
    const path = join(this.#path, randomBytes(6).toString("hex"));
    mkdirSync(path);
    // The sandbox's user must be able to reach the socket. The parent folder keeps other users of the host out.
    chmodSync(path, 0o755);
    return path;
  }
}

/**
 * The host's ends of the sockets that are a runner's stdout and stderr (runner-image/guard.pl). They avoid the engine's copying of a
 * container's output, which takes milliseconds.
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

  /** The sandbox has ended: resolves when all of its output has been passed on. */
  async ended(): Promise<void> {
    // An existing connection is reported in the next turn.
    await nextTurn();
    this.close();
    await Promise.all(this.#delivered);
  }

  /** Accepts no more connections. */
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

/** The host's ends of the sockets that are the stdin and stdout of a server. */
export class StdioSockets {
  readonly connected: Promise<ServerStdio>;
  readonly #listeners: readonly SocketListener[];

  private constructor(stdin: SocketListener, stdout: SocketListener) {
    this.#listeners = [stdin, stdout];
    this.connected = Promise.all([stdin.connection, stdout.connection]).then(([stdin, stdout]) => ({
      stdin,
      stdout,
    }));
  }

  /** @param directory the folder that is mounted into the sandbox. */
  static async listen(directory: string): Promise<StdioSockets> {
    const [forStdin, forStdout] = SERVER_STDIO_FILE_NAMES;
    const stdin = await SocketListener.listen(directory, forStdin);
    try {
      return new StdioSockets(stdin, await SocketListener.listen(directory, forStdout));
    } catch (error) {
      stdin.close();
      throw error;
    }
  }

  /** Accepts no more connections, and ends those that there are. */
  close(): void {
    for (const listener of this.#listeners) {
      listener.close();
      void listener.connection.then((socket) => socket.destroy());
    }
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
        // An error before anything reads must not end the process. The reader notices the end by `close`.
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

/**
 * The host's end of a guard's frames (runner-image/guard.pl): passes on the program's stdout and stderr, and sends commands to the
 * guard. Anything that is not a frame ends it.
 */
export class FramedGuard implements SandboxOutput {
  readonly #output: SandboxOutput;
  readonly #answers = new GuardAnswers();
  readonly #frames = new GuardFrameReader({
    onMark: (letter, number) => {
      if (letter === GUARD_FRAMES.cleared) this.#answers.come();
      else if (!this.receiveMark(letter, number)) this.break();
    },
    onPayload: (letter, payload) => {
      if (letter === GUARD_FRAMES.stdout) this.#output.onStdout(payload);
      else if (letter === GUARD_FRAMES.stderr) this.#output.onStderr(payload);
      else this.receive(payload);
    },
  });
  #stdin: Writable | undefined;

  /** @param output receives the program's stdout and stderr. */
  constructor(output: SandboxOutput) {
    this.#output = output;
  }

  /** Sets the stream for commands. Nothing is written before. */
  open(stdin: Writable): void {
    this.#stdin = stdin;
  }

  pause(): void {
    this.say(GUARD_COMMANDS.pause);
  }

  clear(): Promise<void> {
    const cleared = this.#answers.next();
    this.say(GUARD_COMMANDS.clear);
    return cleared;
  }

  resume(): void {
    this.say(GUARD_COMMANDS.resume);
  }

  /** @param command one of `GUARD_COMMANDS`. */
  say(command: string): void {
    this.send(command, 0);
  }

  onStdout(chunk: Buffer): void {
    this.#frames.read(chunk);
  }

  /** Receives output of the guard itself, or of something in its place. */
  onStderr(chunk: Buffer): void {
    this.#output.onStderr(chunk);
  }

  /** Takes a piece of the channel. There are none if the runner has the channel itself. */
  protected receive(_payload: Buffer): void {
    this.break();
  }

  /** Takes a channel frame without a payload. @returns whether it is one. */
  protected receiveMark(_letter: string, _number: number): boolean {
    return false;
  }

  /** Accepts no more frames. */
  protected break(): void {
    this.#frames.stop();
  }

  protected get isOpen(): boolean {
    return this.#stdin !== undefined;
  }

  protected send(letter: string, number: number, payload?: Buffer): void {
    if (this.#stdin?.writable === true) this.#stdin.write(guardFrame(letter, number, payload));
  }
}

/**
 * The host's end of a sandbox whose guard also relays the channel, over the container's stdin and stdout. Payloads are passed on as
 * they arrive, and at most the granted amount of the channel is buffered. A violation closes the channel.
 */
export class AttachedChannel extends FramedGuard {
  readonly #connected = Promise.withResolvers<Duplex>();
  readonly #duplex: Duplex;
  /** The number of channel bytes that may be sent. */
  #granted = GUARD_WINDOW_BYTES;
  #waiting: { rest: Buffer; done: () => void } | undefined;
  /** The number of received channel bytes for which no grant was sent yet. */
  #received = 0;
  #isReading = true;

  constructor(output: SandboxOutput) {
    super(output);
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
    // An error before anything reads must not end the process. The reader notices the end by `close`.
    this.#duplex.on("error", () => {});
  }

  /** Resolves with the channel when the runner has sent something on it. */
  get connected(): Promise<Duplex> {
    return this.#connected.promise;
  }

  override open(stdin: Writable): void {
    super.open(stdin);
    this.#sendWaiting();
  }

  /** The sandbox has ended: no more data arrives. */
  end(): void {
    if (!this.#duplex.readableEnded && !this.#duplex.destroyed) this.#duplex.push(null);
  }

  protected override receiveMark(letter: string, number: number): boolean {
    if (letter === GUARD_FRAMES.grant) {
      this.#granted = Math.min(this.#granted + number, GUARD_WINDOW_BYTES);
      this.#sendWaiting();
      return true;
    }
    if (letter !== GUARD_FRAMES.end) return false;
    this.end();
    return true;
  }

  protected override receive(payload: Buffer): void {
    this.#received += payload.length;
    if (this.#received > GUARD_WINDOW_BYTES) {
      this.break();
      return;
    }
    if (this.#duplex.destroyed || this.#duplex.readableEnded) return;
    this.#connected.resolve(this.#duplex);
    this.#isReading = this.#duplex.push(payload);
    this.#grant();
  }

  protected override break(): void {
    super.break();
    this.#duplex.destroy();
  }

  #grant(): void {
    if (!this.#isReading || this.#received < GUARD_WINDOW_BYTES / 4) return;
    this.send(GUARD_FRAMES.grant, this.#received);
    this.#received = 0;
  }

  #sendWaiting(): void {
    while (this.#waiting !== undefined && this.#granted > 0 && this.isOpen) {
      const { rest, done } = this.#waiting;
      const piece = rest.subarray(0, Math.min(this.#granted, GUARD_PIECE_BYTES));
      this.#granted -= piece.length;
      this.send(GUARD_FRAMES.data, piece.length, piece);
      this.#waiting = piece.length === rest.length ? undefined : { rest: rest.subarray(piece.length), done };
      if (this.#waiting === undefined) done();
    }
  }
}

/** Waits for a guard's answers, in the order of the commands. */
export class GuardAnswers {
  readonly #waiting: (() => void)[] = [];

  /** Whether an answer is awaited. */
  get isAwaited(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves with the guard's answer to the next command; never if the guard has ended. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The guard has answered. */
  come(): void {
    this.#waiting.shift()?.();
  }
}

/** Extracts the guard's answers from the container's own output, if the program's output has separate sockets. */
export function besideGuard(output: SandboxOutput, answers: GuardAnswers): SandboxOutput {
  return {
    onStdout(chunk) {
      if (!answers.isAwaited || chunk.some((byte) => byte !== GUARD_ANSWER)) output.onStdout(chunk);
      else for (const _ of chunk) answers.come();
    },
    onStderr: (chunk) => output.onStderr(chunk),
  };
}
