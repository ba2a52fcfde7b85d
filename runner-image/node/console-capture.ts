import { Console } from "node:console";
import { Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { type ConsoleStream, encodeConsoleEntry } from "../../protocol/console-stream.ts";
import { cutToBytes, TextCap } from "../../protocol/text-cap.ts";
import { writeAll } from "./write-all.ts";

const STDOUT = 1;
const STDERR = 2;

/** Prints values whole, each on one line. Omitted parts would cost another run, and the cap bounds the output. */
const INSPECT = {
  depth: Number.POSITIVE_INFINITY,
  maxArrayLength: Number.POSITIVE_INFINITY,
  maxStringLength: Number.POSITIVE_INFINITY,
  breakLength: Number.POSITIVE_INFINITY,
  compact: true,
};

export interface ConsoleCapture {
  /** Starts a program, whose output is cut at these numbers of bytes. Drops earlier output. */
  begin(maxOutputBytes: number, maxStderrBytes: number): void;
  /** Ends a program. Drops output until the next one begins. */
  end(): void;
  /** Console text so far, cut at the cap. */
  text(): string;
  /** The last printed line, whole even if the text was cut. `undefined` if the line itself is longer than the cap. */
  lastLine(): string | undefined;
  /** Takes bytes as output, as `process.stdout` does. */
  write(bytes: Uint8Array): void;
  /** The number of bytes written to stderr, so that the reader knows when it has all of them. */
  bytesWritten(): number;
}

/**
 * Sends the output of the global console to stderr, entry by entry, so that nothing is lost if the process dies. `console.log`,
 * `info` and `debug`, and writes to `process.stdout`, are the program's output. `error`, `warn` and `trace`, and writes to
 * `process.stderr`, are its log.
 *
 * @param isLate whether the code that prints belongs to an earlier program, so that its output is dropped.
 */
export function captureConsole(isLate = () => false): ConsoleCapture {
  let kept: string[] = [];
  let caps: Caps | undefined;
  let lastLine = new LastLine(0);

  let bytesWritten = 0;
  const send = (stream: ConsoleStream, text: string) => {
    const record = encodeConsoleEntry({ stream, text });
    bytesWritten += record.length;
    writeAll(STDERR, record);
  };
  const out = new Sink((text) => {
    if (caps === undefined || isLate()) return;
    const shown = caps.out.take(text);
    if (shown !== "") {
      send("out", shown);
      kept.push(shown);
    }
    lastLine.push(text);
  });
  const err = new Sink((text) => {
    if (caps === undefined || isLate()) return;
    const shown = caps.err.take(text);
    if (shown !== "") send("err", shown);
  });
  // Keeps the program's writes apart from the runner's claim and from the runtime's warnings.
  for (const [name, value] of [
    ["stdout", Object.assign(out, { fd: STDOUT })],
    ["stderr", Object.assign(err, { fd: STDERR })],
  ] as const)
    Object.defineProperty(process, name, { value, configurable: true, enumerable: true });
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    if (caps === undefined) return;
    const bytes = Buffer.from(caps.warnings.take(`(node) ${name}: ${message}\n`));
    bytesWritten += bytes.length;
    writeAll(STDERR, bytes);
  });
  Object.assign(console, consoleMethods(out, err));

  return {
    begin(maxOutputBytes, maxStderrBytes) {
      kept = [];
      bytesWritten = 0;
      lastLine = new LastLine(maxOutputBytes);
      caps = {
        out: new TextCap(maxOutputBytes),
        err: new TextCap(maxStderrBytes),
        warnings: new TextCap(maxStderrBytes),
      };
    },
    end() {
      caps = undefined;
    },
    text: () => kept.join(""),
    lastLine: () => lastLine.value(),
    write: (bytes) => out.take(bytes),
    bytesWritten: () => bytesWritten,
  };
}

/** Bounds on a program's output, on its writes to stderr, and on warnings of the runtime. */
interface Caps {
  out: TextCap;
  err: TextCap;
  warnings: TextCap;
}

/** A stream that never ends, as the standard streams of Node.js do not, and that takes texts in any encoding. */
class Sink extends Writable {
  readonly #take: (text: string) => void;
  /** Holds the beginning of a character whose other bytes have not come. */
  readonly #decoder = new StringDecoder("utf8");

  constructor(take: (text: string) => void) {
    super({ decodeStrings: false, autoDestroy: false, emitClose: false });
    this.#take = take;
    // A stream that was ended would refuse what the console prints.
    Object.defineProperty(this, "end", { value: this.#end, configurable: true, writable: true });
    Object.defineProperty(this, "destroy", { value: () => this, configurable: true, writable: true });
  }

  take(bytes: Uint8Array): void {
    const text = this.#decoder.write(bytes as Buffer);
    if (text !== "") this.#take(text);
  }

  override _write(chunk: string | Buffer, encoding: BufferEncoding, done: () => void): void {
    if (typeof chunk !== "string") this.take(chunk);
    else if (AS_TEXT.has(encoding)) this.#take(chunk);
    else this.take(Buffer.from(chunk, encoding));
    done();
  }

  readonly #end = (...args: unknown[]): this => {
    const done = args.findLast((each) => typeof each === "function");
    const [chunk, encoding] = args.filter((each) => each !== done);
    if (chunk !== undefined && chunk !== null)
      this.write(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
    process.nextTick(() => {
      if (done !== undefined) (done as () => void)();
      // What pipes into this stream waits for it.
      this.emit("finish");
    });
    return this;
  };
}

/** The encodings of which a text is the text itself. */
const AS_TEXT: ReadonlySet<string> = new Set(["utf8", "utf-8", "ucs2", "ucs-2", "utf16le", "utf-16le"]);

/** The methods of a console that prints to these streams. */
export function consoleMethods(stdout: Writable, stderr: Writable): Record<string, unknown> {
  const instance = new Console({ stdout, stderr, inspectOptions: INSPECT });
  const methods: Record<string, unknown> = {};
  for (const name of Object.keys(console)) {
    const method: unknown = Reflect.get(instance, name);
    if (typeof method === "function" && name !== "Console") methods[name] = method;
  }
  return methods;
}

/** The last line of a text that arrives in pieces, as long as it stays within a number of bytes. */
export class LastLine {
  readonly #maxBytes: number;
  #current = "";
  #overlong = false;
  #complete: string | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(text: string): void {
    const lines = text.split("\n");
    lines.forEach((line, index) => {
      this.#append(line);
      if (index < lines.length - 1) this.#endLine();
    });
  }

  value(): string | undefined {
    return this.#current !== "" || this.#overlong ? this.#line() : this.#complete;
  }

  #append(piece: string): void {
    if (this.#overlong) return;
    this.#current += piece;
    if (this.#current.length <= this.#maxBytes) return;
    this.#current = cutToBytes(this.#current, 1);
    this.#overlong = true;
  }

  #endLine(): void {
    if (this.#current.trim() !== "" || this.#overlong) this.#complete = this.#line();
    this.#current = "";
    this.#overlong = false;
  }

  #line(): string | undefined {
    return this.#overlong ? undefined : this.#current;
  }
}
