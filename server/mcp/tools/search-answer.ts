import { oneLine } from "../../../base/text/one-line.ts";
import { visibleLine, visibleLines } from "../../../base/text/visible-text.ts";
import type { Tool } from "../../../catalog/tool.ts";
import type { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import { knownServers, unknownServer } from "../../../catalog/unknown-names.ts";
import type { ToolPrinter } from "../../../codegen/language-printer.ts";
import { errorReply, type ToolReply, textReply } from "./reply.ts";
import type { SearchToolsArguments } from "./tool-arguments.ts";

const MAX_SUMMARY_CHARS = 160;
const MAX_NARROWING_SERVERS = 5;
const MAX_REASON_CHARS = 300;

/** Answers `search_tools`: a line on how many tools match, then the tools, best first. */
export async function answerSearchTools(
  { query, server, detail, limit }: SearchToolsArguments,
  catalog: ToolCatalog,
  printer: ToolPrinter,
): Promise<ToolReply> {
  const scope = server === undefined ? undefined : catalog.server(server);
  if (server !== undefined && scope === undefined) {
    return errorReply(unknownServer(server, catalog));
  }
  const { tools, total } = await catalog.search(query, { server: scope?.module, limit });
  if (tools.length === 0) return textReply(nothingFound(catalog, scope?.module));
  const shown = await Promise.all(tools.map((tool) => render(tool, detail, printer)));
  const lines = [completeness(tools, total, scope?.module), ...shown];
  return textReply([...lines, ...(scope === undefined ? notSearched(catalog) : [])].join("\n"));
}

function completeness(tools: readonly Tool[], total: number, scope: string | undefined): string {
  if (tools.length >= total) return `COMPLETE: all ${total} matches`;
  const servers = [...new Set(tools.map(({ module }) => module))].slice(0, MAX_NARROWING_SERVERS);
  const byServer = scope === undefined && servers.length > 1 ? `server (${servers.join(", ")}), ` : "";
  return `PARTIAL: the best ${tools.length} of ${total} matches; narrow with ${byServer}more specific words, or raise limit`;
}

function nothingFound(catalog: ToolCatalog, scope: string | undefined): string {
  const where = scope === undefined ? "" : ` in server '${scope}'`;
  const known = knownServers(catalog.servers);
  return [`COMPLETE: nothing matches${where}; try other words. ${known}`, ...notSearched(catalog)].join("\n");
}

/** One line for each of the first servers whose tools are not known. */
function notSearched({ unlisted }: ToolCatalog): string[] {
  return [...unlisted]
    .slice(0, MAX_NARROWING_SERVERS)
    .map(([name, why]) => `server '${name}' is not searched: ${oneLine(why, MAX_REASON_CHARS)}`);
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
