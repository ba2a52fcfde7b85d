import type { Writable } from "node:stream";
import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** How text is shown: with colour on a terminal, plain in a pipe. */
export interface Terminal {
  /** The width of a line in characters; `undefined` for no limit. */
  readonly columns: number | undefined;
  style(style: Style, text: string): string;
}

/** Uses colour on a terminal, unless NO_COLOR or FORCE_COLOR says otherwise. */
export function terminalOf(
  stream: Writable & { isTTY?: boolean; columns?: number },
  env: Readonly<Record<string, string | undefined>>,
): Terminal {
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0";
  const colours = forced || (stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb");
  return {
    columns: stream.isTTY === true ? stream.columns || 80 : undefined,
    style: (style, text) => (colours ? styleText(style, text, { validateStream: false }) : text),
  };
}

/** A cell of a table: its text, and a function that adds colour to it without changing its width. */
export interface Cell {
  text: string;
  style?: (text: string) => string;
  align?: "right";
}

/** Lays out lines of cells. Each column is as wide as its widest cell, except the last, which is not padded. */
export function layOutTable(rows: readonly (readonly Cell[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach(({ text }, column) => {
      widths[column] = Math.max(widths[column] ?? 0, text.length);
    });
  }
  return rows.map((row) =>
    row
      .map(({ text, style = asIs, align }, column) => {
        const padding = " ".repeat((widths[column] ?? 0) - text.length);
        if (align === "right") return padding + style(text);
        return column === row.length - 1 ? style(text) : style(text) + padding;
      })
      .join("  ")
      .trimEnd(),
  );
}

function asIs(text: string): string {
  return text;
}
