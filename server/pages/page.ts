import { hashSource, html, Markup } from "./markup.ts";

/** The style and the script of every page. Neither contains text of a run. */
export interface PageAssets {
  style: string;
  script: string;
}

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

/** The choice between light and dark colours. It works without a script, because the style depends on the checked input. */
function renderThemes(): Markup {
  const choices = ["Auto", "Light", "Dark"].map(
    (name) =>
      html`<label><input type="radio" name="theme" id="theme-${name.toLowerCase()}"${name === "Auto" ? CHECKED : undefined}><span>${name}</span></label>`,
  );
  return html`<fieldset class="themes"><legend class="unseen">Colours</legend>${choices}</fieldset>`;
}

const CHECKED = html` checked`;
