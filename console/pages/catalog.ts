/** The tools that programs can call. */
import { formatCount } from "../../base/quantities.ts";
import { oneLine, visibleLines } from "../../base/visible-text.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { ToolPrinter } from "../../codegen/language-printer.ts";
import { html, type Markup, renderSection, renderText } from "../../server/pages/page.ts";
import { renderLines } from "../../server/pages/run-page.ts";
import { shortToolName, showJson, showText, splitLines } from "../../server/reports/run-overview.ts";
import { BASE, type ConsolePage, renderHeading, renderNothing } from "../shell.ts";

interface ToolsPage {
  query: string;
  server: string;
  catalog: ToolCatalog;
  /** What a search has found; all tools without one. */
  tools: readonly Tool[];
  total: number;
  fitsPoorly: boolean;
}

export const MAX_SHOWN_TOOLS = 100;

export function renderTools({ query, server, catalog, tools, total, fitsPoorly }: ToolsPage): ConsolePage {
  const options = [{ module: "", name: "all servers" }, ...catalog.servers].map(
    ({ module, name }) =>
      html`<option value="${module}"${module === server ? html` selected` : undefined}>${name}</option>`,
  );
  const items = tools.map(
    (tool) =>
      html`<li><a href="${toolAddress(tool)}"><code>${shortToolName(tool.namespacedName)}</code></a><p>${oneLine(tool.description ?? tool.title ?? "", 240)}</p></li>`,
  );
  const about =
    tools.length === 0
      ? undefined
      : html`<p class="soft">${fitsPoorly ? "Nothing fits well; these are the nearest." : total > tools.length ? `The first ${formatCount(tools.length)} of ${formatCount(total)}.` : `${formatCount(total)} ${total === 1 ? "tool" : "tools"}.`}</p>`;
  const nothing =
    catalog.servers.length === 0
      ? renderNothing(html`No tools are known yet; run <code>ptc generate</code>.`)
      : renderNothing("Nothing matches; try other words.");
  return {
    title: "Tools",
    place: "tools",
    header: renderHeading("Tools", "found as a model finds them"),
    main: html`<search><form class="filters" method="get" action="${BASE}/tools">
<label class="grow"><span>What you need, in words</span><input type="search" name="q" value="${query}" autocomplete="off" spellcheck="false"></label>
<label><span>Server</span><select name="server">${options}</select></label>
<button type="submit" class="primary">Search</button></form></search>
${about}${tools.length === 0 ? nothing : html`<ul class="cards">${items}</ul>`}`,
  };
}

export function toolAddress({ namespacedName }: Pick<Tool, "namespacedName">): string {
  return `${BASE}/tools/${encodeURIComponent(namespacedName)}`;
}

const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

/** @param trial a form to try a call. */
export async function renderTool(
  tool: Tool,
  printers: readonly ToolPrinter[],
  trial: Markup | undefined,
): Promise<ConsolePage> {
  const signatures: Markup[] = [];
  for (const printer of printers) {
    const text = `${printer.importLine(tool.module)}\n\n${visibleLines(await printer.signature(tool, "full"))}`;
    const lines = renderLines(splitLines(text), printer.language, new Map(), `${printer.language}-`);
    signatures.push(
      html`<figure class="text"><figcaption><span>${printer.language}</span></figcaption><pre class="code" tabindex="0" aria-label="Signature in ${printer.language}">${lines}</pre></figure>`,
    );
  }
  const hints = HINTS.filter((hint) => tool.annotations?.[hint] === true).map(
    (hint) => html`<em class="mark">${hint.replace("Hint", "")}</em> `,
  );
  return {
    title: shortToolName(tool.namespacedName),
    place: "tools",
    header: html`<p class="crumbs"><a href="${BASE}/tools">Tools</a></p>${renderHeading(html`<code>${shortToolName(tool.namespacedName)}</code>`, html`<code>${tool.namespacedName}</code> ${hints}`)}`,
    main: html`${renderText("What its server says of it, which nobody has checked", showText(tool.description ?? tool.title ?? "nothing", 20_000))}
${renderSection("signatures", "Signatures", html`<div class="stack">${signatures}</div>`, html`<a href="${BASE}/runs?tool=${encodeURIComponent(tool.namespacedName)}">Runs that called it</a>`)}
${trial}
${renderSection("schemas", "Schemas", html`<div class="pair">${renderText("Input", showJson(tool.inputSchema, 100_000))}${tool.outputSchema === undefined ? html`<p class="soft">It declares no output.</p>` : renderText("Output", showJson(tool.outputSchema, 100_000))}</div>`)}`,
  };
}
