import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatBytes, formatInstantWithZone } from "../../base/quantities.ts";
import { packageDirectory } from "../../system/package.ts";
import type { ShownText } from "../reports/run-overview.ts";

const STYLES = [
  "base.css",
  "layout.css",
  "text.css",
  "timeline.css",
  "calls.css",
  "plots.css",
  "tables.css",
  "print.css",
];
const SCRIPTS = ["themes.js", "calls.js", "timeline.js", "search.js", "runs.js"];

/** Reads the style and the script of pages from beside this module, in the sources or in the build. */
export function readPageAssets(): PageAssets {
  const built = import.meta.url.endsWith(".js");
  const folder = join(packageDirectory, built ? "dist" : "", "server/pages/assets");
  const read = (files: readonly string[]) =>
    files.map((file) => readFileSync(join(folder, file), "utf8")).join("\n");
  return { style: read(STYLES), script: read(SCRIPTS) };
}

/**
 * HTML that only this file can make, from the constant parts of a template and from escaped text. Text of a run cannot become
 * markup in any other way.
 */
export class Markup {
  readonly text: string;

  private constructor(text: string) {
    this.text = text;
  }

  static template(strings: TemplateStringsArray, values: readonly MarkupValue[]): Markup {
    return new Markup(String.raw({ raw: strings }, ...values.map(render)));
  }

  /** An element whose content browsers do not decode. @throws Error for content that would close the element. */
  static raw(element: "style" | "script", content: string): Markup {
    if (/<[/!]/.test(content)) throw new Error(`the ${element} of a page holds what would end it`);
    return new Markup(`<${element}>${content}</${element}>`);
  }
}

/** Values of a template. Text is escaped; `undefined` renders nothing. */
export type MarkupValue = string | number | undefined | Markup | readonly Markup[];

export function html(strings: TemplateStringsArray, ...values: MarkupValue[]): Markup {
  return Markup.template(strings, values);
}

/** The hash by which a content security policy allows the page's style or script (CSP level 3, section 2.3.1). */
export function hashSource(content: string): string {
  return `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
}

function render(value: MarkupValue): string {
  if (value === undefined) return "";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return escapeText(makeVisible(value));
  if (value instanceof Markup) return value.text;
  return value.map((each) => each.text).join("");
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
}

/** Replaces invisible and reordering characters: control characters by their pictures, others by U+FFFD. */
function makeVisible(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll(/[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (character) => {
      if (character === "\n" || character === "\t") return character;
      const code = character.charCodeAt(0);
      if (code < 0x20) return String.fromCharCode(0x2400 + code);
      return code === 0x7f ? "\u2421" : "\ufffd";
    });
}

/** The style and the script of every page. Neither contains text of a run. */
export interface PageAssets {
  style: string;
  script: string;
}

/** The parts of a document. */
export interface PageParts {
  title: string;
  /** CSS rules for this page alone. They contain numbers, never text of a run. */
  rules?: string;
  header: Markup;
  main: Markup;
  footer: Markup;
}

/**
 * Renders a complete document that loads nothing from elsewhere. Its policy allows only its own style and script, by their
 * hashes, so that injected markup could neither run nor load anything.
 */
export function renderPage(
  { title, rules = "", header, main, footer }: PageParts,
  assets: PageAssets,
): string {
  const style = assets.style + rules;
  const policy = [
    "default-src 'none'",
    `style-src ${hashSource(style)}`,
    `script-src ${hashSource(assets.script)}`,
    // What a program emitted is in the page itself.
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
${Markup.raw("style", style)}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
${renderThemes()}
${header}
</header>
<main id="main">
${main}
</main>
<footer>${footer}</footer>
${Markup.raw("script", assets.script)}
</body>
</html>
`;
  return page.text;
}

/** The choice between light and dark colours. It works without a script, where the style depends on the checked input. */
export function renderThemes(): Markup {
  const choices = ["Auto", "Light", "Dark"].map(
    (name) =>
      html`<label><input type="radio" name="theme" id="theme-${name.toLowerCase()}"${name === "Auto" ? CHECKED : undefined}><span>${name}</span></label>`,
  );
  return html`<fieldset class="themes"><legend class="unseen">Colours</legend>${choices}</fieldset>`;
}

const CHECKED = html` checked`;

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

/** A time in the zone of this process, with UTC beside it. The console's script puts it into the reader's zone. */
export function renderTime(ms: number): Markup {
  const instant = new Date(ms).toISOString();
  const shown = formatInstantWithZone(ms);
  const utc = shown.endsWith(" UTC")
    ? undefined
    : html` <span class="utc">${instant.slice(11, 19)} UTC</span>`;
  return html`<time datetime="${instant}">${shown}${utc}</time>`;
}

interface TableRow {
  /** One for each column. */
  cells: readonly MarkupValue[];
  /** A drawing behind the last column. */
  meter?: Markup;
  /** The selections that the row belongs to, for rows of runs. */
  selections?: readonly string[];
}

const EMPTY = html` class="empty-cell"`;

function isEmpty(cell: MarkupValue): boolean {
  return cell === undefined || (cell instanceof Markup ? cell.text === "" : cell === "");
}

/** A table whose rows become cards on a narrow screen: each cell carries its heading, and those without a value are left out. */
export function renderTable(columns: readonly string[], rows: readonly TableRow[]): Markup {
  const hasMeter = rows.some(({ meter }) => meter !== undefined);
  const headings = columns.map((column) => html`<th scope="col">${column}</th>`);
  const body = rows.map(({ cells, meter, selections }) => {
    const [first, ...others] = cells;
    const attributes = selections === undefined ? undefined : html` data-in="${selections.join(" ")}"`;
    const values = others.map(
      (cell, index) =>
        html`<td data-label="${columns[index + 1]}"${isEmpty(cell) ? EMPTY : undefined}><span>${cell}</span></td>`,
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
