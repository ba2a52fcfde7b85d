import { open } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { PassThrough, type Readable } from "node:stream";
import { isObject } from "../../base/json.ts";
import type { Surroundings } from "../surroundings.ts";
import { outputProblem, writeWhole } from "../terminal/output.ts";
import { ALIVE_MS, type MessageToCaller, receiveMessages, sendMessage } from "./host-messages.ts";
import { describeBuild, findHost, findProject, placeOf, UnsafePlaceError } from "./host-place.ts";
import { mayAskHost } from "./host-process.ts";

/** How long a host may take for its first message. A stopped process accepts connections too. */
const WELCOME_PATIENCE_MS = 1_000;

/** The outcome of offering a command of this process to a background host. */
export type Delegation =
  | { kind: "done"; exitCode: number }
  | {
      kind: "here";
      /** A message for the user, without a line feed. */
      why?: string | undefined;
      /** Whether a host may be started for the next command. */
      mayStart: boolean;
      /** The whole stdin, including the part that the host has already read. */
      stdin?: Readable | undefined;
      /** The run that had started to make calls when its host was lost. It must not run again. */
      lostRun?: string | undefined;
    };

/**
 * Offers the command of this process to the background host of this project. If there is no host, or it does not work, this process
 * runs the command.
 */
export async function askHost(caller: CallersProcess): Promise<Delegation> {
  const { argv, env } = caller;
  if (!mayAskHost(caller)) return { kind: "here", mayStart: false };
  try {
    const project = findProject({ flag: configFlag(argv.slice(3)), env, cwd: caller.cwd() });
    if (project === undefined) return { kind: "here", mayStart: false };
    const found = findHost(placeOf(project, env));
    if (found === undefined) return { kind: "here", mayStart: true };
    return await askAt(found, project.fileDigest, caller);
  } catch (error) {
    if (error instanceof UnsafePlaceError)
      return { kind: "here", mayStart: false, why: `the background host is not used: ${error.message}` };
    // The command itself explains better what is wrong with the host's place or the configuration.
    if (error instanceof Error && "code" in error) return { kind: "here", mayStart: false };
    throw error;
  }
}

async function askAt(
  { socket: path, token }: { socket: string; token: string },
  fileDigest: string,
  caller: CallersProcess,
): Promise<Delegation> {
  const socket = await connectTo(path);
  if (typeof socket === "string") return { kind: "here", mayStart: true, why: socket };
  const stdin = new CallersStdin(caller);
  const followed = followHost(socket, stdin, caller, WELCOME_PATIENCE_MS);
  void sendMessage(socket, {
    kind: "hello",
    wants: "command",
    token,
    fileDigest,
    build: describeBuild(caller.argv[1] ?? ""),
    argv: caller.argv,
    env: caller.env,
    cwd: caller.cwd(),
    stdin: { isTTY: caller.stdin.isTTY === true },
    stdout: { isTTY: caller.stdout.isTTY === true, columns: caller.stdout.columns },
    stderr: { isTTY: caller.stderr.isTTY === true, columns: caller.stderr.columns },
  });
  const end = await followed;
  socket.destroy();
  if (end.kind === "exit") return { kind: "done", exitCode: end.code };
  return {
    kind: "here",
    why: end.why,
    mayStart: end.kind === "lost" || end.isReplaced,
    stdin: stdin.rest(),
    lostRun: end.kind === "lost" ? end.runId : undefined,
  };
}

/** Connects, or says why not. */
export function connectTo(path: string): Promise<Socket | string> {
  const socket = connect(path);
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      socket.destroy();
      resolve("the background host does not take connections");
    }, WELCOME_PATIENCE_MS);
    socket.once("connect", () => {
      clearTimeout(timer);
      resolve(socket);
    });
    socket.on("error", () => {
      clearTimeout(timer);
      resolve("the background host has ended unexpectedly");
    });
  });
}

/** The value of `--config`, found without knowing all options. The host parses the arguments again. */
function configFlag(args: readonly string[]): string | undefined {
  const at = args.lastIndexOf("--config");
  return at >= 0
    ? args[at + 1]
    : args.findLast((arg) => arg.startsWith("--config="))?.slice("--config=".length);
}

