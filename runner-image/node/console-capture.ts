import { Console } from "node:console";
import { Writable } from "node:stream";
import { type ConsoleStream, encodeConsoleEntry } from "../../protocol/console-stream.ts";
import { cutToBytes, TextCap } from "../../protocol/text-cap.ts";
import { writeAll } from "./write-all.ts";

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
  /** The number of bytes written to stderr, so that the reader knows when it has all of them. */
  bytesWritten(): number;
}

/**
 * Sends the output of the global console to stderr, entry by entry, so that nothing is lost if the process dies. `console.log`,
 * `info` and `debug` are the program's output. `error`, `warn` and `trace`, and writes to `process.stderr`, are its log.
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
  const out = sink((text) => {
    if (caps === undefined || isLate()) return;
    const shown = caps.out.take(text);
    if (shown !== "") {
      send("out", shown);
      kept.push(shown);
    }
    lastLine.push(text);
  });
  const err = sink((text) => {
    if (caps === undefined || isLate()) return;
    const shown = caps.err.take(text);
    if (shown !== "") send("err", shown);
  });
  // Separates the program's writes to stderr from the runtime's, such as warnings.
  Object.defineProperty(process, "stderr", { value: Object.assign(err, { fd: STDERR }), configurable: true });
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
    bytesWritten: () => bytesWritten,
  };
}

/** Bounds on a program's output, on its writes to stderr, and on warnings of the runtime. */
interface Caps {
  out: TextCap;
  err: TextCap;
  warnings: TextCap;
}

function sink(take: (text: string) => void): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      take(typeof chunk === "string" ? chunk : chunk.toString("utf8"));
      done();
    },
  });
}

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
class LastLine {
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
