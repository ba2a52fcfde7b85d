import type { Socket } from "node:net";
import { Readable, Writable } from "node:stream";
import type { SIGNALS, Surroundings } from "../surroundings.ts";
import { type CallerHello, type MessageToCaller, sendMessage } from "./host-messages.ts";
import type { ParsedCallerMessage } from "./parse-caller-message.ts";

type Signal = (typeof SIGNALS)[number];

/** What a command of a caller needs from the caller's process, over the connection to it. */
export class RemoteCaller {
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

  /** Sends nothing more: the caller was told how this ended. */
  mute(): void {
    this.#isMuted = true;
  }

  /** Resolves when the kernel has the message, or the caller is gone. Never rejects. */
  send(message: MessageToCaller): Promise<void> {
    return this.#isMuted ? Promise.resolve() : sendMessage(this.#socket, message);
  }

  receive(message: ParsedCallerMessage): void {
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

  /** Does what is due when the caller's process is gone: what it would do if it were asked to end. */
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

/** The caller's stdin. It is read only while somebody here wants it. */
class CallerInput extends Readable {
  readonly isTTY: boolean;
  readonly #want: (want: Wanted) => void;
  #isHeld = false;

  constructor(want: (want: Wanted) => void, isTTY: boolean) {
    super();
    this.isTTY = isTTY;
    this.#want = want;
    // Whoever reads learns of the end of the caller in another way too, and some do not listen for errors.
    this.on("error", () => {});
  }

  setRawMode(isRaw: boolean): this {
    this.#want(isRaw ? "raw" : "cooked");
    return this;
  }

  override _read(): void {
    // A paused stream fills its buffer too. What is typed meanwhile belongs to others.
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

/** The caller's stdout or stderr. A caller that does not read holds the writer up, as a pipe would. */
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