/** Asks a host for something that it answers with one message. */
export async function askOnce(
  socket: Socket,
  wants: "status" | "stop",
  { token, patienceMs }: { token: string; patienceMs: number },
): Promise<MessageToCaller | undefined> {
  const none = { isTTY: false };
  const hello = {
    kind: "hello",
    wants,
    token,
    build: "",
    fileDigest: "",
    argv: [],
    env: {},
    cwd: "/",
  } as const;
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), patienceMs);
    const settle = (message: MessageToCaller | undefined) => {
      clearTimeout(timer);
      resolve(message);
    };
    socket.once("close", () => settle(undefined));
    receiveMessages(socket, (message) => {
      if ((message as MessageToCaller).kind !== "welcome") settle(message as MessageToCaller);
    });
    void sendMessage(socket, { ...hello, argv: [], stdin: none, stdout: none, stderr: none });
  });
}

/** How many times in a row a host may be late with a sign of life: while its work can start again, and after that. */
const MAX_LATE = 5;
const MAX_LATE_CALLING = 30;
const CHUNK_BYTES = 256 * 1024;

/** How a host's work for a caller ended. */
type HostEnd =
  | { kind: "exit"; code: number }
  | { kind: "refused"; why: string; isReplaced: boolean }
  /** The host has crashed, or hangs. `runId`: the run that had started to make calls. */
  | { kind: "lost"; why: string; runId: string | undefined };

/**
 * Does what only the caller's process can do for a host: prints, reads, and passes signals on. Resolves when the host is done or
 * lost. All text that the host sent before is printed by then.
 *
 * @param patienceMs how long the host may take for its first message.
 */
function followHost(
  socket: Socket,
  stdin: CallersStdin,
  caller: CallersProcess,
  patienceMs: number,
): Promise<HostEnd> {
  const { stdout, stderr } = caller;
  let runId: string | undefined;
  /** The text printed on stdout so far. A command that has printed output is not run again. */
  let printed = "";
  let late = 0;
  return new Promise((resolve) => {
    const end = (outcome: HostEnd) => {
      clearTimeout(welcome);
      clearInterval(watch);
      for (const stream of [stdout, stderr]) stream.off("resize", resized);
      resolve(outcome);
    };
    const lose = (why: string) => {
      if (printed !== "") end({ kind: "exit", code: exitCodeOf(printed) });
      else end({ kind: "lost", why, runId });
    };
    const resized = () =>
      void sendMessage(socket, { kind: "resized", stdout: stdout.columns ?? 0, stderr: stderr.columns ?? 0 });
    const welcome = setTimeout(() => lose("the background host does not answer"), patienceMs);
    const watch = setInterval(() => {
      if (++late > (runId === undefined ? MAX_LATE : MAX_LATE_CALLING)) lose("the background host hangs");
    }, ALIVE_MS);
    for (const stream of [stdout, stderr]) {
      stream.on("error", () => {});
      if (stream.isTTY === true) stream.on("resize", resized);
    }
    const printing: Record<"stdout" | "stderr", Promise<void>> = {
      stdout: Promise.resolve(),
      stderr: Promise.resolve(),
    };
    const receive = (message: MessageToCaller) => {
      late = 0;
      switch (message.kind) {
        case "welcome":
          return clearTimeout(welcome);
        case "refused":
          return end(message);
        case "out": {
          const bytes = Buffer.from(message.bytes, "base64");
          if (message.to === "stdout") printed += bytes.toString("latin1");
          const stream = message.to === "stdout" ? stdout : stderr;
          printing[message.to] = writeWhole(stream, bytes);
          return;
        }
        case "stdin":
          if (message.want === "pause") return stdin.pause();
          if (message.want !== "flow") return stdin.setRawMode(message.want === "raw");
          return stdin.flow((bytes) => {
            void sendMessage(socket, {
              kind: "stdin",
              bytes: bytes === null ? null : bytes.toString("base64"),
            });
          });
        case "file":
          return void readFor(message).then((answer) => sendMessage(socket, answer));
        case "listen":
          return void caller.on(message.signal, () => {
            void sendMessage(socket, { kind: "signal", signal: message.signal });
          });
        case "calling":
          runId = message.runId;
          return;
        case "exit":
          return void Promise.all(Object.values(printing)).then(async () => {
            const problem = outputProblem(stdout);
            if (problem !== undefined) await writeWhole(stderr, `ptc: the output ${problem}\n`);
            end({ kind: "exit", code: problem === undefined ? message.code : message.code || 1 });
          });
        default:
      }
    };
    receiveMessages(socket, (message) => {
      if (isObject(message)) receive(message as unknown as MessageToCaller);
    });
    socket.once("close", () => lose("the background host has ended unexpectedly"));
    socket.on("error", () => {});
  });
}

