import { columnsOf, visibleLines } from "../../base/visible-text.ts";
import type { OnPhase } from "../../protocol/run-context.ts";
import { cutToBytes, TRUNCATION_MARK } from "../../protocol/text-cap.ts";
import type { Surroundings } from "../surroundings.ts";
import { terminalOf } from "./terminal.ts";

const CUT = `\n${TRUNCATION_MARK}\n`;

/** The share of the limit for stderr that is reserved for ptc's own lines, so that a program cannot use it up. */
const OWN_PART = 1 / 8;
/** The most bytes that are reserved. */
const MAX_OWN_BYTES = 8 * 1024;

/** The width of a terminal that does not report one. */
const COLUMNS = 80;

/** How long a person's program waits for its type check. A person would rather wait than run it unchecked. */
export const CHECK_PATIENCE_MS = 15_000;
/** After this time the person is told what ptc waits for. */
const SLOW_CHECK_MS = 2_000;

/**
 * The stderr of a command that runs a program: the program's console and ptc's own lines. In a pipe, console text is printed
 * unchanged. On a terminal each of its lines is marked as the program's, and it waits while a question is open.
 */
export class ProgramConsole {
  readonly #stderr: Surroundings["stderr"];
  readonly #marked: MarkedLines | undefined;
  readonly #bar: string;
  readonly #maxBytes: number;
  readonly #maxProgramBytes: number;
  #bytes = 0;
  #isCut = false;
  #held: { isProgram: boolean; text: string }[] | undefined;
  #slowCheck: NodeJS.Timeout | undefined;

  /** @param maxBytes bounds all that is printed here: a program's text and ptc's lines together, before they are marked */
  constructor({ stderr, env }: Pick<Surroundings, "stderr" | "env">, maxBytes: number) {
    this.#stderr = stderr;
    this.#maxBytes = maxBytes;
    this.#maxProgramBytes = maxBytes - Math.floor(Math.min(MAX_OWN_BYTES, maxBytes * OWN_PART));
    this.#bar = terminalOf(stderr, env).style("dim", "│ ");
    this.#marked = stderr.isTTY === true ? this.#mark() : undefined;
  }

  /** Prints text that a program wrote, or that quotes it. */
  print(text: string): void {
    if (this.#isCut || text === "") return;
    this.#isCut = Buffer.byteLength(text) > this.#maxProgramBytes - this.#bytes - CUT.length;
    this.#write(true, this.#isCut ? this.#cut(text, this.#maxProgramBytes) : text);
  }

  /** Prints a line of ptc's own, given without its line feed. */
  tell(line: string): void {
    const text = `${line}\n`;
    const fits = Buffer.byteLength(text) <= this.#maxBytes - this.#bytes;
    this.#write(false, fits ? text : this.#cut(text, this.#maxBytes));
  }

  /** Says on a terminal that the program waits for its type check, if that takes long. */
  readonly onPhase: OnPhase = (phase) => {
    if (phase !== "type_check" || this.#marked === undefined) return () => {};
    this.#slowCheck = setTimeout(() => this.tell("ptc: checking types ..."), SLOW_CHECK_MS);
    return () => clearTimeout(this.#slowCheck);
  };

  /** Ends the current line. Later text waits for `release`. */
  hold(): void {
    this.#held ??= [];
    this.#raw(this.#marked?.endLine() ?? "");
  }

  /** Prints a part of a question at once. It does not count against `maxBytes`; the caller bounds it. */
  draw(text: string): void {
    this.#raw(text);
  }

  /** Marks text of a program or a server, for use in a question. */
  quote(text: string): string {
    const marked = this.#mark();
    return marked.push(text) + marked.endLine();
  }

  /** Prints the text that has waited since `hold`. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const { isProgram, text } of held) this.#show(isProgram, text);
  }

  /** Ends the current line, so that other output on the same terminal begins a line. */
  end(): void {
    clearTimeout(this.#slowCheck);
    this.#raw(this.#marked?.endLine() ?? "");
  }

  #mark(): MarkedLines {
    return new MarkedLines(this.#bar, () => (this.#stderr as { columns?: number }).columns || COLUMNS);
  }

  #cut(text: string, maxBytes: number): string {
    const room = maxBytes - this.#bytes - CUT.length;
    return room < 0 ? "" : cutToBytes(text, room) + CUT;
  }

  #write(isProgram: boolean, text: string): void {
    if (text === "") return;
    this.#bytes += Buffer.byteLength(text);
    const last = this.#held?.at(-1);
    if (this.#held === undefined) this.#show(isProgram, text);
    else if (last?.isProgram === isProgram) last.text += text;
    else this.#held.push({ isProgram, text });
  }

  #show(isProgram: boolean, text: string): void {
    if (this.#marked === undefined) this.#raw(text);
    else this.#raw(isProgram ? this.#marked.push(text) : this.#marked.endLine() + text);
  }

  #raw(text: string): void {
    if (text !== "") this.#stderr.write(text);
  }
}

const BAR_COLUMNS = 2;
const TAB_COLUMNS = 8;
const MIN_COLUMNS = 20;

/**
 * Marks a program's text on a terminal. Each line of the screen begins with a bar, even where a long line wraps, so that the program
 * cannot imitate a line of ptc.
 */
class MarkedLines {
  readonly #bar: string;
  readonly #columns: () => number;
  /** Columns used in the current line; 0 when the next character begins a line. */
  #column = 0;

  /**
   * @param bar the printed bar, `BAR_COLUMNS` wide
   * @param columns returns the present width of the terminal
   */
  constructor(bar: string, columns: () => number) {
    this.#bar = bar;
    this.#columns = columns;
  }

  /** Marks the next piece of text. */
  push(text: string): string {
    const columns = Math.max(MIN_COLUMNS, this.#columns());
    const parts: string[] = [];
    const put = (piece: string, width: number) => {
      if (this.#column + width > columns) {
        parts.push("\n");
        this.#column = 0;
      }
      if (this.#column === 0) {
        parts.push(this.#bar);
        this.#column = BAR_COLUMNS;
      }
      parts.push(piece);
      this.#column += width;
    };
    for (const character of visibleLines(text)) {
      if (character === "\n") {
        put("\n", 0);
        this.#column = 0;
      } else if (character === "\t") {
        const width = TAB_COLUMNS - ((Math.max(this.#column, BAR_COLUMNS) - BAR_COLUMNS) % TAB_COLUMNS);
        put(" ".repeat(width), width);
      } else put(character, columnsOf(character));
    }
    return parts.join("");
  }

  /** Returns the text that ends the current line; empty at the beginning of a line. */
  endLine(): string {
    if (this.#column === 0) return "";
    this.#column = 0;
    return "\n";
  }
}
