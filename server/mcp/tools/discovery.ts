import { jsonLine } from "../../../base/json.ts";
import { listUpTo, oneLine, visibleLine, visibleLines } from "../../../base/visible-text.ts";
import type { Tool } from "../../../catalog/tool.ts";
import { knownServers, type ToolCatalog, unknownServer, unknownTool } from "../../../catalog/tool-catalog.ts";
import { describeTool } from "../../../codegen/describe-tool.ts";
import type { ToolPrinter } from "../../../codegen/language-printer.ts";
import { languageNamed, pickPrinter, whyNotOn } from "../../../languages/languages.ts";
import type { InspectToolArguments, ListCallableToolsArguments, SearchToolsArguments } from "./own-tools.ts";
import { errorReply, type ToolReply, textReply } from "./reply.ts";

const MAX_SUMMARY_CHARS = 160;
const MAX_NARROWING_SERVERS = 5;
const MAX_REASON_CHARS = 300;
const MAX_UNTOLD_CHARS = 300;
/** How many tools are shown when none fits well. */
const MAX_NEAREST = 5;

/** By server, the reason why it is not searched, as earlier answers to the client gave it. */
export type ToldReasons = Map<string, string>;

/**
 * Answers `search_tools`: first a line that says how many tools match or that none fits well, then the tools, best first.
 *
 * @param told the reasons in earlier answers to the same client why servers are not searched. This function updates it.
 */
export async function answerSearchTools(
  { query, server, detail, limit, language }: SearchToolsArguments,
  catalog: ToolCatalog,
  printers: ShownLanguages,
  told: ToldReasons = new Map(),
): Promise<ToolReply> {
  const off = whyOff(language, printers);
  if (off !== undefined) return errorReply(off);
  const printer = chosenPrinter(language, printers);
  const scope = server === undefined ? undefined : catalog.server(server);
  if (server !== undefined && scope === undefined) {
    return errorReply(unknownServer(server, catalog));
  }
  const { tools, total, fitsPoorly } = await catalog.search(query, { server: scope?.module, limit });
  if (tools.length === 0) {
    const nothing = `COMPLETE: nothing matches${within(scope?.module)}; try other words. ${knownServers(catalog.servers)}`;
    return textReply([nothing, ...notSearched(catalog, told)].join("\n"));
  }
  const nearest = fitsPoorly ? tools.slice(0, MAX_NEAREST) : tools;
  // A model does not need the signature of a tool that does something else.
  const shownAs = fitsPoorly && detail === "signature" ? "description" : detail;
  const shown = await Promise.all(nearest.map((tool) => render(tool, shownAs, printer)));
  const first = fitsPoorly
    ? `NOTHING FITS WELL${within(scope?.module)}: perhaps no tool does this; ${knownServers(catalog.servers)}. The nearest:`
    : completeness(tools, total, scope?.module);
  return textReply([first, ...shown, ...(scope === undefined ? notSearched(catalog, told) : [])].join("\n"));
}

function completeness(tools: readonly Tool[], total: number, scope: string | undefined): string {
  if (tools.length >= total) return `COMPLETE: all ${total} matches`;
  const servers = [...new Set(tools.map(({ module }) => module))].slice(0, MAX_NARROWING_SERVERS);
  const byServer = scope === undefined && servers.length > 1 ? `server (${servers.join(", ")}), ` : "";
  return `PARTIAL: the best ${tools.length} of ${total} matches; narrow with ${byServer}more specific words, or raise limit`;
}

function within(scope: string | undefined): string {
  return scope === undefined ? "" : ` in server '${scope}'`;
}

/**
 * One line for each of the first servers whose tools are unknown, and one line that names the servers that earlier answers covered.
 * A reason in which only numbers have changed counts as the same.
 */