/** Reads a file as the caller sees it. It may be a pipe of the caller. */
async function readFor({ id, path, maxBytes }: MessageToCaller & { kind: "file" }) {
  try {
    const handle = await open(path);
    const chunks: Buffer[] = [];
    try {
      for (let length = 0; length < maxBytes; ) {
        const room = Math.min(CHUNK_BYTES, maxBytes - length);
        const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(room), 0, room);
        if (bytesRead === 0) break;
        chunks.push(buffer.subarray(0, bytesRead));
        length += bytesRead;
      }
    } finally {
      await handle.close();
    }
    return { kind: "file" as const, id, bytes: Buffer.concat(chunks).toString("base64") };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return { kind: "file" as const, id, code };
  }
}

/** The exit code of a command whose host was lost after its output: 1 if it printed the envelope of a failed run. */
function exitCodeOf(printed: string): number {
  return /^\{"run_id":.*"result":\{"ok":false,/.test(printed) ? 1 : 0;
}

/**
 * The stdin of a caller for a host. It is read only when the host wants it, so that the next reader loses nothing. The bytes read
 * are kept as long as the caller may have to run the command itself.
 */
class CallersStdin {
  readonly #caller: CallersProcess;
  #onBytes: (bytes: Buffer | null) => void = () => {};
  #read: Buffer[] = [];
  #isOpen = false;
  #ended = false;

  constructor(caller: CallersProcess) {
    this.#caller = caller;
  }

  /** Starts or continues to read. Passes on each piece, and null at the end. */
  flow(onBytes: (bytes: Buffer | null) => void): void {
    this.#onBytes = onBytes;
    const { stdin } = this.#caller;
    if (!this.#isOpen) {
      this.#isOpen = true;
      stdin.on("data", this.#onData);
      stdin.once("end", this.#onEnd);
      stdin.once("error", this.#onEnd);
    }
    if (this.#ended) onBytes(null);
    else stdin.resume();
  }

  pause(): void {
    if (this.#isOpen) this.#caller.stdin.pause();
  }

  setRawMode(isRaw: boolean): void {
    this.#caller.stdin.setRawMode?.(isRaw);
  }

  /** Gives stdin back, as if nothing had been read; `undefined` when nothing was. */
  rest(): Readable | undefined {
    if (!this.#isOpen) return undefined;
    const { stdin } = this.#caller;
    if (stdin.isTTY === true) {
      stdin.off("data", this.#onData);
      stdin.setRawMode?.(false);
      stdin.pause();
      return undefined;
    }
    const whole = new PassThrough();
    for (const bytes of this.#read) whole.write(bytes);
    stdin.off("data", this.#onData);
    if (this.#ended) whole.end();
    else stdin.pipe(whole);
    return whole;
  }

  readonly #onData = (chunk: Buffer | string) => {
    const bytes = Buffer.from(chunk as Buffer);
    if (this.#caller.stdin.isTTY !== true) this.#read.push(bytes);
    this.#onBytes(bytes);
  };

  readonly #onEnd = () => {
    this.#ended = true;
    this.#onBytes(null);
  };
}

/** The process of a caller, as a background host uses it. */
export type CallersProcess = Surroundings & {
  stdout: { columns?: number };
  stderr: { columns?: number };
};
