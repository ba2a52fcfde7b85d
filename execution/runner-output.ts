import { Redactor } from "../broker/redaction.ts";
import type { StreamRedactor } from "../broker/redaction-stream.ts";
import { ConsoleDecoder, type ConsoleEntry } from "../protocol/console-stream.ts";
import { MAX_RAW_STREAM_BYTES } from "../protocol/limits.ts";
import { TextCap } from "../protocol/text-cap.ts";
import type { SandboxOutput } from "../sandbox/sandbox.ts";

const LINE_FEED = 0x0a;
const TAIL_CHARS = 8_192;
/** JSON takes at most six bytes for one, and a record a little more than its text. */
const ESCAPED = 8;

export interface OutputLimits {
  maxOutputBytes: number;
  maxStderrBytes: number;
}

/** Takes what a container writes, bounded: its stdout up to one line's worth, its stderr as console entries. */
export class RunnerOutput implements SandboxOutput {
  /** Resolves when the container has written more to stdout than any line of the runner's. */
  readonly overflow: Promise<"stdout" | "stderr">;
  /** Resolves with the first line feed on stdout. */
  readonly firstLine: Promise<void>;

  readonly #maxStdoutBytes: number;
  readonly #decoder: ConsoleDecoder;
  /** Secrets go before anything is cut. */
  readonly #redactors: Record<ConsoleEntry["stream"], StreamRedactor>;
  readonly #caps: Record<ConsoleEntry["stream"], TextCap>;
  readonly #onConsole: (entry: ConsoleEntry) => void;
  readonly #consoleText: string[] = [];
  #stdout: Buffer[] = [];
  #stdoutBytes = 0;
  #stderrBytes = 0;
  #tail = "";
  #settleOverflow: (stream: "stdout" | "stderr") => void = () => {};
  #settleFirstLine: () => void = () => {};
  #settleReached: () => void = () => {};

  constructor(
    limits: OutputLimits,
    maxStdoutBytes: number,
    onConsole: (entry: ConsoleEntry) => void,
    redactor: Redactor = new Redactor([]),
  ) {
    this.#maxStdoutBytes = maxStdoutBytes;
    this.#redactors = { out: redactor.stream(), err: redactor.stream() };
    this.#decoder = new ConsoleDecoder(ESCAPED * Math.max(limits.maxOutputBytes, limits.maxStderrBytes));
    this.#caps = { out: new TextCap(limits.maxOutputBytes), err: new TextCap(limits.maxStderrBytes) };
    this.#onConsole = onConsole;
    this.overflow = new Promise((resolve) => {
      this.#settleOverflow = resolve;
    });
    this.firstLine = new Promise((resolve) => {
      this.#settleFirstLine = resolve;
    });
  }

  onStdout(chunk: Buffer): void {
    this.#stdoutBytes += chunk.length;
    if (this.#stdoutBytes > this.#maxStdoutBytes) {
      this.#settleOverflow("stdout");
      return;
    }
    this.#stdout.push(Buffer.from(chunk));
    if (chunk.includes(LINE_FEED)) this.#settleFirstLine();
    this.#settleReached();
  }

  onStderr(chunk: Buffer): void {
    this.#stderrBytes += chunk.length;
    if (this.#stderrBytes > MAX_RAW_STREAM_BYTES) {
      this.#settleOverflow("stderr");
      return;
    }
    for (const entry of this.#decoder.push(chunk)) this.#show(entry);
    this.#settleReached();
  }

  /** The container has ended: what it wrote last is the end of what it said. */
  end(): void {
    for (const entry of this.#decoder.end()) this.#show(entry);
    this.flush();
  }

  /** No more is shown: what could have been the beginning of a secret is not one. */
  flush(): void {
    for (const stream of ["out", "err"] as const) this.#print(stream, this.#redactors[stream].end());
  }

  /** Secrets that were replaced in what was printed. */
  get redactions(): number {
    return this.#redactors.out.count + this.#redactors.err.count;
  }

  /** Resolves when stdout and stderr have brought at least this many bytes. */
  reached({ lineBytes, consoleBytes }: { lineBytes: number; consoleBytes: number }): Promise<void> {
    return new Promise((resolve) => {
      this.#settleReached = () => {
        if (this.#stdoutBytes >= lineBytes && this.#stderrBytes >= consoleBytes) resolve();
      };
      this.#settleReached();
    });
  }

  get stdout(): Buffer {
    return Buffer.concat(this.#stdout);
  }

  /** The last that was written to stderr past the console, such as the words of a dying V8. */
  get stderrTail(): string {
    return this.#tail;
  }

  /** What `console.log` printed, cut at its cap. */
  get consoleText(): string {
    return this.#consoleText.join("");
  }

  #show(entry: ConsoleEntry): void {
    if (entry.stream === "err") this.#tail = (this.#tail + entry.text).slice(-TAIL_CHARS);
    // Past the cap nothing is shown any more, so a flood costs nothing more either.
    if (this.#caps[entry.stream].truncated) return;
    const redactor = this.#redactors[entry.stream];
    const cut = /\n?\.\.\. \(truncated\)\n$/.exec(entry.text)?.[0];
    if (cut === undefined) this.#print(entry.stream, redactor.push(entry.text));
    // What was cut off may have been the rest of a secret: nothing is shown that could be its beginning.
    else this.#print(entry.stream, redactor.push(entry.text.slice(0, -cut.length)) + cut);
  }

  #print(stream: ConsoleEntry["stream"], redacted: string): void {
    const text = this.#caps[stream].take(redacted);
    if (text === "") return;
    if (stream === "out") this.#consoleText.push(text);
    this.#onConsole({ stream, text });
  }
}
