import { createHash } from "node:crypto";
import { isObject, writeJson } from "../base/json.ts";
import { findSchemaProblem } from "../base/json-schema.ts";
import { countNoun, formatCount } from "../base/quantities.ts";
import { listUpTo, visibleLine, visibleLines } from "../base/visible-text.ts";
import { isMethod } from "../catalog/parse-tool.ts";
import type { Tool } from "../catalog/tool.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { isDecidedByRun } from "../configuration/policy/configured-flow.ts";
import { EXTRACT_SERVER, matchesPattern, PROGRAMS_MODULE } from "../protocol/tool-names.ts";
import { type ClientView, clientIcons, clientMeta, clientViews, isForViewsAlone } from "./client-names.ts";

/** All tools are listed if their definitions cost fewer tokens than this: 2 % of a context of 200,000 tokens. */
const AUTO_TOKENS = 4_000;

/** Stands for a missing description. Some clients require one for every tool, but MCP does not. */
const UNDESCRIBED = "Its server does not say what it does.";

/** The approximate number of characters per token in the JSON of definitions. A tokenizer would slow every start too much. */
const CHARS_PER_TOKEN = 4.4;

/** The definition of a tool in the form of `tools/list`. */
interface DirectDefinition {
  name: string;
  title?: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema?: ObjectSchema;
  annotations: Record<string, string | boolean>;
  icons?: Record<string, unknown>[];
  _meta?: Record<string, unknown>;
}

/** A server's tool that `ptc serve` lists too. */
export interface DirectTool {
  readonly tool: Tool;
  readonly definition: DirectDefinition;
  /** What the client may be given of its server, if the client can read the resources of servers. */
  readonly view?: ClientView | undefined;
  /** Whether `definition.outputSchema` is what ptc has learned of results so far, which any result may contradict. */
  readonly isLearned?: boolean;
  /** The approximate number of tokens that a model reads. */
  readonly tokens: number;
}

/** The servers' tools that `ptc serve` lists too. */
export interface DirectTools {
  /** By namespaced name. */
  readonly tools: readonly DirectTool[];
  /** The approximate number of tokens that they cost a model together. */
  readonly tokens: number;
  /** The approximate cost of all tools in tokens, if it decides what is listed. Counting stops at `AUTO_TOKENS`. */
  readonly ofAll?: number | undefined;
  /** Whether all tools are left to programs, because decisions depend on what a run has read, and a direct call by itself has read nothing. */
  readonly isApart?: boolean;
  /** The tools that should be listed but cannot be, with the reason. */
  readonly unlistable: ReadonlyMap<string, string>;
}

type Choice = Pick<Configuration, "discovery" | "direct" | "servers" | "policy" | "managed"> &
  Partial<Pick<Configuration, "labels" | "directRuns">>;

const NONE: DirectTools = { tools: [], tokens: 0, unlistable: new Map() };

/**
 * Chooses the tools that a client gets directly: those that `direct` names, or all of them. All are chosen if `discovery` is
 * `direct`, or if it is `auto`, they cost little, and each may be called on its own. The view must show every chosen tool. Methods,
 * saved programs and the model are for programs only.
 */
