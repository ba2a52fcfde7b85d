import { ConsoleDecoder, type ConsoleEntry } from "../protocol/console-stream.ts";
import { MAX_RAW_STREAM_BYTES } from "../protocol/limits.ts";
import { TextCap, TRUNCATION_MARK } from "../protocol/text-cap.ts";
import type { SandboxOutput } from "../sandbox/sandbox.ts";
import { Redactor } from "../secrets/redaction.ts";
import type { StreamRedactor } from "../secrets/redaction-stream.ts";

const LINE_FEED = 0x0a;
const TAIL_CHARS = 8_192;
/** The most bytes of a console record for each byte of its text: JSON escapes take up to six, its frame a little more. */
const ESCAPED = 8;
/** How a text ends that the runner has cut. The mark is on a line of its own; the second form is for an empty text. */
const CUT_ENDS = [`\n${TRUNCATION_MARK}\n`, `${TRUNCATION_MARK}\n`];

export interface OutputLimits {
  maxOutputBytes: number;
  maxStderrBytes: number;
}

/** Takes what a container writes, within bounds: the first line of stdout, and console entries on stderr. */
export class RunnerOutput implements SandboxOutput {
  /** Resolves with the stream on which the container has written more than any runner does. */
  readonly overflow: Promise<"stdout" | "stderr">;
  /** Resolves with the first line feed on stdout. */
  readonly firstLine: Promise<void>;

  readonly #maxStdoutBytes: number;
  readonly #decoder: ConsoleDecoder;
  /** Redact text before it is cut. */
  readonly #redactors: Record<ConsoleEntry["stream"], StreamRedactor>;
  readonly #caps: Record<ConsoleEntry["stream"], TextCap>;
  readonly #onConsole: (entry: ConsoleEntry) => void;
  readonly #consoleText: string[] = [];
  #stdout: Buffer[] = [];
  #stdoutBytes = 0;
  #stderrBytes = 0;
  #tail = "";
  #isRunnersCut = false;
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

  /** The container has ended, so the last text is complete. */
  end(): void {
    for (const entry of this.#decoder.end()) this.#show(entry);
    this.flush();
  }

  /** Shows the text that was held back because a secret could have begun in it. Nothing more follows. */
  flush(): void {
    for (const stream of ["out", "err"] as const) this.#print(stream, this.#redactors[stream].end());
  }

  /** How many secrets were replaced in console text. */
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

  /** The last text on stderr that was no console entry, such as the last words of a dying V8. */
  get stderrTail(): string {
    return this.#tail;
  }

  /** What `console.log` printed, cut at its cap. */
  get consoleText(): string {
    return this.#consoleText.join("");
  }

  /** Whether `consoleText` lacks the end of what was printed. */
  get isConsoleCut(): boolean {
    return this.#isRunnersCut || this.#caps.out.truncated;
  }

  #show(entry: ConsoleEntry): void {
    if (entry.stream === "err") this.#tail = (this.#tail + entry.text).slice(-TAIL_CHARS);
    // Text past the cap is not shown, so it is not redacted either: a flood costs nothing more.
    if (this.#caps[entry.stream].truncated) return;
    const redactor = this.#redactors[entry.stream];
    const cut = CUT_ENDS.find((end) => entry.text.endsWith(end));
    if (entry.stream === "out") this.#isRunnersCut = cut !== undefined;
    if (cut === undefined) this.#print(entry.stream, redactor.push(entry.text));
    // The rest of a secret may have been cut off, so a tail that could begin one is not shown.
    else this.#print(entry.stream, redactor.push(entry.text.slice(0, -cut.length)) + cut);
  }

  #print(stream: ConsoleEntry["stream"], redacted: string): void {
    const text = this.#caps[stream].take(redacted);
    if (text === "") return;
    if (stream === "out") this.#consoleText.push(text);
    this.#onConsole({ stream, text });
  }
}
