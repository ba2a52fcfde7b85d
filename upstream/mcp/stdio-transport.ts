import type { Readable, Writable } from "node:stream";
import { inTurns, isLight, writeSteps } from "../../base/in-turns.ts";
import { writeJson } from "../../base/json.ts";
import { LineSplitter, type OversizeLine, writeTogether } from "../../base/streams.ts";
import { settlesWithin } from "../../base/waiting.ts";
import { inheritedEnvironment } from "../../secrets/inherited-environment.ts";
import {
  isInstalling,
  letFinish,
  noteActivity,
  noteStarted,
  signalGroup,
  spawnGroup,
  watchProcessorTime,
} from "../../system/process-group.ts";
import type { LaunchServer, ServerProcess } from "./launch-server.ts";
import { type Admission, type JsonRpcMessage, pauseAfter } from "./message-gate.ts";
import type { MessageTransport } from "./server-session.ts";

export interface StdioClientTransportOptions {
  command: string;
  args: readonly string[];
  /** Environment variables in addition to the few that every program needs. */
  env: Readonly<Record<string, string>>;
  /** Environment variables unless there are others of the same names. */
  defaults?: Readonly<Record<string, string>> | undefined;
  cwd: string;
  /** Starts it; by default as a process of this machine. */
  launch?: LaunchServer | undefined;
  maxMessageBytes: number;
  /** Decides which parts of a message's text are read. */
  admit: (text: string) => Admission;
  /** Called once, with the beginning of the first line of output that is no message. */
  onGarbage?: ((first: string) => void) | undefined;
  /** Called for a message that is too large to read. */
  onOversize: (line: OversizeLine) => void;
  /** How long the server may take to end after its stdin is closed, and again after SIGTERM. */
  graceMs?: number;
  /** Receive the server's process group, so that a later ptc can end it if this one is killed. */
  onSpawn?: ((pid: number) => void) | undefined;
  onExit?: ((pid: number) => void) | undefined;
  /** Receives the process group once the server has sent something; until then it may be installing itself. */
  onStarted?: ((pid: number) => void) | undefined;
}

/** What is known about a server besides its messages. */
export interface StdioDiagnosis {
  spawnError: Error | undefined;
  /** Set if the server ended on its own. */
  exit: { code: number | null; signal: NodeJS.Signals | null } | undefined;
  /** Whether it was ended because a message exceeded all bounds. */
  overflowed: boolean;
  /** Whether it was ended because it did not read its input. */
  deaf: boolean;
  /** The first line of output that was not a message. */
  firstGarbage: string | undefined;
  /** The end of what it wrote to stderr. */
  stderrTail: string;
}

/** Enough for a long trace, below which Go and Java print nothing of the cause. */
const STDERR_TAIL_BYTES = 16_384;
const DEFAULT_GRACE_MS = 500;
/** How long to wait for output that is already written. The wait is bounded because another process may hold the pipe open. */
const DRAIN_MS = 200;
/** How long a server may run after it has closed its output. */
const MUTE_MS = 1_000;
/** A server that leaves more than this unread is ended. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** The maximum size of one chunk from a pipe. A full chunk is followed by another. */
const FULL_PIECE_BYTES = 64 * 1024;
const STDERR_PAUSE_MS = 5;

/**
 * Communicates with a server over its standard streams, one JSON message per line (MCP 2025-11-25, "stdio"). The server runs without
 * a shell in its own process group, with a minimal environment. `close` ends it together with its children, except that a server
 * that is still installing itself is left to finish.
 */
export class StdioClientTransport implements MessageTransport {
  readonly writesBigIntegers = true;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onclose?: (() => void) | undefined;

