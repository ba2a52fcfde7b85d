import { formatBytes, formatInstantWithZone } from "../../base/quantities.ts";
import type { ShownText } from "../reports/shown-text.ts";
import { html, type Markup, type MarkupValue } from "./markup.ts";

/** Parts that several pages share. */

export function renderTile(name: string, value: MarkupValue, note: MarkupValue = ""): Markup {
  return html`<div class="tile"><dt>${name}</dt><dd>${value}</dd><dd class="note">${note}</dd></div>`;
}

export function renderTiles(tiles: readonly Markup[]): Markup {
  return html`<dl class="tiles">${tiles}</dl>`;
}

/** A section with its heading. @param id unique on the page. */
export function renderSection(
  id: string,
  title: MarkupValue,
  content: MarkupValue,
  aside: MarkupValue = "",
): Markup {
  return html`
<section id="${id}" aria-labelledby="${id}-title">
<div class="section-head"><h2 id="${id}-title">${title}</h2>${aside}</div>
${content}
</section>`;
}

/** A text in a scrolling box, with its size and what of it is missing. */
export function renderText(label: string, { text, bytes, cut }: ShownText, kind = ""): Markup {
  const size = cut === "" ? formatBytes(bytes) : html`<span class="cut">${cut}</span>`;
  return html`<figure class="text ${kind}"><figcaption>${label} <span class="size">${size}</span></figcaption><pre tabindex="0" aria-label="${label}">${text}</pre></figure>`;
}

export function renderTime(ms: number): Markup {
  return html`<time datetime="${new Date(ms).toISOString()}">${formatInstantWithZone(ms)}</time>`;
}
