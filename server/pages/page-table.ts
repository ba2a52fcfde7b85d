import { html, type Markup, type MarkupValue } from "./markup.ts";

export interface TableRow {
  /** One for each column. */
  cells: readonly MarkupValue[];
  /** A drawing behind the last column. */
  meter?: Markup;
  /** The selections that the row belongs to, for rows of runs. */
  selections?: readonly string[];
}

/** A table whose rows become cards on a narrow screen: each cell carries the heading of its column. */
export function renderTable(columns: readonly string[], rows: readonly TableRow[]): Markup {
  const hasMeter = rows.some(({ meter }) => meter !== undefined);
  const headings = columns.map((column) => html`<th scope="col">${column}</th>`);
  const body = rows.map(({ cells, meter, selections }) => {
    const [first, ...others] = cells;
    const attributes = selections === undefined ? undefined : html` data-in="${selections.join(" ")}"`;
    const values = others.map(
      (cell, index) => html`<td data-label="${columns[index + 1]}"><span>${cell}</span></td>`,
    );
    return html`<tr${attributes}><th scope="row">${first}</th>${values}${meter}</tr>`;
  });
  return html`<div class="table"><table><thead><tr>${headings}${hasMeter ? html`<td></td>` : undefined}</tr></thead><tbody>${body}</tbody></table></div>`;
}

/** A link to the list of runs that shows none but those of a selection. Without a script it leads to the whole list. */
export function renderSelection(selection: string | undefined, name: string, content: MarkupValue): Markup {
  if (selection === undefined) return html`${content}`;
  return html`<a class="select" href="#runs" data-runs="${selection}" data-name="${name}">${content}</a>`;
}
