import type { CallLimits } from "../../broker/sandbox-connection.ts";
import { ConsoleDecoder, type ConsoleEntry, type DecodedEntry } from "../../protocol/console-stream.ts";
import { MAX_RAW_STREAM_BYTES } from "../../protocol/limits.ts";
import { markAtEnd, TextCap } from "../../protocol/text-cap.ts";
import type { SandboxOutput } from "../../sandbox/sandbox.ts";
import { Redactor } from "../../secrets/redaction.ts";
import type { TextStream } from "../../secrets/text-redaction.ts";
import { noteMedia } from "./media-notes.ts";

const LINE_FEED = 0x0a;
const TAIL_CHARS = 8_192;
/** The most bytes of a console record for each byte of its text: JSON escapes take up to six, its frame a little more. */
const ESCAPED = 8;

export interface OutputLimits {
  maxOutputBytes: number;
  /** How much of the console text and of the result is kept; `maxOutputBytes` by default. */
  maxKeptBytes?: number | undefined;
  maxStderrBytes: number;
  /** The limits of a result that may be larger than the output, such as one that is written to a file. */
  maxResult?: { bytes: number; values: number } | undefined;
}

export interface RunLimits extends CallLimits, OutputLimits {
  timeoutMs: number;
}

/** The most bytes of a result as JSON. */
export function maxResultBytes(limits: OutputLimits): number {
  return Math.max(maxKeptBytes(limits), limits.maxResult?.bytes ?? 0);
}

/** The most bytes of output that are kept, never fewer than are shown. */
export function maxKeptBytes({ maxOutputBytes, maxKeptBytes: most = 0 }: OutputLimits): number {
  return Math.max(maxOutputBytes, most);
}

/** Reads what a container writes, within bounds: the first line of stdout, and console entries on stderr. */
export class RunnerOutput implements SandboxOutput {
  /** Resolves with the stream on which the container wrote more than any runner writes. */
  readonly overflow: Promise<"stdout" | "stderr">;
  /** Resolves with the first line feed on stdout. */
  readonly firstLine: Promise<void>;

  readonly #maxStdoutBytes: number;
  readonly #decoder: ConsoleDecoder;
  /** The console texts of the program, and raw text that bypasses the console, such as the runtime's messages. */
  readonly #texts: Record<"out" | "err" | "raw", ConsoleText>;
  #stdout: Buffer[] = [];
  #stdoutBytes = 0;
  #stderrBytes = 0;
  #tail = "";
  #isFlushed = false;
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
    this.#decoder = new ConsoleDecoder(ESCAPED * Math.max(maxKeptBytes(limits), limits.maxStderrBytes));
    const shownErr = new TextCap(limits.maxStderrBytes);
    const text = (stream: ConsoleEntry["stream"], shown: TextCap, maxKeptBytes: number) =>
      new ConsoleText({
        redactor: redactor.stream(),
        shown,
        maxKeptBytes,
        onShown: (shownText) => onConsole({ stream, text: shownText }),
      });
    this.#texts = {
      out: text("out", new TextCap(limits.maxOutputBytes), maxKeptBytes(limits)),
      err: text("err", shownErr, limits.maxStderrBytes),
      raw: text("err", shownErr, 0),
    };
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

  /**
   * Shows the text that was held back because a secret could have begun in it. What the container writes after that is dropped: a
   * secret in pieces would no longer be recognised.
   */
  flush(): void {
    if (this.#isFlushed) return;
    this.#isFlushed = true;
    for (const text of Object.values(this.#texts)) text.end();
  }

  /** How many secrets were replaced in the kept and shown texts. */
  get redactions(): number {
    return Object.values(this.#texts).reduce((sum, { redactions }) => sum + redactions, 0);
  }

  /** Resolves when stdout and stderr have delivered at least this many bytes. */
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

  /** The kept part of what `console.log` printed. */
  get consoleText(): string {
    return this.#texts.out.kept;
  }

  /** Whether `consoleText` lacks the end of what was printed. */
  get isConsoleCut(): boolean {
    return this.#texts.out.isCut;
  }

  /** What the program wrote with `console.error` and to its stderr, cut at its cap. The runtime's own messages are not in it. */
  get stderrText(): string {
    return this.#texts.err.kept;
  }

  #show({ stream, text, isRaw }: DecodedEntry): void {
    if (stream === "err") this.#tail = (this.#tail + text).slice(-TAIL_CHARS);
    if (!this.#isFlushed) this.#texts[isRaw ? "raw" : stream].push(text);
  }
}

interface ConsoleTextOptions {
  redactor: TextStream;
  /** Bounds what is shown while the program runs. Several texts may share one cap. */
  shown: TextCap;
  /** The most bytes to keep; 0 for a text that is only shown. */
  maxKeptBytes: number;
  onShown: (text: string) => void;
}

/** One of the texts that a program writes entry by entry. Secrets are removed. Showing and keeping have separate bounds. */
class ConsoleText {
  readonly #redactor: TextStream;
  readonly #shown: TextCap;
  readonly #kept: TextCap;
  readonly #onShown: (text: string) => void;
  readonly #pieces: string[] = [];
  #isRunnersCut = false;

  constructor({ redactor, shown, maxKeptBytes, onShown }: ConsoleTextOptions) {
    this.#redactor = redactor;
    this.#shown = shown;
    this.#kept = new TextCap(maxKeptBytes);
    this.#onShown = onShown;
  }

  push(text: string): void {
    // Text past both bounds is not even redacted, so that a flood costs nothing more.
    if (this.#shown.truncated && this.#kept.truncated) return;
    const cut = markAtEnd(text, "\n");
    this.#isRunnersCut = cut !== "";
    if (cut === "") this.#take(this.#redactor.push(noteMedia(text)));
    // The rest of a secret may have been cut off, so a tail that could begin one is not shown.
    else
      this.#take(this.#redactor.push(noteMedia(text.slice(0, -cut.length))) + this.#redactor.cutOff() + cut);
  }

  /** Takes the text that was held back because a secret could have begun in it. Nothing more follows. */
  end(): void {
    this.#take(this.#redactor.end());
  }

  /** How many secrets were replaced. */
  get redactions(): number {
    return this.#redactor.count;
  }

  /** The kept text, which ends with a mark if it was cut. */
  get kept(): string {
    return this.#pieces.join("");
  }

  /** Whether `kept` lacks the end of what was written. */
  get isCut(): boolean {
    return this.#isRunnersCut || this.#kept.truncated;
  }

  #take(text: string): void {
    if (text === "") return;
    this.#pieces.push(this.#kept.take(text));
    const shown = this.#shown.take(text);
    if (shown !== "") this.#onShown(shown);
  }
}
