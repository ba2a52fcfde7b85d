import { hashSource, html, Markup } from "./markup.ts";

/** What every page is shown and driven by: its own, and nothing of a run's. */
export interface PageAssets {
  style: string;
  script: string;
}

export interface PageParts {
  title: string;
  /** Rules for this page alone. Numbers, never text of a run. */
  rules?: string;
  header: Markup;
  main: Markup;
  footer: Markup;
}

/**
 * One whole document that asks nobody for anything. Its policy lets nothing run or load but its own style and script, by
 * their digests, so that even markup which slipped through could do nothing.
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

/** Which colours a page has is the reader's choice. It needs no script: the style looks at what is checked. */
function renderThemes(): Markup {
  const choices = ["Auto", "Light", "Dark"].map(
    (name) =>
      html`<label><input type="radio" name="theme" id="theme-${name.toLowerCase()}"${name === "Auto" ? CHECKED : undefined}><span>${name}</span></label>`,
  );
  return html`<fieldset class="themes"><legend class="unseen">Colours</legend>${choices}</fieldset>`;
}

const CHECKED = html` checked`;
