import { columnsOf } from "../../base/text/text-columns.ts";
import { visibleLines } from "../../base/text/visible-text.ts";

const BAR_COLUMNS = 2;
const TAB_COLUMNS = 8;
const MIN_COLUMNS = 20;

/**
 * Marks a program's text on a terminal: each line of the screen begins with a bar, also where a long line is wrapped. So the
 * program cannot imitate a line of ptc.
 */
export class MarkedLines {
  readonly #bar: string;
  readonly #columns: () => number;
  /** Columns used in the current line; 0 when the next character begins a line. */
  #column = 0;

  /**
   * @param bar as it is printed, `BAR_COLUMNS` wide
   * @param columns tells the width of the terminal as it is now
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

  /** Returns what ends the current line; empty at the beginning of a line. */
  endLine(): string {
    if (this.#column === 0) return "";
    this.#column = 0;
    return "\n";
  }
}
