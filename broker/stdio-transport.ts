import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { LineSplitter } from "./line-splitter.ts";
import type { JsonRpcMessage, MessageTransport } from "./message-transport.ts";
import { signalGroup, spawnGroup } from "./process-group.ts";

export interface StdioTransportOptions {
  command: string;
  args: readonly string[];
  /** Beside the few variables that every program needs. */
  env: Readonly<Record<string, string>>;
  cwd: string;
  maxMessageBytes: number;
  /** How long the server has to end after its input has, and then again after SIGTERM. */
  graceMs?: number;
  /** Get the server's process group, so that a later ptc can end what a killed one left. */
  onSpawn?: ((pid: number) => void) | undefined;
  onExit?: ((pid: number) => void) | undefined;
}

/** What a server let know about itself other than by messages. */
export interface StdioDiagnosis {
  spawnError: Error | undefined;
  /** Set when it ended of its own accord. */
  exit: { code: number | null; signal: NodeJS.Signals | null } | undefined;
  /** It was ended because a message of it went on beyond all bounds. */
  overflowed: boolean;
  /** The first line of output that was no message. */
  firstGarbage: string | undefined;
  /** The end of what it wrote to stderr. */
  stderrTail: string;
}

const INHERITED = /^(?:PATH|HOME|USER|LOGNAME|LANG|LC_[A-Z_]+|TERM|SHELL|TMPDIR)$/;
const STDERR_TAIL_BYTES = 4_096;
const DEFAULT_GRACE_MS = 500;
/** How long output that is already written is waited for, should another process hold the pipe open. */
const DRAIN_MS = 200;
/** How long a server may live on without an output. */
const MUTE_MS = 1_000;

/**
 * Speaks to a server over its standard streams, one JSON message a line (MCP 2025-11-25, "stdio"). The server runs in
 * its own process group without a shell, with a minimal environment, and is gone with its children after `close`.
 */
export class StdioTransport implements MessageTransport {
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onclose?: (() => void) | undefined;

