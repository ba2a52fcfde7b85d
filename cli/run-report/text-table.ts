/** A cell of a table: its text, and what is printed instead of it, in colour, which is as wide. */
export interface Cell {
  text: string;
  style?: (text: string) => string;
  align?: "right";
}

/** Lines of cells, each column as wide as its widest cell. Nothing follows the last one. */
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
