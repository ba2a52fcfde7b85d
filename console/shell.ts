/** The document around every page of the console, with the same components as the pages that ptc writes to files. */
import { CONSOLE_PATH } from "../configuration/http-settings.ts";
import { html, Markup, type MarkupValue, renderThemes } from "../server/pages/page.ts";
import type { Session } from "./viewer.ts";

export const BASE = CONSOLE_PATH;

const PLACES = [
  ["", "Overview"],
  ["inbox", "Inbox"],
  ["runs", "Runs"],
  ["servers", "Servers"],
  ["tools", "Tools"],
  ["programs", "Programs"],
  ["rules", "Rules"],
  ["audit", "Audit"],
  ["me", "Me"],
] as const;
type Place = (typeof PLACES)[number][0];

/** What every page of one request shows. */
export interface Frame {
  readonly session: Session;
  /** The name of the project's folder. */
  readonly project: string;
  /** How many questions wait for the viewer. */
  readonly waiting: number;
  /** The names of the style and the script. A name contains a digest of the content. */
  readonly assets: AssetNames;
}

export interface AssetNames {
  readonly style: string;
  readonly script: string;
}

export interface ConsolePage {
  readonly title: string;
  readonly place: Place | undefined;
  readonly header: Markup;
  readonly main: Markup;
  readonly footer?: Markup | undefined;
  /** CSS rules for this page alone. They contain numbers, never text of a run. */
  readonly rules?: string | undefined;
  /** The run in progress that it shows. */
  readonly follows?: string | undefined;
  /** A status other than 200. */
  readonly status?: number | undefined;
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%232f5fd0'/%3E%3Cpath d='M4 5l3 3-3 3M8.5 11h4' stroke='white' stroke-width='1.6' fill='none' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E";

/** Renders a page for a viewer. The page contains no script, and no style except `rules`, which consist of numbers. */
export function renderConsolePage(page: ConsolePage, { session, project, waiting, assets }: Frame): string {
  const links = PLACES.map(([path, name]) => {
    const current = path === page.place ? html` aria-current="page"` : undefined;
    const badge =
      path === "inbox"
        ? html` <span class="badge" id="waiting"${waiting === 0 ? html` hidden` : undefined}><span>${waiting}</span><span class="unseen"> waiting</span></span>`
        : undefined;
    return html`<li><a href="${path === "" ? `${BASE}/` : `${BASE}/${path}`}"${current}>${name}${badge}</a></li>`;
  });
  const top = html`<header class="masthead">
<p class="brand"><a href="${BASE}/"><b>ptc</b> <span class="unseen">console, </span><span class="project">${project}</span></a></p>
<nav class="places" aria-label="Console"><ul>${links}</ul></nav>
${renderThemes()}
</header>`;
  return renderDocument({ ...page, assets, top, feed: true, token: session.token, waiting });
}

/** Renders a page for somebody without a session. */
export function renderBarePage(
  page: Pick<ConsolePage, "title" | "header" | "main">,
  assets: AssetNames,
): string {
  return renderDocument({ ...page, assets, top: undefined, feed: false, token: undefined, waiting: 0 });
}

interface Document extends Pick<ConsolePage, "title" | "header" | "main" | "footer" | "rules" | "follows"> {
  assets: AssetNames;
  top: Markup | undefined;
  feed: boolean;
  token: string | undefined;
  waiting: number;
}

function renderDocument(document: Document) {
  const { title, header, main, footer, rules = "", follows, assets, top, feed, waiting } = document;
  const own = rules === "" ? undefined : Markup.raw("style", rules);
  const query = follows === undefined ? "" : `?run=${encodeURIComponent(follows)}`;
  const run = follows === undefined ? undefined : html` data-run="${follows}"`;
  const data = feed ? html` data-feed="${BASE}/feed${query}" data-title="${title}"${run}` : undefined;
  return html`<!doctype html>
<html lang="en"${data}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${waiting > 0 ? `(${waiting}) ` : ""}${title} · ptc</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${BASE}/assets/${assets.style}">
${own}
<script src="${BASE}/assets/${assets.script}" defer></script>
</head>
<body class="console">
<a class="skip" href="#main">Skip to the content</a>
${top}
<main id="main" tabindex="-1">
<div class="top">
${header}
</div>
${main}
</main>
<footer>${footer ?? "Made by ptc from what it keeps. Nothing on this page comes from elsewhere."}</footer>
<p class="unseen" id="said" role="status" aria-live="polite"></p>
</body>
</html>
`.text;
}

/** The heading of a page. */
export function renderHeading(title: MarkupValue, lead: MarkupValue = ""): Markup {
  const below = lead === "" ? undefined : html`<p class="where"><span>${lead}</span></p>`;
  return html`<h1>${title}</h1>${below}`;
}

/** A form that changes something, with the token of the session. */
export function renderForm(
  action: string,
  { session }: Pick<Frame, "session">,
  content: Markup,
  attributes: Markup = html``,
): Markup {
  return html`<form method="post" action="${action}"${attributes}><input type="hidden" name="token" value="${session.token}">${content}</form>`;
}

/** The text of a page with nothing to show. */
export function renderNothing(text: MarkupValue): Markup {
  return html`<p class="empty">${text}</p>`;
}
