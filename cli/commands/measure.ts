import { jsonLine, writeJson } from "../../base/json.ts";
import { countTools, isMethod } from "../../catalog/parse-tool.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { loadPrinters } from "../../languages/languages.ts";
import { LOCAL_USER } from "../../project/local-user.ts";
import { EXTRACT_SERVER, PROGRAMS_MODULE } from "../../protocol/tool-names.ts";
import {
  answerInspectTool,
  answerSearchTools,
  type ShownLanguages,
} from "../../server/mcp/tools/discovery.ts";
import { buildInstructions, chooseExamples } from "../../server/mcp/tools/instructions.ts";
import { buildToolDefinitions } from "../../server/mcp/tools/own-tools.ts";
import type { ToolReply } from "../../server/mcp/tools/reply.ts";
import { chooseDirectTools, type DirectTool } from "../../tools/direct-tools.ts";
import { loadProgramTools } from "../../tools/program-tools.ts";
import {
  CONFIG,
  type CommonFlags,
  defineCommand,
  EXIT,
  type ExitCode,
  type Surroundings,
  write,
} from "../command.ts";
import { terminalOf } from "../terminal/terminal.ts";
import { NOTHING_GENERATED } from "./tools.ts";

/** `ptc measure` */
export const measureCommand = defineCommand("measure", measure, (command) =>
  command
    .description(
      "count the tokens of all tool definitions up front, against ptc's own and a session on demand",
    )
    .option(...CONFIG)
    .option("--json", "print the counts as JSON")
    .addHelpText("after", "\nExample:\n  ptc measure --json | jq .upFront.total\n"),
);

async function measure(flags: CommonFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const catalog = (await loadProgramTools(configuration)).callableFor(LOCAL_USER);
  if (catalog.servers.length === 0) await write(stderr, NOTHING_GENERATED);
  const measured = await countTokensOf(
    catalog,
    await loadPrinters(configuration.languages),
    chooseDirectTools(catalog, configuration).tools,
  );
  const text = flags.json ? jsonLine(measured) : renderTokenCounts(measured, terminalOf(stdout, env).style);
  await write(stdout, `${text}\n`);
  return EXIT.done;
}

const ALL_DIRECT = `All definitions cost little here, so a model has every tool as it would without ptc, for single calls, and execute_program for more.
What that saves are results that never reach the model (docs/savings.md) and turns, and no definitions: with \`discovery: search\`, only
ptc's own are read up front.`;

interface Row {
  name: string;
  tokens: string;
  note: string;
  /** The sum of the rows before it. */
  isTotal: boolean;
}

const BLANK: Row = { name: "", tokens: "", note: "", isTotal: false };

function part(name: string, tokens: number, note = ""): Row {
  return { name: `  ${name}`, tokens: String(tokens), note, isTotal: false };
}

function total(name: string, tokens: number, note: string): Row {
  return { name, tokens: String(tokens), note, isTotal: true };
}

/** The counts as a table. If all tools are listed directly, a text explains what the counts mean. */
export function renderTokenCounts(
  { upFront, ptc, direct, session, beforeFirstProgram }: TokenCounts,
  style: (style: "bold" | "dim", text: string) => string,
): string {
  const own = [part("tool definitions", ptc.definitions), part("instructions", ptc.instructions)];
  const rows: Row[] = [
    ...upFront.servers.map(({ server, tools, tokens }) => part(server, tokens, `${tools} tools`)),
    total("all definitions up front", upFront.total, ""),
    BLANK,
    ...own,
    total("ptc", ptc.total, direct.isAll ? "once in a conversation" : share(ptc.total, upFront.total)),
    ...(direct.tools === 0
      ? []
      : [part("direct tools", direct.total, `${direct.tools} tools, see \`discovery\``)]),
  ];
  if (direct.isAll) {
    const sum = ptc.total + direct.total;
    rows.push(BLANK, total("ptc with all tools beside it", sum, "nothing has to be looked for"));
  } else
    rows.push(
      BLANK,
      part("one search_tools", session.search, "5 signatures"),
      total("before the first program", beforeFirstProgram, share(beforeFirstProgram, upFront.total)),
      part(`${session.inspected.length} inspect_tool`, session.inspect, "tools of median size"),
      total("ptc, and a session on demand", session.total, share(session.total, upFront.total)),
    );
  const width = Math.max(...rows.map(({ name }) => name.length));
  const digits = Math.max(...rows.map(({ tokens }) => tokens.length));
  const lines = rows.map(({ name, tokens, note, isTotal }) => {
    const line = `${name.padEnd(width)}  ${tokens.padStart(digits)}`;
    return `${isTotal ? style("bold", line) : line}${note === "" ? "" : `  ${style("dim", note)}`}`.trimEnd();
  });
  return ["tokens (o200k)", ...lines, ...(direct.isAll ? ["", ALL_DIRECT] : [])].join("\n");
}

function share(part: number, whole: number): string {
  return whole === 0 ? "" : `${((100 * part) / whole).toFixed(1)} % of that`;
}

/** How many tools a typical session inspects before it writes its program. */
const INSPECTED_TOOLS = 3;

/** The tokens that tools cost a model: all of their definitions, ptc's own tools, and a session that inspects some tools. */
interface TokenCounts {
  upFront: { total: number; servers: { server: string; tools: number; tokens: number }[] };
  ptc: { total: number; definitions: number; instructions: number };
  /** The tools that are listed beside ptc's own. */
  direct: { tools: number; total: number; isAll: boolean };
  /** Zero if all tools are listed, because a model has read their definitions already. */
  session: { total: number; search: number; inspect: number; inspected: string[] };
  /** The tokens that a model has read before it writes its first program: definitions, instructions, and one search. */
  beforeFirstProgram: number;
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