  readonly #options: StdioClientTransportOptions;
  readonly #splitter: LineSplitter;
  readonly #diagnosis: StdioDiagnosis = {
    spawnError: undefined,
    exit: undefined,
    overflowed: false,
    deaf: false,
    firstGarbage: undefined,
    stderrTail: "",
  };
  #child: ServerProcess | undefined;
  /** Aborts a launch that nobody waits for any more. */
  readonly #launching = new AbortController();
  #isLaunching = false;
  /** Settles when the process runs, or could not be started. */
  #launched: Promise<unknown> = Promise.resolve();
  #ended: Promise<void> = Promise.resolve();
  #hasSpoken = false;
  #wroteErrors = false;
  #usesProcessor: () => Promise<boolean> = async () => false;
  #closing: Promise<void> | undefined;
  /** Pending while a large message is made into a line, which what is sent later must not overtake. */
  #writing: Promise<unknown> | undefined;

  constructor(options: StdioClientTransportOptions) {
    this.#options = options;
    this.#splitter = new LineSplitter(options.maxMessageBytes);
  }

  get diagnosis(): Readonly<StdioDiagnosis> {
    return this.#diagnosis;
  }

  /** @throws the error of `spawn`, such as ENOENT. */
  async start(): Promise<void> {
    const { launch, onSpawn, command, args, env } = this.#options;
    try {
      this.#isLaunching = true;
      const launching =
        launch === undefined
          ? spawnServer(this.#options)
          : launch({ command, args, env }, this.#launching.signal);
      this.#launched = launching.then(
        (child) => {
          this.#child = child;
          this.#listen(child);
        },
        () => {},
      );
      await launching;
      await this.#launched;
    } catch (error) {
      this.#diagnosis.spawnError = error as Error;
      throw error;
    } finally {
      this.#isLaunching = false;
    }
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    this.#usesProcessor = watchProcessorTime(pid);
    await this.#usesProcessor();
    onSpawn?.(pid);
  }

  /** Whether the server has done anything since the last call: used processor time, or written to stderr. */
  async isAtWork(): Promise<boolean> {
    const wrote = this.#wroteErrors || this.#isLaunching;
    this.#wroteErrors = false;
    return (await this.#usesProcessor()) || wrote;
  }

  async send(message: JsonRpcMessage): Promise<void> {
    const stdin = this.#input();
    if (this.#writing === undefined && isLight(message)) return this.#write(stdin, writeJson(message));
    // It is wrapped, because the next message waits for the line to be made, and not for the server to read it.
    const begun = Promise.resolve(this.#writing).then(async () => {
      const json = await inTurns(writeSteps(message, writeJson));
      return { written: this.#write(this.#input(), json) };
    });
    const writing = begun.then(
      () => {},
      () => {},
    );
    this.#writing = writing;
    void writing.then(() => {
      if (this.#writing === writing) this.#writing = undefined;
    });
    await (await begun).written;
  }

  /** What the server reads. @throws where it reads no more. */
  #input(): Writable {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || !stdin.writable) throw new Error("the server's input is closed");
    if (stdin.writableLength > MAX_UNREAD_BYTES) {
      this.#diagnosis.deaf = true;
      this.#kill();
      throw new Error("the server does not read its input");
    }
    return stdin;
  }

  #write(stdin: Writable, json: string): Promise<void> {
    writeTogether(stdin);
    return new Promise<void>((resolve, reject) => {
      stdin.write(`${json}\n`, (error) => {
        // EPIPE means that the server is ending. That is reported with its diagnosis when it has ended.
        if (error && !("code" in error && error.code === "EPIPE")) reject(error);
        else resolve();
      });
    });
  }

  /** Resolves when the process group is gone, or left to finish an installation. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    this.#launching.abort();
    await this.#launched;
    const child = this.#child;
    if (child === undefined) return;
    const { pid } = child;
    const graceMs = this.#options.graceMs ?? DEFAULT_GRACE_MS;
    child.stdin.end();
    if (!this.#hasSpoken) await this.isAtWork();
    if (await settlesWithin(this.#ended, graceMs)) return;
    if (!this.#hasSpoken) await this.isAtWork();
    if (pid !== undefined && isInstalling(pid)) {
      letFinish(pid);
      return;
    }
    child.signal("SIGTERM");
    if (await settlesWithin(this.#ended, graceMs)) return;
    child.signal("SIGKILL");
    await this.#ended;
  }

  #listen(child: ServerProcess): void {
    child.stdin.on("error", (error) => this.onerror?.(error));
    child.stdout.on("error", (error) => this.onerror?.(error));
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    // A server that closes its output can send no more answers, although it may still run.
    child.stdout.once("close", () => void this.#endMute());
    child.stderr.on("error", () => {});
    child.stderr.on("data", (chunk: Buffer) => this.#keepStderr(chunk));
    this.#ended = child.ended.then(async (exit) => {
      if (this.#closing === undefined) this.#diagnosis.exit = exit;
      this.#tellExit(child.pid);
      await settlesWithin(child.drained, DRAIN_MS);
      child.stdout.destroy();
      child.stderr.destroy();
      // Whoever waits for the end goes on first.
      setImmediate(() => this.onclose?.());
    });
  }

  #tellExit(pid: number | undefined): void {
    try {
      if (pid !== undefined) this.#options.onExit?.(pid);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  async #endMute(): Promise<void> {
    if (!(await settlesWithin(this.#ended, MUTE_MS))) await this.close();
  }

  #kill(): void {
    this.#child?.signal("SIGKILL");
  }

  #read(chunk: Buffer): void {
    const began = performance.now();
    let unasked = 0;
    let lines: ReturnType<LineSplitter["push"]>;
    try {
      lines = this.#splitter.push(chunk);
    } catch (error) {
      this.#diagnosis.overflowed = true;
      this.#child?.stdout.destroy();
      this.#kill();
      this.onerror?.(error as Error);
      return;
    }
    for (const line of lines) {
      if (typeof line === "string") unasked += this.#receive(line);
      else this.#options.onOversize(line);
    }
    const pauseMs = pauseAfter(unasked, performance.now() - began);
    if (pauseMs > 0) rest(this.#child?.stdout, pauseMs);
  }

  /** Returns the number of unrequested messages. */
  #receive(line: string): number {
    const text = line.trim();
    if (text === "") return 0;
    const { messages, unasked, isGarbage } = this.#options.admit(text);
    if (isGarbage && this.#diagnosis.firstGarbage === undefined) {
      // A copy, because a slice would keep the whole line in memory.
      const first = Buffer.from(text.slice(0, 200)).toString();
      this.#diagnosis.firstGarbage = first;
      this.#options.onGarbage?.(first);
    }
    if (!this.#hasSpoken) this.#noteSpoken();
    for (const message of messages) this.onmessage?.(message);
    return unasked;
  }

  #noteSpoken(): void {
    this.#hasSpoken = true;
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    noteStarted(pid);
    this.#options.onStarted?.(pid);
  }

  #keepStderr(chunk: Buffer): void {
    this.#wroteErrors = true;
    if (!this.#hasSpoken && this.#child?.pid !== undefined) noteActivity(this.#child.pid);
    const kept = this.#diagnosis.stderrTail + chunk.subarray(-STDERR_TAIL_BYTES).toString("utf8");
    this.#diagnosis.stderrTail = kept.slice(-STDERR_TAIL_BYTES);
    if (chunk.length >= FULL_PIECE_BYTES) rest(this.#child?.stderr, STDERR_PAUSE_MS);
  }
}

/** Starts a server as a process of this machine. Rejects with the error of `spawn`. */
async function spawnServer({
  command,
  args,
  env,
  defaults,
  cwd,
}: StdioClientTransportOptions): Promise<ServerProcess> {
  const child = spawnGroup(command, args, {
    cwd,
    env: { ...defaults, ...inheritedEnvironment(), ...env },
    mayInstall: true,
  });
  const ended = new Promise<Awaited<ServerProcess["ended"]>>((resolve) =>
    child.once("exit", (code, signal) => resolve({ code, signal })),
  );
  const drained = new Promise<void>((resolve) => child.once("close", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    // Without a listener a failure to spawn would end the process.
    child.on("error", reject);
  });
  const { stdin, stdout, stderr, pid } = child;
  return {
    stdin,
    stdout,
    stderr,
    pid,
    ended,
    drained,
    signal(signal) {
      if (pid !== undefined) signalGroup(pid, signal);
    },
  };
}

/** Stops reading for `ms`. Meanwhile, the server's output stays in the pipe. */
function rest(stream: Readable | undefined, ms: number): void {
  stream?.pause();
  setTimeout(() => stream?.resume(), ms);
}
