import type { ArchivedRun } from "../../archive/reading/archived-run.ts";
import { formatCount } from "../../host/run-report/quantities.ts";
import type { RunOverview } from "../../host/run-report/run-overview.ts";
import { syntaxOf } from "../../host/run-report/syntax-of.ts";
import { type CodeToken, tokenizeLines } from "./code-tokens.ts";
import { html, type Markup } from "./markup.ts";
import { renderSection } from "./page-parts.ts";

const MAX_LINES = 5_000;
const MAX_LINE_CHARS = 2_000;

/** Renders the program, with the lines marked that its error names. */
export function renderProgram(
  { lines, failingPlaces }: RunOverview,
  { file_name, language }: Pick<ArchivedRun["record"], "file_name" | "language">,
): Markup {
  const roles = new Map(failingPlaces.map(({ line, role }) => [line, role]));
  const code = lines.slice(0, MAX_LINES).map(cutLine).join("\n");
  const rendered = tokenizeLines(code, syntaxOf(language)).map((tokens, index) =>
    renderLine(index + 1, tokens, roles.get(index + 1)),
  );
  const hidden = lines.length - MAX_LINES;
  return renderSection(
    "program",
    "Program",
    html`<pre class="code" tabindex="0" aria-label="Program">${rendered}</pre>${hidden > 0 ? html`<p class="cut">${formatCount(hidden)} more lines are in the archive.</p>` : undefined}`,
    html`<span class="aside">${file_name} · ${formatCount(lines.length)} ${lines.length === 1 ? "line" : "lines"}</span>`,
  );
}

function renderLine(
  number: number,
  tokens: readonly CodeToken[],
  role: "failed" | "caller" | undefined,
): Markup {
  const content = tokens.map(({ kind, text }) =>
    kind === "plain" ? html`${text}` : html`<span class="${kind}">${text}</span>`,
  );
  // Screen readers do not announce the colour of a line.
  const said =
    role === undefined
      ? undefined
      : html`<span class="unseen">${role === "failed" ? "failed here: " : "called from here: "}</span>`;
  return html`<span class="line${role === undefined ? "" : ` ${role}`}" id="L${number}">${said}${content}
</span>`;
}

function cutLine(line: string): string {
  return line.length <= MAX_LINE_CHARS
    ? line
    : `${line.slice(0, MAX_LINE_CHARS)} ... (${formatCount(line.length)} characters)`;
}
