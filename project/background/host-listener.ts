import { createHash, timingSafeEqual } from "node:crypto";
import { chmodSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { Readable, Writable } from "node:stream";
import { listUpTo, visibleLine } from "../../base/visible-text.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { version } from "../../system/package.ts";
import type { SharedHost, SIGNALS, Surroundings } from "../surroundings.ts";
import { type CallerHello, type CallerMessage, parseCallerMessage } from "./caller-messages.ts";
import { findDifference, type HostIdentity, identify, isReplaceable } from "./host-identity.ts";
import {
  ALIVE_MS,
  type HostStatus,
  type MessageToCaller,
  receiveMessages,
  sendMessage,
} from "./host-messages.ts";

/** How long a caller may take to send its hello. */
const HELLO_PATIENCE_MS = 10_000;
const MAX_NAMES_CHARS = 120;

export interface ListenerOptions {
  /** A free path in a private folder. */
  socket: string;
  token: string;
  identity: HostIdentity;
  /** The names of the variables by which the host's environment differs from a caller's. */
  differingVariables: (caller: EnvironmentVariables) => string[];
  host: SharedHost["host"];
  /** Runs one command, and resolves with its exit code. */
  runCommand: (surroundings: Surroundings) => Promise<number>;
  idleMs: number;
  /** Whether the host must stay although no command runs. Never rejects. */
  isNeeded: () => Promise<boolean>;
  /** Called when no command ran for `idleMs`, or when another host must replace this one. */
  onRetire: (why: string) => void;
}

/** Accepts callers of a background host, and runs their commands. */
export class HostListener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  readonly #startedAt = Date.now();
  readonly #warningListeners = new Set<(message: string) => void>();
  readonly #running = new Set<Promise<unknown>>();
  #served = 0;
  #idle: NodeJS.Timeout | undefined;
  #isRetired = false;

  private constructor(options: ListenerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#take(socket));
    this.#awaitIdle();
  }

  /** Resolves when callers can connect. */
  static async open(options: ListenerOptions): Promise<HostListener> {
    const listener = new HostListener(options);
    await new Promise<void>((resolve, reject) => {
      listener.#server.once("error", reject);
      listener.#server.listen(options.socket, resolve);
    });
    chmodSync(options.socket, 0o600);
    return listener;
  }

  /** Reports a failure that belongs to no run to all running commands. */
  warn(message: string): void {
    for (const listener of this.#warningListeners) listener(message);
  }

  /** Accepts no more callers. Resolves when the running commands have ended. */
  async close(): Promise<void> {
    this.#isRetired = true;
    clearTimeout(this.#idle);
    this.#server.close();
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  #awaitIdle(): void {
    clearTimeout(this.#idle);
    const look = async () => {
      const isNeeded = await this.#options.isNeeded();
      if (this.#running.size > 0) return;
      if (isNeeded) this.#awaitIdle();
      else this.#retire("idle");
    };
    this.#idle = setTimeout(() => void look(), this.#options.idleMs);
  }

  #retire(why: string): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#options.onRetire(why);
  }

  #take(socket: Socket): void {
    let caller: RemoteCaller | undefined;
    const silent = setTimeout(() => socket.destroy(), HELLO_PATIENCE_MS);
    socket.on("error", () => {});
    socket.once("close", () => {
      clearTimeout(silent);
      caller?.leave();
    });
    receiveMessages(socket, (received) => {
      const message = parseCallerMessage(received);
      if (message === undefined) socket.destroy();
      else if (message.kind !== "hello") caller?.receive(message);
      else if (caller === undefined && isToken(message.token, this.#options.token)) {
        clearTimeout(silent);
        caller = this.#welcome(socket, message);
      } else socket.destroy();
    });
  }

  #welcome(socket: Socket, hello: CallerHello): RemoteCaller {
    const caller = new RemoteCaller(socket, hello);
    void caller.send({ kind: "welcome" });
    if (hello.wants === "command") {
      const running = this.#run(socket, caller, hello).finally(() => {
        this.#running.delete(running);
        this.#served++;
        if (this.#running.size === 0 && !this.#isRetired) this.#awaitIdle();
      });
      clearTimeout(this.#idle);
      this.#running.add(running);
    } else if (hello.wants === "status") {
      void caller.send({ kind: "status", status: this.#status() });
    } else {
      void caller.send({ kind: "stopping", running: this.#running.size });
      this.#retire("stopped");
    }
    return caller;
  }

  async #run(socket: Socket, caller: RemoteCaller, hello: CallerHello): Promise<void> {
    const refuse = (why: string, isReplaced: boolean) => {
      void caller.send({ kind: "refused", why: `the background host ${why}`, isReplaced });
      caller.mute();
      if (isReplaced) this.#retire(why);
    };
    if (this.#isRetired) return refuse("is ending", false);
    const alive = setInterval(() => void caller.send({ kind: "alive" }), ALIVE_MS);
    const heard = new Set<(message: string) => void>();
    const shared: SharedHost = {
      host: this.#options.host,
      accept: (configuration) => {
        // This process has no terminal, and cannot open its caller's.
        if (configuration.approvals.require === "terminal") {
          refuse("has no terminal to approve calls at", false);
          throw new Error("the command is left to its caller");
        }
        const difference = findDifference(this.#options.identity, identify(hello, configuration, hello.env));
        if (difference === undefined) return;
        const names = difference === "another environment" ? this.#options.differingVariables(hello.env) : [];
        const which =
          names.length === 0
            ? ""
            : ` (${listUpTo(names.map(visibleLine), MAX_NAMES_CHARS)} ${names.length === 1 ? "differs" : "differ"})`;
        refuse(
          `was started with ${difference}${which}`,
          isReplaceable(difference, Date.now() - this.#startedAt),
        );
        throw new Error("the command is left to its caller");
      },
      onCalling: (runId) => caller.send({ kind: "calling", runId }),
      onWarning: (listener) => {
        heard.add(listener);
        this.#warningListeners.add(listener);
      },
    };
    try {
      const code = await this.#options.runCommand({ ...caller.surroundings, shared });
      await caller.send({ kind: "exit", code });
    } finally {
      clearInterval(alive);
      for (const listener of heard) this.#warningListeners.delete(listener);
      socket.end();
    }
  }

  #status(): HostStatus {
    return {
      pid: process.pid,
      version,
      identity: this.#options.identity,
      started: new Date(this.#startedAt).toISOString(),
      idleMs: this.#options.idleMs,
      running: this.#running.size,
      served: this.#served,
    };
  }
}

function isToken(shown: string, token: string): boolean {
  const [a, b] = [shown, token].map((text) => createHash("sha256").update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}

type Signal = (typeof SIGNALS)[number];

/** The caller's process as a command needs it, over the connection. */
class RemoteCaller {
  readonly surroundings: Surroundings;
  readonly #socket: Socket;
  readonly #stdin: CallerInput;
  readonly #stdout: CallerOutput;
  readonly #stderr: CallerOutput;
  readonly #listeners = new Map<Signal, (() => void)[]>();
  readonly #files = new Map<number, { resolve: (bytes: Buffer) => void; reject: (error: Error) => void }>();
  #fileCount = 0;
  #isMuted = false;

  constructor(socket: Socket, { argv, env, cwd, stdin, stdout, stderr }: CallerHello) {
    this.#socket = socket;
    this.#stdin = new CallerInput((want) => this.send({ kind: "stdin", want }), stdin.isTTY);
    const output = (to: "stdout" | "stderr") => (bytes: Buffer) =>
      this.send({ kind: "out", to, bytes: bytes.toString("base64") });
    this.#stdout = new CallerOutput(output("stdout"), stdout);
    this.#stderr = new CallerOutput(output("stderr"), stderr);
    this.surroundings = {
      argv,
      env,
      stdin: this.#stdin,
      stdout: this.#stdout,
      stderr: this.#stderr,
      cwd: () => cwd,
      on: (signal, listener) => this.#listen(signal, listener),
      exit: () => {
        throw new Error("a command in a background host cannot end its process");
      },
      readFile: (path, maxBytes) => this.#readFile(path, maxBytes),
    };
  }

  /** Sends nothing more, because the caller has received the outcome. */
  mute(): void {
    this.#isMuted = true;
  }

  /** Resolves when the kernel has the message, or the caller is gone. Never rejects. */
  send(message: MessageToCaller): Promise<void> {
    return this.#isMuted ? Promise.resolve() : sendMessage(this.#socket, message);
  }

  receive(message: CallerMessage): void {
    if (message.kind === "signal") this.#raise(message.signal);
    else if (message.kind === "stdin")
      this.#stdin.give(message.bytes === null ? null : Buffer.from(message.bytes, "base64"));
    else if (message.kind === "resized") {
      this.#stdout.resize(message.stdout);
      this.#stderr.resize(message.stderr);
    } else if (message.kind === "file") {
      const waiting = this.#files.get(message.id);
      this.#files.delete(message.id);
      if (message.bytes !== undefined) waiting?.resolve(Buffer.from(message.bytes, "base64"));
      else waiting?.reject(Object.assign(new Error("cannot be read"), { code: message.code }));
    }
  }

  /** Ends the command as a signal would, because the caller's process is gone. */
  leave(): void {
    for (const { reject } of this.#files.values())
      reject(Object.assign(new Error("the caller is gone"), { code: "EPIPE" }));
    this.#raise("SIGHUP");
    this.#stdin.destroy(new Error("the caller is gone"));
  }

  #raise(signal: Signal): void {
    for (const listener of this.#listeners.get(signal) ?? []) listener();
  }

  #listen(signal: Signal, listener: () => void): void {
    const listeners = this.#listeners.get(signal);
    if (listeners === undefined) void this.send({ kind: "listen", signal });
    this.#listeners.set(signal, [...(listeners ?? []), listener]);
  }

  #readFile(path: string, maxBytes: number): Promise<Buffer> {
    const id = ++this.#fileCount;
    return new Promise((resolve, reject) => {
      this.#files.set(id, { resolve, reject });
      if (this.#socket.destroyed) reject(Object.assign(new Error("the caller is gone"), { code: "EPIPE" }));
      else void this.send({ kind: "file", id, path, maxBytes });
    });
  }
}

type Wanted = (MessageToCaller & { kind: "stdin" })["want"];

/** The caller's stdin. It is read only while a command wants it. */
class CallerInput extends Readable {
  readonly isTTY: boolean;
  readonly #want: (want: Wanted) => void;
  #isHeld = false;

  constructor(want: (want: Wanted) => void, isTTY: boolean) {
    super();
    this.isTTY = isTTY;
    this.#want = want;
    // Readers also learn otherwise that the caller is gone, and some do not listen for errors.
    this.on("error", () => {});
  }

  setRawMode(isRaw: boolean): this {
    this.#want(isRaw ? "raw" : "cooked");
    return this;
  }

  override _read(): void {
    // Even a paused stream fills its buffer, but text typed meanwhile belongs to other readers.
    if (!this.#isHeld) this.#want("flow");
  }

  override pause(): this {
    this.#isHeld = true;
    this.#want("pause");
    return super.pause();
  }

  override resume(): this {
    this.#isHeld = false;
    this.#want("flow");
    return super.resume();
  }

  give(bytes: Buffer | null): void {
    if (!this.readableEnded && !this.destroyed) this.push(bytes);
  }
}

/** The caller's stdout or stderr. Like a pipe, it blocks the writer while the caller does not read. */
class CallerOutput extends Writable {
  readonly isTTY: boolean;
  columns: number | undefined;
  readonly #send: (bytes: Buffer) => Promise<void>;

  constructor(send: (bytes: Buffer) => Promise<void>, { isTTY, columns }: CallerHello["stdout"]) {
    super();
    this.#send = send;
    this.isTTY = isTTY;
    this.columns = columns;
  }

  resize(columns: number): void {
    if (!this.isTTY || columns === 0) return;
    this.columns = columns;
    this.emit("resize");
  }

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    void this.#send(bytes).then(() => done());
  }
}
