import { isObject } from "../../../base/json/is-object.ts";
import { isMethod } from "../../../catalog/parse-tool.ts";
import type { Tool } from "../../../catalog/tool.ts";
import type { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import type { ExampleCall } from "../../../codegen/language-printer.ts";
import { EXTRACT_SERVER } from "../../../protocol/tools/extract-tool.ts";
import { PROGRAMS_MODULE } from "../../../protocol/tools/programs-module.ts";
import { estimateNameTokens } from "./server-names.ts";

/** What the names in an example may cost, which has that of the module and the tool once and twice. */
const MAX_NAME_TOKENS = 24;

/** Words in the name of a tool that only reads, which count where its server says nothing of it. */
const READS = /^(?:get|list|read|search|find|fetch|show|describe|view|lookup|count)$/;

/** Words that say otherwise, whatever its server says. */
const CHANGES =
  /^(?:add|append|apply|assign|cancel|clear|click|close|connect|copy|create|delete|deploy|disconnect|edit|evaluate|execute|invoke|merge|move|navigate|post|push|put|remove|rename|reset|restart|run|send|set|start|stop|submit|toggle|trigger|type|update|upload|upsert|write)$/;

/** Members of a schema beside its properties, which may ask for more than those do. */
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
 * The calls that a worked example can show, best first: of tools that only read, by what their servers say, or by their names
 * where those say nothing. They need one text or nothing. The same tools always give the same order.
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

/** The name of the one argument that a call needs, which may be any text; `""` where it needs none, `undefined` where it needs more. */
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