function notSearched({ unlisted }: ToolCatalog, told: ToldReasons): string[] {
  for (const name of told.keys()) if (!unlisted.has(name)) told.delete(name);
  const reasons = [...unlisted].map(([name, why]) => ({ name, why, key: why.replaceAll(/\d+/g, "#") }));
  const known = reasons.filter(({ name, key }) => told.get(name) === key).map(({ name }) => name);
  const news = reasons.filter(({ name, key }) => told.get(name) !== key).slice(0, MAX_NARROWING_SERVERS);
  for (const { name, key } of news) told.set(name, key);
  const again =
    known.length === 0 ? [] : [`not searched either, as said before: ${listUpTo(known, MAX_UNTOLD_CHARS)}`];
  const lines = news.map(
    ({ name, why }) => `server '${name}' is not searched: ${oneLine(why, MAX_REASON_CHARS)}`,
  );
  return [...lines, ...again];
}

async function render(
  tool: Tool,
  detail: SearchToolsArguments["detail"],
  printer: ToolPrinter,
): Promise<string> {
  const name = visibleLine(tool.namespacedName);
  switch (detail) {
    case "name":
      return name;
    case "description": {
      const text = summary(tool.description ?? tool.title ?? "");
      return text === "" ? name : `${name}: ${text}`;
    }
    case "signature":
      return `${name}\n  ${tool.module}.${visibleLines(await printer.signature(tool, "compact")).replaceAll("\n", "\n  ")}`;
  }
}

/** The first sentence, on one line. */
function summary(description: string): string {
  const [sentence = ""] = description.trim().split(/(?<=[.!?])\s|(?<=[。！？])|\n\s*\n/);
  return oneLine(sentence, MAX_SUMMARY_CHARS);
}

/** Answers `inspect_tool`: the server's description of a tool as JSON, or only its signature. */
export async function answerInspectTool(
  { tool_name, format, language }: InspectToolArguments,
  catalog: ToolCatalog,
  printers: ShownLanguages,
): Promise<ToolReply> {
  const off = whyOff(language, printers);
  if (off !== undefined) return errorReply(off);
  const tool = catalog.find(tool_name);
  if (tool === undefined) return errorReply(unknownTool(tool_name, catalog));
  if (format === "schema") return textReply(jsonLine(describeTool(tool)));
  return textReply(visibleLines(await chosenPrinter(language, printers).signature(tool, "full")));
}

/** The most names that one answer lists. With more, a model must ask server by server. */
const MAX_NAMES = 500;
const MAX_COUNTS_CHARS = 8_000;

/**
 * Answers `list_callable_tools`: a sorted JSON array of namespaced names. If all servers together have more than 500 tools, the
 * answer is the number of tools of each server.
 */
export function answerListCallableTools(
  { server }: ListCallableToolsArguments,
  catalog: ToolCatalog,
): ToolReply {
  if (server === undefined) {
    const names = catalog.names();
    return textReply(names.length <= MAX_NAMES ? jsonLine(names) : renderCounts(catalog, names.length));
  }
  const scope = catalog.server(server);
  if (scope === undefined) return errorReply(unknownServer(server, catalog));
  return textReply(jsonLine(scope.tools.map(({ namespacedName }) => namespacedName).sort()));
}

function renderCounts({ servers }: ToolCatalog, total: number): string {
  const counts = servers.map(({ module, tools }) => `${module} ${tools.length}`);
  return `${total} tools are too many for one list. Name a \`server\` for its tools, or use search_tools. Tools by server: ${listUpTo(counts, MAX_COUNTS_CHARS)}`;
}

/** The printers of the languages that are on. The first is for programs that name no language. */
export type ShownLanguages = readonly [ToolPrinter, ...ToolPrinter[]];

/** Why the requested language cannot be used, and what to do; `undefined` when it can be used, or none is requested. */
export function whyOff(name: string | undefined, printers: ShownLanguages): string | undefined {
  if (name === undefined) return undefined;
  return whyNotOn(
    languageNamed(name) ?? name,
    printers.map(({ language }) => language),
  );
}

/** The printer of the language that a request names. */
function chosenPrinter(name: string | undefined, printers: ShownLanguages): ToolPrinter {
  return pickPrinter(printers, name === undefined ? undefined : languageNamed(name));
}
