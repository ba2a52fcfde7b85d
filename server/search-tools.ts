import type { DirectoryTool } from "../catalog/tool-directory.ts";
import { toolSignature } from "../catalog/tool-signature.ts";
import { unknownServer } from "./hints.ts";
import type { CatalogView } from "./live-catalog.ts";
import { errorReply, type ToolReply, textReply } from "./reply.ts";
import type { SearchToolsArguments } from "./tool-arguments.ts";

const MAX_SUMMARY_CHARS = 160;
const MAX_NARROWING_SERVERS = 5;

/** Answers `search_tools`: whether these are all that match, then the tools, best first. */
export async function searchTools(
  { query, server, detail, limit }: SearchToolsArguments,
  view: CatalogView,
): Promise<ToolReply> {
  const { directory } = view;
  const scope = server === undefined ? undefined : directory.server(server);
  if (server !== undefined && scope === undefined) {
    return errorReply(unknownServer(server, view));
  }
  const { results, total } = await view.search(query, scope?.module, limit);
  const tools = results.flatMap(({ tool }) => directory.find(tool.namespacedName) ?? []);
  if (tools.length === 0) return textReply(nothingFound(view, scope?.module));
  const shown = await Promise.all(tools.map((tool) => render(tool, detail)));
  const lines = [completeness(tools, total, scope?.module), ...shown];
  return textReply([...lines, ...(scope === undefined ? notSearched(view) : [])].join("\n"));
}

function completeness(tools: readonly DirectoryTool[], total: number, scope: string | undefined): string {
  if (tools.length >= total) return `COMPLETE: all ${total} matches`;
  const servers = [...new Set(tools.map(({ module }) => module))].slice(0, MAX_NARROWING_SERVERS);
  const byServer = scope === undefined && servers.length > 1 ? `server (${servers.join(", ")}), ` : "";
  return `PARTIAL: the best ${tools.length} of ${total} matches; narrow with ${byServer}more specific words, or raise limit`;
}

function nothingFound({ directory, unlisted }: CatalogView, scope: string | undefined): string {
  const where = scope === undefined ? "" : ` in server '${scope}'`;
  const servers = directory.servers.map(({ module }) => module);
  const known =
    servers.length === 0 ? "no servers are known yet" : `servers are ${servers.slice(0, 50).join(", ")}`;
  return [`COMPLETE: nothing matches${where}; try other words. ${known}`, ...notSearched({ unlisted })].join(
    "\n",
  );
}

/** One line for each of the first servers whose tools are not known. */
function notSearched({ unlisted }: Pick<CatalogView, "unlisted">): string[] {
  return [...unlisted]
    .slice(0, MAX_NARROWING_SERVERS)
    .map(([name, why]) => `server '${name}' is not searched: ${why}`);
}

async function render(tool: DirectoryTool, detail: SearchToolsArguments["detail"]): Promise<string> {
  switch (detail) {
    case "name":
      return tool.namespacedName;
    case "description": {
      const text = summary(tool.description ?? tool.title ?? "");
      return text === "" ? tool.namespacedName : `${tool.namespacedName}: ${text}`;
    }
    case "signature":
      return `${tool.namespacedName}\n  ${tool.module}.${(await toolSignature(tool, "compact")).replaceAll("\n", "\n  ")}`;
  }
}

/** The first sentence, on one line. */
function summary(description: string): string {
  const [sentence = ""] = description.trim().split(/(?<=[.!?])\s|(?<=[。！？])|\n\s*\n/);
  const line = sentence.replaceAll(/\s+/g, " ").replaceAll(/[\p{Cc}\p{Cf}]/gu, "");
  return line.length <= MAX_SUMMARY_CHARS ? line : `${line.slice(0, MAX_SUMMARY_CHARS)}...`;
}
