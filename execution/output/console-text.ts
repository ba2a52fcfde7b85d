import { TextCap, TRUNCATION_MARK } from "../../protocol/text-cap.ts";
import type { TextStream } from "../../secrets/text-redaction.ts";
import { noteMedia } from "./media-notes.ts";

/** How a text ends that the runner has cut. The mark is on a line of its own; the second form is for an empty text. */
const CUT_ENDS = [`\n${TRUNCATION_MARK}\n`, `${TRUNCATION_MARK}\n`];

interface ConsoleTextOptions {
  redactor: TextStream;
  /** Bounds what is shown while the program runs. Texts may share one. */
  shown: TextCap;
  /** The most bytes that are kept; 0 for a text that is only shown. */
  maxKeptBytes: number;
  onShown: (text: string) => void;
}

/** One of the texts that a program writes, entry by entry: without secrets, shown within one bound and kept within another. */
export class ConsoleText {
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
    // Text past both bounds is not redacted either: a flood costs nothing more.
    if (this.#shown.truncated && this.#kept.truncated) return;
    const cut = CUT_ENDS.find((end) => text.endsWith(end));
    this.#isRunnersCut = cut !== undefined;
    if (cut === undefined) this.#take(this.#redactor.push(noteMedia(text)));
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

  /** What is kept, which ends with a mark where it was cut. */
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