export function chooseDirectTools(view: Pick<ToolCatalog, "servers">, configuration: Choice): DirectTools {
  const { discovery, direct } = configuration;
  if (discovery === "search" && direct.length === 0) return NONE;
  const tools = view.servers
    .filter(({ module }) => module !== PROGRAMS_MODULE && module !== EXTRACT_SERVER)
    .flatMap((server) => server.tools.filter((tool) => !isMethod(tool)));
  const isNamed = ({ namespacedName }: Tool) => direct.some((each) => matchesPattern(each, namespacedName));
  const ofAll = discovery === "auto" ? costUpTo(tools, AUTO_TOKENS) : undefined;
  const isApart =
    discovery === "auto" && configuration.directRuns !== "conversation" && isDecidedByRun(configuration);
  const views = clientViews(configuration);
  const isWhole = views !== undefined;
  const isAll = discovery === "direct" || (ofAll !== undefined && ofAll < AUTO_TOKENS && !isApart);
  const chosen = isAll ? tools : tools.filter(isNamed);
  const names = directNames(chosen.map(({ namespacedName }) => namespacedName));
  const unlistable = new Map<string, string>();
  const listed: DirectTool[] = [];
  for (const tool of chosen) {
    const input = listableInput(tool.inputSchema);
    const view = views?.get(tool.module) ?? { module: tool.module, apps: false };
    if (isWhole && !view.apps && isForViewsAlone(tool._meta)) continue;
    if ("why" in input) unlistable.set(tool.namespacedName, `its ${input.why}`);
    else {
      const name = names.get(tool.namespacedName) ?? tool.namespacedName;
      listed.push({
        tool,
        tokens: tokensOf(tool),
        ...define(tool, name, input.schema, { isNamed: isNamed(tool), isWhole, view }),
      });
    }
  }
  listed.sort((a, b) => (a.tool.namespacedName < b.tool.namespacedName ? -1 : 1));
  return {
    tools: listed,
    tokens: listed.reduce((sum, { tokens }) => sum + tokens, 0),
    ofAll,
    isApart,
    unlistable,
  };
}

/** The approximate cost in tokens of a tool's definition: its name, its description and its arguments. */
export function tokensOf({ namespacedName, description, inputSchema }: Tool): number {
  const json = writeJson({ name: namespacedName, description, input_schema: inputSchema });
  return Math.ceil(json.length / CHARS_PER_TOKEN);
}

/** The cost of tools in tokens, at most `most`. */
function costUpTo(tools: readonly Tool[], most: number): number {
  let tokens = 0;
  for (const tool of tools) {
    tokens += tokensOf(tool);
    if (tokens >= most) return most;
  }
  return tokens;
}

interface Listing {
  /** Whether `direct` names this tool. Clients that search for tools then load it at once. */
  readonly isNamed: boolean;
  /** Whether clients have all that servers offer, and not only tools. */
  readonly isWhole: boolean;
  readonly view: ClientView;
}

function define(
  tool: Tool,
  name: string,
  inputSchema: ObjectSchema,
  { isNamed, isWhole, view }: Listing,
): Pick<DirectTool, "definition" | "view" | "isLearned"> {
  const declared = tool.outputSchema === undefined ? undefined : listableOutput(tool.outputSchema);
  const learned = isWhole && tool.learned !== undefined ? learnedOutput(tool.learned) : undefined;
  const outputSchema = declared ?? learned;
  const icons = clientIcons(tool.icons);
  // A client that cannot read resources cannot show a view.
  const said = clientMeta(tool._meta, isWhole ? view : { ...view, apps: false });
  const _meta = {
    ...said,
    ...(isNamed ? { "anthropic/alwaysLoad": true } : {}),
    ...(learned === undefined ? {} : { "ptc/learned": { calls: tool.learned?.calls } }),
  };
  const definition = {
    name,
    ...(tool.title === undefined ? {} : { title: visibleLine(tool.title) }),
    description: visibleLines(tool.description || tool.title || UNDESCRIBED),
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    annotations: hintsOf(tool.annotations ?? {}),
    ...(icons === undefined ? {} : { icons }),
    ...(Object.keys(_meta).length === 0 ? {} : { _meta }),
  };
  return { definition, ...(isWhole ? { view } : {}), ...(learned === undefined ? {} : { isLearned: true }) };
}

/**
 * What ptc has learned of a tool's results, as an output schema. Clients refuse a result that its tool's schema does not allow, so this
 * schema also allows every other object. A value that is no object is the only member `result` of one. `undefined` for results that
 * are a text, or content blocks, which a schema says nothing about.
 */
function learnedOutput({ schema, calls }: NonNullable<Tool["learned"]>): ObjectSchema | undefined {
  const { $schema: _, $defs, definitions, ...root } = schema;
  const isObjectAlone = root.type === "object";
  if (!isObjectAlone && (root.type !== "array" || isOfBlocks(root.items))) return undefined;
  const seen = isObjectAlone ? root : { type: "object", properties: { result: root } };
  const times = calls === 1 ? "1 result" : `${calls} results`;
  const usable = listable(
    {
      type: "object",
      description: `Learned by ptc from ${times}. The tool's server promises nothing, and a result may differ.`,
      anyOf: [seen, {}],
      ...($defs === undefined ? {} : { $defs }),
      ...(definitions === undefined ? {} : { definitions }),
    },
    "learned type",
  );
  return "why" in usable ? undefined : usable.schema;
}

