import { isObject } from "../../../base/json.ts";
import { isMethod } from "../../../catalog/parse-tool.ts";
import type { Tool } from "../../../catalog/tool.ts";
import type { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import type { ExampleCall, ProgramGuide, ToolPrinter } from "../../../codegen/language-printer.ts";
import { EXTRACT_SERVER, PROGRAMS_MODULE } from "../../../protocol/tool-names.ts";

/** A language with its guide for models. */
type GuidedLanguage = Pick<ToolPrinter, "language" | "guide">;
export type GuidedLanguages = readonly [GuidedLanguage, ...GuidedLanguage[]];

const BEFORE = `ptc runs one short program that calls many MCP tools, and returns only what the program prints. Do not use it for what your own tools do (files, shell), nor for a single call of a tool that you have directly.

1. search_tools with detail "signature" finds tools and shows how to call them.
2. execute_program runs, for example:`;

/** The example if no available tool is suitable. */
const ANY_TOOL: ExampleCall = {
  module: "<server>",
  tool: { name: "some_tool", identifier: "someTool" },
  argument: "key",
};

/** Says when to call a tool directly, if tools of servers are listed beside ptc's own. */
const DIRECT =
  "The mcp__ tools listed here are those of programs: call one directly only for one small result.";

/**
 * The instructions that a client shows its model once. At most 2,000 characters, whatever servers are configured.
 *
 * @param servers modules of all configured servers.
 * @param languages the languages of programs; the example is in the first.
 * @param examples calls of available tools; the first that the language can show is the example.
 * @param hasDirect whether tools of servers are listed beside ptc's own.
 */
export function buildInstructions(
  servers: readonly string[],
  [{ guide }, ...others]: GuidedLanguages,
  examples: readonly ExampleCall[] = [],
  hasDirect = false,
): string {
  const named = servers.filter((server) => server !== EXTRACT_SERVER);
  const asks =
    named.length === servers.length ? [] : [`${guide.extract} coerces text to such data, by a model.`];
  const known = named.length === 0 ? "No servers are configured." : `Servers: ${listServerNames(named)}`;
  const besides = others.map(({ language, guide: { brief } }) => `With language "${language}": ${brief}`);
  return [
    BEFORE,
    printExample(guide, examples),
    guide.rules,
    ...asks,
    ...besides,
    ...(hasDirect ? [DIRECT] : []),
    known,
  ].join("\n\n");
}

function printExample(guide: ProgramGuide, examples: readonly ExampleCall[]): string {
  for (const call of [...examples, ANY_TOOL]) {
    const text = guide.example(call);
    if (text !== undefined) return text;
  }
  return "";
}

/** The most tokens that the names of servers may cost: about 40 names of real servers. */
const MAX_TOKENS = 130;

/**
 * The names of servers. If there are very many, only the first are listed, followed by the number of the rest. The cost is estimated,
 * because a tokenizer would slow the start of the server too much.
 */
function listServerNames(servers: readonly string[], maxTokens = MAX_TOKENS): string {
  let tokens = 0;
  let count = 0;
  for (const name of servers) {
    tokens += estimateNameTokens(name);
    if (tokens > maxTokens) break;
    count++;
  }
  const rest = servers.length - count;
  return [...servers.slice(0, count), ...(rest === 0 ? [] : [`and ${rest} more`])].join(", ");
}

/** Estimates tokens: one for every few letters, more for digits and letters without a vowel, and one for the separator. */
function estimateNameTokens(name: string): number {
  let tokens = 1;
  for (const [part] of name.matchAll(/[a-z]+|[0-9]{1,3}|[^a-z0-9]/gi)) {
    if (part === "_") tokens += 0.25;
    else if (!/[a-z]/i.test(part)) tokens++;
    else tokens += Math.max(1, part.length / (/[aeiouy]/i.test(part) ? 4.5 : 1.3));
  }
  return tokens;
}

/** The most tokens that the names in an example may cost. The names of module and tool count twice. */
const MAX_NAME_TOKENS = 24;

/** Words in a tool's name that mark it as reading, if its server does not say so. */
const READS = /^(?:get|list|read|search|find|fetch|show|describe|view|lookup|count)$/;

/** Words in a tool's name that mark it as changing something, whatever its server says. */
const CHANGES =
  /^(?:add|append|apply|assign|cancel|clear|click|close|connect|copy|create|delete|deploy|disconnect|edit|evaluate|execute|invoke|merge|move|navigate|post|push|put|remove|rename|reset|restart|run|send|set|start|stop|submit|toggle|trigger|type|update|upload|upsert|write)$/;

/** Members of a schema that may require more than its properties do. */
const MORE = [
  "$ref",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "dependentRequired",
  "dependentSchemas",
  "minProperties",
];

/**
 * The calls that an example can show, best first. Their tools only read, by the statements of their servers or otherwise by their
 * names, and need one text or no argument. The same tools always give the same order.
 */
export function chooseExamples({ servers }: Pick<ToolCatalog, "servers">): ExampleCall[] {
  const candidates = servers
    .filter(({ module }) => module !== EXTRACT_SERVER && module !== PROGRAMS_MODULE)
    .flatMap(({ tools }): readonly Tool[] => tools)
    .flatMap((tool) => candidateOf(tool) ?? []);
  return candidates.sort(inOrder).map(({ call }) => call);
}

interface Candidate {
  call: ExampleCall;
  /** Smaller is better, the first first. */
  rank: readonly number[];
  name: string;
}

function candidateOf(tool: Tool): Candidate | undefined {
  const { module, name, identifier, annotations, inputSchema, namespacedName } = tool;
  if (isMethod(tool) || annotations?.destructiveHint === true || annotations?.readOnlyHint === false)
    return undefined;
  const saysSo = annotations?.readOnlyHint === true;
  const words = name.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase());
  const reads = words.some((word) => READS.test(word));
  if ((!saysSo && !reads) || words.some((word) => CHANGES.test(word))) return undefined;
  const argument = onlyArgument(inputSchema);
  if (argument === undefined) return undefined;
  const names = [module, module, name, name, argument].map((each) => estimateNameTokens(each));
  const tokens = names.reduce((sum, each) => sum + each, 0);
  if (tokens > MAX_NAME_TOKENS) return undefined;
  const isOld = /\bdeprecated\b/i.test(`${tool.title} ${tool.description}`);
  const rank = [isOld ? 1 : 0, argument === "" ? 1 : 0, saysSo ? 0 : 1, reads ? 0 : 1, tokens];
  return { call: { module, tool: { name, identifier }, argument }, rank, name: namespacedName };
}

function inOrder(a: Candidate, b: Candidate): number {
  const place = a.rank.findIndex((each, i) => each !== b.rank[i]);
  if (place >= 0) return (a.rank[place] ?? 0) - (b.rank[place] ?? 0);
  return a.name < b.name ? -1 : 1;
}

/** The name of the only required argument, which accepts any text; `""` if none is required, `undefined` if more is. */
function onlyArgument(schema: unknown): string | undefined {
  if (!isObject(schema) || MORE.some((member) => schema[member] !== undefined)) return undefined;
  const { required = [], properties = {} } = schema;
  if (!Array.isArray(required) || !isObject(properties)) return undefined;
  if (required.length === 0) return "";
  const [name] = required;
  if (required.length > 1 || typeof name !== "string" || !/^[a-z]\w*$/i.test(name)) return undefined;
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (!isObject(property) || property.type !== "string") return undefined;
  const isAnyText = ["enum", "const", "format", "pattern", ...MORE].every(
    (member) => property[member] === undefined,
  );
  return isAnyText ? name : undefined;
}
