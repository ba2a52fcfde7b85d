import { ToolSearch } from "../../catalog/search/tool-search.ts";
import type { DirectoryTool, ToolDirectory } from "../../catalog/tool-directory.ts";
import { inspectTool } from "../../server/inspect-tool.ts";
import { buildInstructions } from "../../server/instructions.ts";
import type { ToolReply } from "../../server/reply.ts";
import { searchTools } from "../../server/search-tools.ts";
import { buildToolDefinitions } from "../../server/tool-definitions.ts";
import type { DefineCommand } from "../command.ts";
import { loadConfiguration } from "../configuration/load.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type Surroundings, write } from "../surroundings.ts";
import { terminalOf } from "../terminal.ts";
import { loadToolSet } from "../tool-set.ts";
import { NOTHING_GENERATED } from "./list.ts";

/** Tools that a typical session reads about before it writes its program. */
const INSPECTED_TOOLS = 3;

interface Measurement {
  upFront: { total: number; servers: { server: string; tools: number; tokens: number }[] };
  ptc: { total: number; definitions: number; instructions: number };
  session: { total: number; search: number; inspect: number; inspected: string[] };
}

/** `ptc measure` */
export const measureCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("measure")
    .description(
      "count the tokens of all tool definitions up front, against ptc's own and a session on demand",
    )
    .option("--config <file>", "configuration file")
    .option("--json", "print the counts as JSON")
    .addHelpText("after", "\nExample:\n  ptc measure --json | jq .upFront.total\n")
    .action(async (flags: { config?: string; json?: boolean }) => {
      finish(await measure(flags, surroundings));
    });
};

async function measure(
  flags: { config?: string; json?: boolean },
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const { directory } = await loadToolSet(configuration);
  if (directory.servers.length === 0) await write(stderr, NOTHING_GENERATED);
  const measured = await count(directory);
  const text = flags.json ? JSON.stringify(measured) : render(measured, terminalOf(stdout, env).style);
  await write(stdout, `${text}\n`);
  return EXIT.done;
}

async function count(directory: ToolDirectory): Promise<Measurement> {
  // Two megabytes of vocabulary, which a help text need not wait for.
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
  const tokensOf = (text: string) => countTokens(text);
  const servers = directory.servers.map(({ name, tools }) => ({
    server: name,
    tools: tools.length,
    tokens: tools.reduce((sum, tool) => sum + tokensOf(JSON.stringify(asDefinition(tool))), 0),
  }));
  const definitions = tokensOf(
    JSON.stringify(buildToolDefinitions(directory.servers.map(({ module }) => module))),
  );
  const instructions = tokensOf(buildInstructions(directory.servers.map(({ module }) => module)));
  const session = await countSession(directory, tokensOf);
  return {
    upFront: { total: servers.reduce((sum, { tokens }) => sum + tokens, 0), servers },
    ptc: { total: definitions + instructions, definitions, instructions },
    session: { ...session, total: definitions + instructions + session.search + session.inspect },
  };
}

/** One search and a look at the tools of median size that it is for. */
async function countSession(
  directory: ToolDirectory,
  tokensOf: (text: string) => number,
): Promise<Omit<Measurement["session"], "total">> {
  const bySize = directory.servers
    .flatMap(({ tools }) => tools)
    .map((tool) => ({ tool, size: JSON.stringify(asDefinition(tool)).length }))
    .sort((a, b) => a.size - b.size || (a.tool.namespacedName < b.tool.namespacedName ? -1 : 1))
    .map(({ tool }) => tool);
  const start = Math.max(0, Math.floor((bySize.length - INSPECTED_TOOLS) / 2));
  const inspected = bySize.slice(start, start + INSPECTED_TOOLS);
  const [first] = inspected;
  if (first === undefined) return { search: 0, inspect: 0, inspected: [] };
  const index = new ToolSearch();
  for (const { module, tools } of directory.servers) index.setServer(module, tools);
  const view = {
    directory,
    configured: directory.servers.map(({ module }) => module),
    unlisted: new Map<string, string>(),
    search: async (query: string, scope: string | undefined, limit: number) =>
      index.search(query, { limit, server: scope }),
  };
  const query = first.description ?? first.name;
  const found = await searchTools({ query: query.slice(0, 200), detail: "description", limit: 10 }, view);
  let inspect = 0;
  for (const { namespacedName } of inspected) {
    inspect += tokensOf(textOf(await inspectTool({ tool_name: namespacedName }, view)));
  }
  return {
    search: tokensOf(textOf(found)),
    inspect,
    inspected: inspected.map(({ namespacedName }) => namespacedName),
  };
}

/** A definition as a client hands it to its model. */
function asDefinition({ namespacedName, description, inputSchema }: DirectoryTool) {
  return { name: namespacedName, description, input_schema: inputSchema };
}

function textOf({ content }: ToolReply): string {
  return content.map(({ text }) => text).join("\n");
}

function render(
  { upFront, ptc, session }: Measurement,
  style: (style: "bold" | "dim", text: string) => string,
): string {
  const rows: [string, string, string][] = [
    ...upFront.servers.map(({ server, tools, tokens }): [string, string, string] => [
      `  ${server}`,
      String(tokens),
      `${tools} tools`,
    ]),
    ["all definitions up front", String(upFront.total), ""],
    ["", "", ""],
    ["  tool definitions", String(ptc.definitions), ""],
    ["  instructions", String(ptc.instructions), ""],
    ["ptc", String(ptc.total), share(ptc.total, upFront.total)],
    ["", "", ""],
    ["  one search_tools", String(session.search), ""],
    [`  ${session.inspected.length} inspect_tool`, String(session.inspect), "tools of median size"],
    ["ptc, and a session on demand", String(session.total), share(session.total, upFront.total)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const digits = Math.max(...rows.map(([, tokens]) => tokens.length));
  const lines = rows.map(([name, tokens, note]) => {
    const line = `${name.padEnd(width)}  ${tokens.padStart(digits)}`;
    const isTotal = name !== "" && !name.startsWith(" ");
    return `${isTotal ? style("bold", line) : line}${note === "" ? "" : `  ${style("dim", note)}`}`.trimEnd();
  });
  return ["tokens (o200k)", ...lines].join("\n");
}

function share(part: number, whole: number): string {
  return whole === 0 ? "" : `${((100 * part) / whole).toFixed(1)} % of that`;
}
