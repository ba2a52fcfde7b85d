/** The tools that programs can call. */

import { formatCount } from "../../base/quantities.ts";
import { oneLine, visibleLines } from "../../base/visible-text.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { ToolPrinter } from "../../codegen/language-printer.ts";
import { html, type Markup, renderSection, renderText } from "../../server/pages/page.ts";
import { renderLines } from "../../server/pages/run-page.ts";
import { shortToolName, showJson, showText, splitLines } from "../../server/reports/run-overview.ts";
import { type Answers, type Asked, formOf, NotFound, RefusedError, type Routes } from "../answers.ts";
import { BASE, type ConsolePage, renderHeading, renderNothing } from "../shell.ts";
import { runAddress } from "./runs.ts";
import { readTrial, renderTrial, toolAddress } from "./trial.ts";

interface ToolsPage {
  query: string;
  server: string;
  catalog: ToolCatalog;
  /** The tools that a search found, or all tools without a search. */
  tools: readonly Tool[];
  total: number;
  fitsPoorly: boolean;
}

const MAX_SHOWN_TOOLS = 100;

function renderTools({ query, server, catalog, tools, total, fitsPoorly }: ToolsPage): ConsolePage {
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

const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

/** @param trial a form to try a call. */
async function renderTool(
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

/** The most calls in progress. */
const MAX_TRIALS = 8;

/** Registers the routes of the tools, and of trying one. */
export function catalogRoutes(app: Routes, answers: Answers): void {
  let trials = 0;
  app.get("/tools", (c) => answers.page(c, () => showTools(c)));
  app.get("/tools/:name", (c) => answers.page(c, () => showTool(c)));
  app.post("/tools/:name/call", (c) => tryCall(c));

  async function showTools(c: Asked): Promise<ConsolePage> {
    const catalog = await answers.catalog(c);
    const query = (c.req.query("q") ?? "").trim().slice(0, 500);
    const server = catalog.server(c.req.query("server") ?? "")?.module ?? "";
    if (query === "") {
      const all = catalog.servers
        .filter(({ module }) => server === "" || module === server)
        .flatMap(({ tools }) => tools);
      return renderTools({
        query,
        server,
        catalog,
        tools: all.slice(0, MAX_SHOWN_TOOLS),
        total: all.length,
        fitsPoorly: false,
      });
    }
    const found = await catalog.search(query, {
      limit: MAX_SHOWN_TOOLS,
      server: server === "" ? undefined : server,
    });
    return renderTools({ query, server, catalog, fitsPoorly: false, ...found });
  }

  async function showTool(c: Asked): Promise<ConsolePage> {
    const tool = (await answers.catalog(c)).find(c.req.param("name") ?? "");
    if (tool === undefined) throw new NotFound();
    const trial = answers.parts.call && renderTrial(tool, await answers.frame(c));
    return renderTool(tool, await answers.parts.printers(), trial);
  }

  /** Makes a call, and shows its run. A form with invalid arguments is shown again as it was sent. */
  async function tryCall(c: Asked): Promise<Response> {
    const tool = (await answers.catalog(c)).find(c.req.param("name") ?? "");
    const { call, printers } = answers.parts;
    if (tool === undefined || call === undefined)
      return answers.page(c, () => Promise.reject(new NotFound()));
    const form = await formOf(c);
    const read = readTrial(form, tool);
    if (!read.ok)
      return answers.page(c, async () => {
        const trial = renderTrial(tool, await answers.frame(c), form, read.why);
        return { ...(await renderTool(tool, await printers(), trial)), status: 400 };
      });
    return answers.act(c, async () => {
      if (trials >= MAX_TRIALS)
        throw new RefusedError(429, "Other calls are under way; try again when they have ended.");
      trials++;
      try {
        const signal = AbortSignal.any([c.req.raw.signal, answers.closing]);
        const wanted = { tool: tool.namespacedName, arguments: read.args };
        const tried = await call(c.get("session").viewer, wanted, signal);
        if ("why" in tried) throw new RefusedError(409, tried.why);
        return runAddress(tried.runId);
      } finally {
        trials--;
      }
    });
  }
}