  readonly #options: StdioTransportOptions;
  readonly #splitter: LineSplitter;
  readonly #diagnosis: StdioDiagnosis = {
    spawnError: undefined,
    exit: undefined,
    overflowed: false,
    firstGarbage: undefined,
    stderrTail: "",
  };
  #child: ChildProcessWithoutNullStreams | undefined;
  #ended: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  #onOversize: ((id: number | undefined, bytes: number) => void) | undefined;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
    this.#splitter = new LineSplitter(options.maxMessageBytes);
  }

  get diagnosis(): Readonly<StdioDiagnosis> {
    return this.#diagnosis;
  }

  /** The listener gets the id of the request whose answer was too large to read, where it could be told. */
  onOversize(listener: (id: number | undefined, bytes: number) => void): void {
    this.#onOversize = listener;
  }

  /** @throws what `spawn` reports, such as ENOENT. */
  async start(): Promise<void> {
    const { command, args, env, cwd, onSpawn } = this.#options;
    try {
      this.#child = spawnGroup(command, args, { cwd, env: { ...inheritedEnvironment(), ...env } });
      this.#listen(this.#child);
      await new Promise<void>((resolve, reject) => {
        this.#child?.once("spawn", resolve);
        this.#child?.once("error", reject);
      });
    } catch (error) {
      this.#diagnosis.spawnError = error as Error;
      throw error;
    }
    if (this.#child.pid !== undefined) onSpawn?.(this.#child.pid);
  }

  async send(message: JsonRpcMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || !stdin.writable) throw new Error("the server's input is closed");
    await new Promise<void>((resolve, reject) => {
      stdin.write(`${JSON.stringify(message)}\n`, (error) => {
        // It is ending: that is told when it has ended, with what there is to say about it.
        if (error && !("code" in error && error.code === "EPIPE")) reject(error);
        else resolve();
      });
    });
  }

  /** Resolves when the process group is gone. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    const pid = child?.pid;
    if (child === undefined || pid === undefined) return;
    const graceMs = this.#options.graceMs ?? DEFAULT_GRACE_MS;
    child.stdin.end();
    if (await settlesWithin(this.#ended, graceMs)) return;
    signalGroup(pid, "SIGTERM");
    if (await settlesWithin(this.#ended, graceMs)) return;
    signalGroup(pid, "SIGKILL");
    await this.#ended;
  }

  #listen(child: ChildProcessWithoutNullStreams): void {
    let resolve = () => {};
    this.#ended = new Promise((settle) => {
      resolve = settle;
    });
    child.stdin.on("error", (error) => this.onerror?.(error));
    child.stdout.on("error", (error) => this.onerror?.(error));
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    // A server that closes its output can answer nothing more, though it may well run on.
    child.stdout.once("close", () => void this.#endMute());
    child.stderr.on("error", () => {});
    child.stderr.on("data", (chunk: Buffer) => this.#keepStderr(chunk));
    // Without this listener a failure to spawn would end the process.
    child.on("error", () => resolve());
    child.once("exit", (code, signal) => {
      if (this.#closing === undefined) this.#diagnosis.exit = { code, signal };
      if (child.pid !== undefined) this.#options.onExit?.(child.pid);
      const drained = new Promise<void>((done) => child.once("close", () => done()));
      void settlesWithin(drained, DRAIN_MS).then(() => {
        child.stdout.destroy();
        child.stderr.destroy();
        resolve();
        this.onclose?.();
      });
    });
  }

  async #endMute(): Promise<void> {
    if (!(await settlesWithin(this.#ended, MUTE_MS))) await this.close();
  }

  #read(chunk: Buffer): void {
    let lines: ReturnType<LineSplitter["push"]>;
    try {
      lines = this.#splitter.push(chunk);
    } catch (error) {
      this.#diagnosis.overflowed = true;
      this.#child?.stdout.destroy();
      if (this.#child?.pid !== undefined) signalGroup(this.#child.pid, "SIGKILL");
      this.onerror?.(error as Error);
      return;
    }
    for (const line of lines) {
      if (typeof line === "string") this.#receive(line);
      else this.#onOversize?.(idOf(line.head, line.tail), line.bytes);
    }
  }

  #receive(line: string): void {
    const text = line.trim();
    if (text === "") return;
    const messages = parseMessages(text);
    if (messages === undefined) {
      this.#diagnosis.firstGarbage ??= text.slice(0, 200);
      return;
    }
    for (const message of messages) this.onmessage?.(message);
  }

  #keepStderr(chunk: Buffer): void {
    const kept = this.#diagnosis.stderrTail + chunk.subarray(-STDERR_TAIL_BYTES).toString("utf8");
    this.#diagnosis.stderrTail = kept.slice(-STDERR_TAIL_BYTES);
  }
}

/** The messages of a line: one, or those of a batch (MCP 2025-03-26); `undefined` when it is neither. */
function parseMessages(text: string): JsonRpcMessage[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const messages: unknown[] = Array.isArray(value) ? value : [value];
  return messages.every(isMessage) ? messages : undefined;
}

function isMessage(value: unknown): value is JsonRpcMessage {
  if (typeof value !== "object" || value === null) return false;
  if (!("jsonrpc" in value) || value.jsonrpc !== "2.0") return false;
  return "method" in value || ("id" in value && ("result" in value || "error" in value));
}

/** The id of an answer of which only the ends are known. Servers write it before or after the result. */
function idOf(head: string, tail: string): number | undefined {
  const found =
    /^\{(?:"jsonrpc":\s*"2\.0",\s*)?"id":\s*(\d{1,15}),/.exec(head) ??
    /[}\]],\s*(?:"jsonrpc":\s*"2\.0",\s*)?"id":\s*(\d{1,15})(?:,\s*"jsonrpc":\s*"2\.0")?\s*\}\r?$/.exec(tail);
  return found?.[1] === undefined ? undefined : Number(found[1]);
}

function inheritedEnvironment(): Record<string, string> {
  const inherited: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && INHERITED.test(name)) inherited[name] = value;
  }
  return inherited;
}

async function settlesWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
