/** Measures what tools cost a model, with ptc and without it. */
import { writeJson } from "../base/json.ts";
import { countTools, isMethod } from "../catalog/parse-tool.ts";
import type { Tool } from "../catalog/tool.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import { loadPrinters } from "../languages/languages.ts";
import { EXTRACT_SERVER, PROGRAMS_MODULE } from "../protocol/tool-names.ts";
import { answerInspectTool, answerSearchTools, type ShownLanguages } from "../server/mcp/tools/discovery.ts";
import { buildInstructions, chooseExamples } from "../server/mcp/tools/instructions.ts";
import { buildToolDefinitions } from "../server/mcp/tools/own-tools.ts";
import type { ToolReply } from "../server/mcp/tools/reply.ts";
import { chooseDirectTools, type DirectTool } from "../tools/direct-tools.ts";
import { loadProgramTools } from "../tools/program-tools.ts";
import { LOCAL_USER } from "./local-user.ts";
import type { Project } from "./open-project.ts";

/** How many tools a typical session inspects before it writes its program. */
const INSPECTED_TOOLS = 3;

/** The tokens that tools cost a model: all of their definitions, ptc's own tools, and a session that inspects some tools. */
export interface TokenCounts {
  upFront: { total: number; servers: { server: string; tools: number; tokens: number }[] };
  ptc: { total: number; definitions: number; instructions: number };
  /** The tools that are listed beside ptc's own. */
  direct: { tools: number; total: number; isAll: boolean };
  /** Zero if all tools are listed, because a model has read their definitions already. */
  session: { total: number; search: number; inspect: number; inspected: string[] };
  /** The tokens that a model has read before it writes its first program: definitions, instructions, and one search. */
  beforeFirstProgram: number;
}

/** Counts the tokens that the tools of a project cost the local user's model. @throws CatalogError */
export async function measureProject({ configuration }: Project): Promise<TokenCounts> {
  const catalog = (await loadProgramTools(configuration)).callableFor(LOCAL_USER);
  const printers = await loadPrinters(configuration.languages);
  return countTokensOf(catalog, printers, chooseDirectTools(catalog, configuration).tools);
}

/**
 * Counts tokens with the `o200k` vocabulary.
 *
 * @param printers show tools in the languages of programs.
 * @param listed the tools that are listed beside ptc's own.
 */
export async function countTokensOf(
  catalog: ToolCatalog,
  printers: ShownLanguages,
  listed: readonly DirectTool[],
): Promise<TokenCounts> {
  // The vocabulary has two megabytes, so it is loaded only here and not for a help text.
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
  const tokensOf = (text: string) => countTokens(text);
  const servers = catalog.servers.map(({ name, tools }) => ({
    server: name,
    tools: countTools(tools),
    // No client shows a model a server's methods as tools.
    tokens: tools
      .filter((tool) => !isMethod(tool))
      .reduce((sum, tool) => sum + tokensOf(writeJson(asDefinition(tool))), 0),
  }));
  const modules = catalog.servers.map(({ module }) => module);
  const definitions = tokensOf(JSON.stringify(buildToolDefinitions(modules, printers)));
  const instructions = tokensOf(
    buildInstructions(modules, printers, chooseExamples(catalog), listed.length > 0),
  );
  const direct = listed.reduce((sum, { tool }) => sum + tokensOf(writeJson(asDefinition(tool))), 0);
  const always = definitions + instructions + direct;
  const isAll = listed.length > 0 && listable(catalog).length === listed.length;
  const session = isAll
    ? { search: 0, inspect: 0, inspected: [] }
    : await countSession(catalog, printers, tokensOf);
  return {
    upFront: { total: servers.reduce((sum, { tokens }) => sum + tokens, 0), servers },
    ptc: { total: definitions + instructions, definitions, instructions },
    direct: { tools: listed.length, total: direct, isAll },
    session: { ...session, total: always + session.search + session.inspect },
    beforeFirstProgram: always + session.search,
  };
}

/** The tools that can be listed beside ptc's own: those of servers. */
function listable({ servers }: ToolCatalog): Tool[] {
  return servers
    .filter(({ module }) => module !== PROGRAMS_MODULE && module !== EXTRACT_SERVER)
    .flatMap(({ tools }) => tools.filter((tool) => !isMethod(tool)));
}

/** One search, and the inspection of tools of median size. */
async function countSession(
  catalog: ToolCatalog,
  printers: ShownLanguages,
  tokensOf: (text: string) => number,
): Promise<Omit<TokenCounts["session"], "total">> {
  const bySize = catalog.servers
    .flatMap(({ tools }) => tools.filter((tool) => !isMethod(tool)))
    .map((tool) => ({ tool, size: writeJson(asDefinition(tool)).length }))
    .sort((a, b) => a.size - b.size || (a.tool.namespacedName < b.tool.namespacedName ? -1 : 1))
    .map(({ tool }) => tool);
  const start = Math.max(0, Math.floor((bySize.length - INSPECTED_TOOLS) / 2));
  const inspected = bySize.slice(start, start + INSPECTED_TOOLS);
  const [first] = inspected;
  if (first === undefined) return { search: 0, inspect: 0, inspected: [] };
  const query = first.description ?? first.name;
  const found = await answerSearchTools(
    { query: query.slice(0, 200), detail: "signature", limit: 5 },
    catalog,
    printers,
  );
  let inspect = 0;
  for (const { namespacedName } of inspected) {
    inspect += tokensOf(
      textOf(await answerInspectTool({ tool_name: namespacedName, format: "schema" }, catalog, printers)),
    );
  }
  return {
    search: tokensOf(textOf(found)),
    inspect,
    inspected: inspected.map(({ namespacedName }) => namespacedName),
  };
}

/** A definition as a client gives it to its model. */
function asDefinition({ namespacedName, description, inputSchema }: Tool) {
  return { name: namespacedName, description, input_schema: inputSchema };
}

function textOf({ content }: ToolReply): string {
  return content.map(({ text }) => text).join("\n");
}