function isOfBlocks(items: unknown): boolean {
  const { properties } = isObject(items) ? items : {};
  if (!isObject(properties) || !Object.hasOwn(properties, "type")) return false;
  return ["text", "data", "resource", "uri"].some((member) => Object.hasOwn(properties, member));
}

/** The annotations that MCP defines. One of the wrong type is ignored, except that a tool may then count as destructive. */
function hintsOf(annotations: Readonly<Record<string, unknown>>): Record<string, string | boolean> {
  const hints: Record<string, string | boolean> = {};
  for (const hint of ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]) {
    const value = Object.hasOwn(annotations, hint) ? annotations[hint] : undefined;
    if (typeof value === "boolean") hints[hint] = value;
    else if (value !== undefined && (hint === "destructiveHint" || hint === "readOnlyHint"))
      Object.assign(hints, { readOnlyHint: false, destructiveHint: true });
  }
  if (typeof annotations.title === "string") hints.title = visibleLine(annotations.title);
  return hints;
}

/** The longest tool name that every client and model accepts. */
const MAX_NAME_CHARS = 64;
const DIGEST_CHARS = 8;

/** The characters that models' APIs do not allow in tool names. MCP allows more. */
const NOT_ALLOWED = /[^A-Za-z0-9_-]/g;

/**
 * The names under which tools are listed, by their namespaced names. A name stays the same if clients and models accept it.
 * Otherwise it ends with the beginning of its digest. A name depends on the tool alone, and no two are equal.
 */
export function directNames(namespacedNames: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const give = (namespaced: string, name: string) => {
    names.set(namespaced, name);
    taken.add(name);
  };
  const sorted = [...namespacedNames].sort();
  for (const name of sorted) if (cleanName(name) === name && name.length <= MAX_NAME_CHARS) give(name, name);
  for (const name of sorted) {
    if (names.has(name)) continue;
    // A server may have named a tool so that its name collides with another.
    for (let text = name; !names.has(name); text += "\n") {
      const candidate = withDigest(name, text);
      if (!taken.has(candidate)) give(name, candidate);
    }
  }
  return names;
}

function cleanName(name: string): string {
  return name.replace(NOT_ALLOWED, "_");
}

function withDigest(name: string, text: string): string {
  const digest = createHash("sha256").update(text).digest("hex").slice(0, DIGEST_CHARS);
  return `${cleanName(name).slice(0, MAX_NAME_CHARS - DIGEST_CHARS - 1)}_${digest}`;
}

/** A schema of arguments or results in the definition of a tool (MCP 2025-11-25, "Tool"). */
type ObjectSchema = { type: "object"; [key: string]: unknown };

/** Matches the argument names that models' APIs allow. */
const ARGUMENT = /^[A-Za-z0-9_.-]{1,64}$/;
/** Keywords that models' APIs do not accept at the top of a schema of arguments. */
const NOT_ON_TOP = ["anyOf", "oneOf", "allOf", "not", "enum"];
/** Keywords that lead to schemas otherwise than by a pointer into the same schema. */
const ANCHORS = ["$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"];
/** Keywords whose values are schemas under names of the server's choice, and keywords whose values are data. */
const BY_NAME = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const DATA = new Set(["const", "default", "enum", "examples"]);

/**
 * A server's schema of arguments in a form that clients and models accept, or why they would not, in words that follow "its". A
 * client that refuses one definition refuses all definitions. A model's API refuses the whole conversation.
 */
function listableInput(schema: unknown): { schema: ObjectSchema } | { why: string } {
  const usable = listable(schema, "inputSchema");
  if ("why" in usable) return usable;
  const odd = NOT_ON_TOP.find((keyword) => Object.hasOwn(usable.schema, keyword));
  if (odd !== undefined) return { why: `inputSchema has ${odd} at its top` };
  const { properties = {} } = usable.schema;
  const named = Object.keys(isObject(properties) ? properties : {}).find((name) => !ARGUMENT.test(name));
  return named === undefined ? usable : { why: "inputSchema has an argument whose name models do not take" };
}

