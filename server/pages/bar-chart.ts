import { html, type Markup } from "./markup.ts";
import { renderSelection } from "./page-table.ts";

export interface ChartBar {
  name: string;
  value: number;
  /** The part of `value` that is drawn as failed. */
  bad?: number;
  /** The runs that it counts, for a link to them. */
  selection?: string | undefined;
}

/** The size of the drawing in its own units; the page stretches it. */
const HEIGHT = 100;
const SLOT = 10;
const GAP = 2;

/** Renders one bar for each name, as SVG without a script. A tooltip on each bar says what it stands for. */
export function renderBarChart(
  title: string,
  bars: readonly ChartBar[],
  show: (value: number) => string,
): Markup {
  const most = Math.max(0, ...bars.map(({ value }) => value));
  const scale = (value: number) => (most === 0 ? 0 : Number(((HEIGHT * value) / most).toFixed(2)));
  const width = bars.length * SLOT;
  const drawn = bars.map(({ name, value, bad = 0, selection }, index) => {
    const [height, badHeight] = [scale(value), scale(bad)];
    const failed = bad > 0 ? `, ${show(bad)} failed` : "";
    const x = index * SLOT + GAP / 2;
    const bar = html`<g><title>${name}: ${show(value)}${failed}</title><rect class="slot" x="${index * SLOT}" width="${SLOT}" height="${HEIGHT}"></rect><rect class="value" x="${x}" y="${HEIGHT - height}" width="${SLOT - GAP}" height="${height}"></rect>${bad > 0 ? html`<rect class="bad" x="${x}" y="${HEIGHT - badHeight}" width="${SLOT - GAP}" height="${badHeight}"></rect>` : undefined}</g>`;
    return value === 0 ? bar : renderSelection(selection, name, bar);
  });
  const [first, last] = [bars[0]?.name ?? "", bars.at(-1)?.name ?? ""];
  return html`<figure class="plot"><figcaption><span>${title}</span><span class="size">most ${show(most)}</span></figcaption>
<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}, from ${first} to ${last}, at most ${show(most)}">${drawn}</svg>
<p class="ends"><span>${first}</span><span>${last === first ? "" : last}</span></p></figure>`;
}
