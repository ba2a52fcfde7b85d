import { html, type Markup, type MarkupValue } from "./markup.ts";
import { formatBytes, formatInstantWithZone } from "./quantities.ts";
import type { ShownText } from "./shown-text.ts";

/** Pieces that pages share. */

export function renderTile(name: string, value: MarkupValue, note: MarkupValue = ""): Markup {
  return html`<div class="tile"><dt>${name}</dt><dd>${value}</dd><dd class="note">${note}</dd></div>`;
}

export function renderTiles(tiles: readonly Markup[]): Markup {
  return html`<dl class="tiles">${tiles}</dl>`;
}

/** @param id of the heading's section, which a page has once. */
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

/** A text in a box that scrolls, with its size and what is missing of it. */
export function renderText(label: string, { text, bytes, cut }: ShownText, kind = ""): Markup {
  const size = cut === "" ? formatBytes(bytes) : html`<span class="cut">${cut}</span>`;
  return html`<figure class="text ${kind}"><figcaption>${label} <span class="size">${size}</span></figcaption><pre tabindex="0" aria-label="${label}">${text}</pre></figure>`;
}

export function renderTime(ms: number): Markup {
  return html`<time datetime="${new Date(ms).toISOString()}">${formatInstantWithZone(ms)}</time>`;
}
