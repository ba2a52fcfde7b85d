import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Socket } from "node:net";
import { Duplex } from "node:stream";
import { oneLine } from "../../base/visible-text.ts";

// An import statement would also load Node's `fetch`, which takes longer than loading all of Docker's client.
const { Agent } = process.getBuiltinModule("node:http");

/** An engine that is reached over SSH. */
export interface SshTarget {
  hostname: string;
  port?: string | undefined;
  user?: string | undefined;
  /** The path of the engine's socket there; by default the one that the `docker` command finds there. */
  socketPath?: string | undefined;
}

const CONNECT_PATIENCE_S = 30;
const MAX_WORDS_BYTES = 4_096;
const MAX_WORDS_CHARS = 300;

/**
 * Reaches an engine like the `docker` command: the user's own `ssh`, with its settings, keys and known hosts, runs
 * `docker system dial-stdio` on the other machine. It never asks for a password. Connections are kept for further requests.
 */
export class SshAgent extends Agent {
  readonly #command: readonly string[];

  constructor(target: SshTarget) {
    super({ keepAlive: true });
    this.#command = sshArguments(target);
  }

  override createConnection(): Duplex {
    return new SshConnection(this.#command);
  }
}

/** The arguments of `ssh`. Pure. */
export function sshArguments({ hostname, port, user, socketPath }: SshTarget): string[] {
  return [
    ...["-T", "-o", "BatchMode=yes", "-o", `ConnectTimeout=${CONNECT_PATIENCE_S}`],
    ...(user === undefined ? [] : ["-l", user]),
    ...(port === undefined ? [] : ["-p", port]),
    ...["--", hostname, "docker"],
    ...(socketPath === undefined ? [] : ["--host", `unix://${socketPath}`]),
    ...["system", "dial-stdio"],
  ];
}

/** A connection to the engine over a child process's stdin and stdout. Has the socket methods that an HTTP client calls. */
class SshConnection extends Duplex {
  readonly #ssh: ChildProcessWithoutNullStreams;
  #words = "";

  constructor(command: readonly string[]) {
    super({ allowHalfOpen: true });
    const ssh = spawn("ssh", command, { stdio: "pipe", windowsHide: true });
    this.#ssh = ssh;
    ssh.stdout.on("data", (chunk: Buffer) => {
      if (!this.push(chunk)) ssh.stdout.pause();
    });
    ssh.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#words = (this.#words + text).slice(-MAX_WORDS_BYTES);
    });
    ssh.stdin.on("error", () => {});
    ssh.on("error", (cause) => this.destroy(new Error(`ssh cannot be started: ${cause.message}`, { cause })));
    ssh.on("close", (code) => {
      const words = oneLine(this.#words.trim(), MAX_WORDS_CHARS);
      if (code === 0) this.push(null);
      else this.destroy(new Error(`ssh ended with ${code ?? "a signal"}: ${words || "it says nothing"}`));
    });
  }

  override _read(): void {
    this.#ssh.stdout.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#ssh.stdin.writable) this.#ssh.stdin.write(chunk, () => done());
    else done();
  }

  override _final(done: () => void): void {
    this.#ssh.stdin.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#ssh.kill();
    done(error);
  }

  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    this.#ssh.ref();
    for (const pipe of this.#pipes) pipe.ref();
    return this;
  }

  /** An idle connection does not keep the process alive. */
  unref(): this {
    this.#ssh.unref();
    for (const pipe of this.#pipes) pipe.unref();
    return this;
  }

  /** The pipes to a child process are sockets. */
  get #pipes(): Socket[] {
    const { stdin, stdout, stderr } = this.#ssh;
    return [stdin, stdout, stderr].filter((pipe) => pipe instanceof Socket);
  }
}
