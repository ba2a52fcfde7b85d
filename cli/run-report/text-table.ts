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