/** A server's schema of results in a form that clients can check; `undefined` if there is none. */
function listableOutput(schema: unknown): ObjectSchema | undefined {
  if (!isObject(schema) || schema.type !== "object") return undefined;
  const usable = listable(schema, "outputSchema");
  return "why" in usable ? undefined : usable.schema;
}

function listable(given: unknown, what: string): { schema: ObjectSchema } | { why: string } {
  // Another tool's schema could have the same `$id`. References start at the top without it.
  const { $id: _, ...schema } = isObject(given) ? given : {};
  if (!isObject(given) || (schema.type ?? "object") !== "object") return { why: `${what} is of no object` };
  const problem = findSchemaProblem(schema, []);
  if (problem !== undefined)
    return { why: `${what} is no JSON Schema: ${problem.path.join(".")} ${problem.message}` };
  const lost = findLostReference(schema, schema);
  if (lost !== undefined) return { why: `${what} refers to ${lost}` };
  return { schema: { ...(showAll(schema) as object), type: "object" } };
}

/**
 * The first reference that leads nowhere within the schema.
 *
 * @param areNames whether the keys of the value are names of the server's choice instead of keywords.
 */
function findLostReference(
  value: unknown,
  root: Record<string, unknown>,
  areNames = false,
): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, each] of Object.entries(value)) {
    if (!areNames && DATA.has(key)) continue;
    if (!areNames && key === "$ref" && !(typeof each === "string" && leadsTo(each, root)))
      return "a schema that is not in it";
    if (!areNames && (key === "$id" || ANCHORS.includes(key))) return `a schema by ${key}`;
    const lost = findLostReference(each, root, !areNames && BY_NAME.has(key));
    if (lost !== undefined) return lost;
  }
  return undefined;
}

/** Whether a JSON Pointer as a fragment (RFC 6901, section 6) leads to a schema. */
function leadsTo(reference: string, root: Record<string, unknown>): boolean {
  if (reference === "#") return true;
  if (!reference.startsWith("#/") || reference.includes("%")) return false;
  let place: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, name)) return false;
    place = (place as Record<string, unknown>)[name];
  }
  return typeof place === "boolean" || isObject(place);
}

/** The schema with hidden characters in its titles and descriptions made visible. */
function showAll(value: unknown, areNames = false): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => showAll(each));
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (areNames) return [key, showAll(each)];
      if (DATA.has(key)) return [key, each];
      const isText = (key === "description" || key === "title") && typeof each === "string";
      return [key, isText ? visibleLines(each) : showAll(each, BY_NAME.has(key))];
    }),
  );
}

const MAX_NAMES_CHARS = 300;

/** Says which tools `ptc serve` lists directly, what they cost, and why it lists no more, in one line for a person. */
export function describeDirect(
  { tools, tokens, ofAll, isApart, unlistable }: DirectTools,
  { discovery }: Pick<Configuration, "discovery">,
): string {
  const what =
    tools.length === 0
      ? "no tools are"
      : `${countNoun(tools.length, "tool")} ${tools.length === 1 ? "is" : "are"}`;
  const cost = tools.length === 0 ? "" : `, for about ${formatCount(tokens)} tokens`;
  const isDear = discovery === "auto" && ofAll !== undefined && ofAll >= AUTO_TOKENS;
  const why = isApart
    ? "; all others are for programs alone, because labels or rules go by what a run has read before"
    : isDear
      ? `; all would cost ${formatCount(AUTO_TOKENS)} or more, see \`direct\` in ptc.yaml`
      : "";
  const left = [...unlistable].map(([name, reason]) => visibleLine(`${name} (${reason})`));
  const not = left.length === 0 ? "" : `; for programs alone: ${listUpTo(left, MAX_NAMES_CHARS)}`;
  return `${what} listed beside execute_program${cost} (discovery: ${discovery})${why}${not}`;
}
