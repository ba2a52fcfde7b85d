import { createHash, timingSafeEqual } from "node:crypto";
import { chmodSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { version } from "../../system/package.ts";
import type { SharedHost, Surroundings } from "../surroundings.ts";
import { findDifference, type HostIdentity, identify, isReplaceable } from "./host-identity.ts";
import { ALIVE_MS, type CallerHello, type HostStatus, receiveMessages } from "./host-messages.ts";
import { parseCallerMessage } from "./parse-caller-message.ts";
import { RemoteCaller } from "./remote-caller.ts";

/** How long a caller may take to say what it wants. */
const HELLO_PATIENCE_MS = 10_000;
export interface ListenerOptions {
  /** A path in a private folder, where nothing is yet. */
  socket: string;
  token: string;
  identity: HostIdentity;
  host: SharedHost["host"];
  /** Runs one command, and resolves with its exit code. */
  runCommand: (surroundings: Surroundings) => Promise<number>;
  idleMs: number;
  /** Whether something of the host is to stay although no command runs. Never rejects. */
  isNeeded: () => Promise<boolean>;
  /** Is called when no command ran for `idleMs`, or when another host is to take this one's place. */
  onRetire: (why: string) => void;
}

/** Takes callers of a background host, and runs their commands. */
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

  /** Hands a failure that belongs to no run to those whose commands run. */
  warn(message: string): void {
    for (const listener of this.#warningListeners) listener(message);
  }

  /** Takes no more callers. Resolves when the commands that run have ended. */
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
        // This process is on no terminal, and cannot open its caller's.
        if (configuration.approvals.require === "terminal") {
          refuse("has no terminal to approve calls at", false);
          throw new Error("the command is left to its caller");
        }
        const difference = findDifference(this.#options.identity, identify(hello, configuration, hello.env));
        if (difference === undefined) return;
        refuse(`was started with ${difference}`, isReplaceable(difference, Date.now() - this.#startedAt));
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
