/** What programs can call: servers, tools and saved programs. */
import type { ToolStats } from "../../archive/run-stats.ts";
import { formatCount, formatDuration, formatShare } from "../../base/quantities.ts";
import { oneLine, visibleLines } from "../../base/visible-text.ts";
import { countTools } from "../../catalog/parse-tool.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { ToolPrinter } from "../../codegen/language-printer.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { LoginStatus } from "../../logins/logins.ts";
import type { NamedProgram } from "../../programs/saved-programs.ts";
import { html, type Markup, renderSection, renderTable, renderText } from "../../server/pages/page.ts";
import { renderLines } from "../../server/pages/run-page.ts";
import { shortToolName, showJson, showText, splitLines } from "../../server/reports/run-overview.ts";
import { BASE, type ConsolePage, renderHeading, renderNothing } from "../shell.ts";

const KINDS = {
  stdio: "command",
  http: "HTTP",
  sse: "HTTP, older form",
  openapi: "HTTP API",
  local: "commands as tools",
  functions: "functions",
  model: "model",
} as const;

const LOGINS: Readonly<Record<LoginStatus["state"], string>> = {
  logged_in: "logged in",
  ended: "has ended",
  none: "none yet",
  machine: "ptc's own",
  caller: "the caller's token",
  configured: "as configured",
};

/**
 * @param stats of the calls of the last days; `undefined` where the viewer sees none but their own runs.
 * @param logins of the viewer; `undefined` where they are not known.
 */
export function renderServers(
  { servers }: Pick<Configuration, "servers">,
  catalog: ToolCatalog,
  stats: readonly ToolStats[] | undefined,
  days: number,
  logins: readonly LoginStatus[] | undefined,
): ConsolePage {
  const called = Map.groupBy(stats ?? [], ({ server }) => server);
  const rows = servers.map(({ name, module, transport, off, description }) => {
    const listed = catalog.server(module);
    const of = called.get(name) ?? [];
    const sum = (measure: (each: ToolStats) => number) =>
      of.reduce((total, each) => total + measure(each), 0);
    const [calls, failed] = [sum((each) => each.calls), sum((each) => each.failed_calls)];
    const why = off ?? catalog.unlisted.get(module);
    const state =
      off !== undefined
        ? html`<span class="status bad">off</span>`
        : listed === undefined
          ? html`<span class="status bad">not known</span>`
          : html`<span class="status good">known</span>`;
    const about = why ?? description ?? "";
    const numbers =
      stats === undefined
        ? []
        : [
            formatCount(calls),
            failed > 0 ? html`<span class="some">${formatShare(failed, calls)}</span>` : "0",
            calls === 0 ? "" : formatDuration(sum((each) => each.duration_ms) / calls),
          ];
    return {
      cells: [
        html`<a href="${BASE}/tools?server=${encodeURIComponent(module)}">${name}</a>`,
        state,
        html`<span class="wide">${oneLine(about, 300)}</span>`,
        KINDS[transport],
        listed === undefined ? "" : formatCount(countTools(listed.tools)),
        listed === undefined
          ? ""
          : [listed.implementation.name, listed.implementation.version].join(" ").trim(),
        ...(logins === undefined ? [] : [renderLogin(logins.find((each) => each.server === name))]),
        ...numbers,
      ],
    };
  });
  const columns = [
    "Server",
    "State",
    "About",
    "Kind",
    "Tools",
    "Says that it is",
    ...(logins === undefined ? [] : ["Your login"]),
    ...(stats === undefined ? [] : ["Calls", "Failed", "A call takes"]),
  ];
  return {
    title: "Servers",
    place: "servers",
    header: renderHeading(
      "Servers",
      stats === undefined
        ? "as ptc generate saw them"
        : `as ptc generate saw them; calls of the last ${days} days`,
    ),
    main:
      rows.length === 0
        ? renderNothing(html`No server is configured. <code>ptc add NAME -- COMMAND</code> adds one.`)
        : html`<div class="left">${renderTable(columns, rows)}</div>`,
  };
}

function renderLogin(login: LoginStatus | undefined): Markup | string {
  if (login === undefined) return "";
  const { state, server, issuer } = login;
  const text = [LOGINS[state], state === "logged_in" && issuer !== undefined ? `at ${issuer}` : ""]
    .join(" ")
    .trim();
  if (state !== "ended") return html`<span class="wide">${oneLine(text, 200)}</span>`;
  return html`<span class="wide"><span class="some">${text}</span>, <code>ptc auth login ${server}</code></span>`;
}

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

export function renderPrograms(
  programs: readonly NamedProgram[],
  problems: ReadonlyMap<string, string>,
): ConsolePage {
  const items = programs.map(
    ({ name, manifest, code, language, fileName, tool }) =>
      html`<article class="saved" id="program-${name}"><h2>${name}</h2><p>${manifest.description}</p>
<p class="where"><span>${fileName}</span><span>${manifest.expose ? "a tool of ptc serve" : "called by programs and ptc run"}</span><a href="${BASE}/runs?tool=${encodeURIComponent(tool.namespacedName)}">Runs that called it</a></p>
<details class="fold"><summary>Its text and schemas</summary><figure class="text"><pre class="code" tabindex="0" aria-label="The text of ${name}">${renderLines(splitLines(code), language, new Map(), `${name}-`)}</pre></figure><div class="pair">${renderText("Input", showJson(manifest.input, 50_000))}${manifest.output === undefined ? undefined : renderText("Output", showJson(manifest.output, 50_000))}</div></details></article>`,
  );
  const wrong = [...problems].map(([name, problem]) => html`<p><strong>${name}</strong> ${problem}</p>`);
  return {
    title: "Programs",
    place: "programs",
    header: renderHeading("Programs", "saved under a name"),
    main: html`${wrong.length === 0 ? undefined : html`<div class="failure" role="note">${wrong}</div>`}${
      items.length === 0
        ? renderNothing(html`No program is saved. <code>ptc save NAME program.ts</code> saves one.`)
        : html`${items}`
    }`,
  };
}
