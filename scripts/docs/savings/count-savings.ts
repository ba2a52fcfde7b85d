import { readFileSync } from "node:fs";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { isMethod } from "../../../catalog/parse-tool.ts";
import type { ServerTools } from "../../../catalog/tool.ts";
import { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import { loadConfiguration } from "../../../configuration/load.ts";
import { loadPrinters } from "../../../languages/languages.ts";
import { LOCAL_USER } from "../../../project/local-user.ts";
import { PROGRAMS_MODULE, parseNamespacedName } from "../../../protocol/tool-names.ts";
import { buildProgramReply } from "../../../server/mcp/programs/program-reply.ts";
import { answerSearchTools } from "../../../server/mcp/tools/discovery.ts";
import { buildInstructions, chooseExamples } from "../../../server/mcp/tools/instructions.ts";
import { buildToolDefinitions } from "../../../server/mcp/tools/own-tools.ts";
import type { ProgramReply } from "../../../server/mcp/tools/reply.ts";
import { executed } from "../../../tests/server/mcp/served.ts";
import { loadProgramTools } from "../../../tools/program-tools.ts";
import { CONVERSATIONS, type Conversation } from "./conversations.ts";
import { type RecordedExample, readRecorded } from "./recorded.ts";

/** What a model reads to reach a result, each text once, and the turns in which it calls tools. */
export interface Reading {
  tokens: number;
  turns: number;
}

/** One example, done in four ways. */
export interface Savings {
  program: string;
  calls: number;
  /** How many tools are connected. */
  tools: number;
  /** All definitions of the six configured servers, each call, and its result. */
  everything: Reading;
  /** The same with only the definitions of the servers whose tools are called. */
  direct: Reading;
  /** The same with only the definitions of the called tools, which one search finds. */
  searched: Reading;
  /** The same with the definitions of the five tools that each search of ptc finds, which are sent whole. */
  ranked: Reading;
  /** ptc's definitions and instructions, a search, the program, and the reply to it. */
  ptc: Reading;
  /** Tools that the program calls but its searches do not show. If there are any, the figures are not fair. */
  unseen: string[];
}

const RECIPES = join(import.meta.dirname, "../../../examples/recipes");
const SIGNATURES = 5;

/**
 * Counts all examples, from their recorded runs and the generated definitions. Tokens are those of o200k.
 *
 * @param more servers that are connected beside the six of the examples.
 */
export async function countSavings(more: readonly ServerTools[] = []): Promise<Savings[]> {
  const file = join(RECIPES, "ptc.yaml");
  const configuration = await loadConfiguration({ flag: file, env: {}, cwd: RECIPES });
  const six = (await loadProgramTools(configuration)).callableFor(LOCAL_USER);
  const catalog = more.length === 0 ? six : new ToolCatalog([...six.servers, ...more]);
  const printers = await loadPrinters(configuration.languages);
  const modules = [...configuration.servers, ...more].map(({ module }) => module);
  const own =
    tokensOf(buildToolDefinitions(modules, printers).map(asDefinition)) +
    countTokens(buildInstructions(modules, printers, chooseExamples(catalog)));
  const recorded = new Map(readRecorded().map((each) => [each.program, each]));
  const counted: Savings[] = [];
  for (const conversation of CONVERSATIONS) {
    const example = recorded.get(conversation.program);
    if (example === undefined) throw new Error(`nothing is recorded of ${conversation.program}`);
    const language = conversation.program.endsWith(".py") ? { language: "python" } : {};
    let searches = 0;
    let definitions = 0;
    let found = "";
    for (const query of conversation.queries) {
      const asked = { query, detail: "signature" as const, limit: SIGNATURES, ...language };
      const reply = await answerSearchTools(asked, catalog, printers);
      searches += callOf("mcp__ptc__search_tools", asked) + tokensOfReply(reply);
      found += textOf(reply);
      const { tools } = await catalog.search(query, { limit: SIGNATURES });
      definitions += tools.reduce((sum, tool) => sum + tokensOfTool(tool), 0);
    }
    counted.push(count(conversation, example, { catalog, own, searches, definitions, found, language }));
  }
  return counted;
}

function count(
  { program, queries, turns, look, saved }: Conversation,
  { calls, data, output, looked }: RecordedExample,
  ptc: {
    catalog: ToolCatalog;
    own: number;
    searches: number;
    definitions: number;
    found: string;
    language: object;
  },
): Savings {
  if (turns.length !== calls.length)
    throw new Error(`${program} makes ${calls.length} calls, not ${turns.length}`);
  const called = [...new Set(calls.map(({ tool }) => tool))];
  const modules = new Set(called.map((tool) => parseNamespacedName(tool)?.module));
  // Clients do not show models a server's methods as tools.
  const tools = ptc.catalog.servers
    .filter(({ module }) => module !== PROGRAMS_MODULE)
    .flatMap((server) => server.tools.filter((tool) => !isMethod(tool)));
  const definitionsOf = (shown: typeof tools) => shown.reduce((sum, tool) => sum + tokensOfTool(tool), 0);
  const made = calls.reduce((sum, call) => sum + callOf(call.tool, call.arguments) + call.result_tokens, 0);
  const inTurns = Math.max(...turns);
  const text = readFileSync(join(RECIPES, program), "utf8");
  const given = Object.keys(data).length === 0 ? {} : { data };
  const programs = [
    { code: text, ...output },
    ...(looked === undefined ? [] : [{ code: look ?? "", ...looked }]),
  ];
  const run = programs.reduce(
    (sum, { code, console, data }) =>
      sum +
      callOf("mcp__ptc__execute_program", { code, ...ptc.language, ...given }) +
      tokensOfReply(buildProgramReply(executed({ data }, { consoleText: console }), [], NO_CONTEXT)),
    0,
  );
  const asked = queries.reduce((sum, query) => sum + callOf("tool_search", { query }), 0);
  return {
    program,
    calls: calls.length,
    tools: tools.length,
    everything: { tokens: definitionsOf(tools) + made, turns: inTurns },
    direct: {
      tokens: definitionsOf(tools.filter(({ module }) => modules.has(module))) + made,
      turns: inTurns,
    },
    searched: {
      tokens:
        definitionsOf(tools.filter(({ namespacedName }) => called.includes(namespacedName))) + asked + made,
      turns: inTurns + 1,
    },
    ranked: { tokens: ptc.definitions + asked + made, turns: inTurns + 1 },
    ptc: { tokens: ptc.own + ptc.searches + run, turns: 1 + programs.length },
    unseen: (saved === undefined ? called : [saved]).filter((tool) => !ptc.found.includes(`${tool}\n`)),
  };
}

const NO_CONTEXT = { isReadOnly: () => true, hints: [], maxReplyBytes: 16_384 };

type Defined = Pick<ServerTools["tools"][number], "namespacedName" | "description" | "inputSchema">;

function tokensOfTool({ namespacedName: name, description, inputSchema }: Defined): number {
  return tokensOf(asDefinition({ name, description, inputSchema }));
}

/** A definition as a client passes it to its model. */
function asDefinition({
  name,
  description,
  inputSchema,
}: {
  name: string;
  description?: string | undefined;
  inputSchema: unknown;
}) {
  return { name, description, input_schema: inputSchema };
}

function callOf(name: string, input: object): number {
  return tokensOf({ name, input });
}

function tokensOf(value: unknown): number {
  return countTokens(JSON.stringify(value));
}

function textOf({ content }: Pick<ProgramReply, "content">): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

function tokensOfReply(reply: Pick<ProgramReply, "content">): number {
  return countTokens(textOf(reply));
}
