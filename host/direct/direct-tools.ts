import { visibleLine, visibleLines } from "../../base/text/visible-text.ts";
import { isMethod } from "../../catalog/parse-tool.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import { EXTRACT_SERVER } from "../../protocol/tools/extract-tool.ts";
import { PROGRAMS_MODULE } from "../../protocol/tools/programs-module.ts";
import { matchesPattern } from "../../protocol/tools/tool-pattern.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { isDecidedByRun } from "../configured-policy.ts";
import { directNames } from "./direct-names.ts";
import { listableInput, listableOutput, type ObjectSchema } from "./listable-schema.ts";

/** What definitions may cost so that all are listed: 2 % of a context of 200,000 tokens. */
export const AUTO_TOKENS = 4_000;

/** Some clients want a description of every tool, and MCP does not ask one of servers. */
const UNDESCRIBED = "Its server does not say what it does.";

/** JSON of definitions has about so many characters for each token. A tokenizer would cost each start more than it is worth. */
const CHARS_PER_TOKEN = 4.4;

/** The definition of a tool as `tools/list` has it. */
export interface DirectDefinition {
  name: string;
  title?: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema?: ObjectSchema;
  annotations: Record<string, string | boolean>;
  _meta?: Record<string, boolean>;
}

/** A tool that `ptc serve` has as a tool of its own. */
export interface DirectTool {
  readonly tool: Tool;
  readonly definition: DirectDefinition;
  /** About what a model reads of it. */
  readonly tokens: number;
}

/** The tools that `ptc serve` has as tools of its own. */
export interface DirectTools {
  /** By namespaced name. */
  readonly tools: readonly DirectTool[];
  /** About what they cost a model together. */
  readonly tokens: number;
  /** About what all would cost, where that decides; counted no further than to `AUTO_TOKENS`. */
  readonly ofAll?: number | undefined;
  /** Whether all are left to programs, because calls are decided by what their run has read, and a direct call has read nothing. */
  readonly isApart?: boolean;
  /** Those that are named in `direct`, or would be listed with all, and cannot be, with the reason. */
  readonly unlistable: ReadonlyMap<string, string>;
}

type Choice = Pick<Configuration, "discovery" | "direct" | "servers" | "policy" | "managed">;

const NONE: DirectTools = { tools: [], tokens: 0, unlistable: new Map() };

/**
 * Chooses the tools that somebody has directly: those that `direct` names, and all where `discovery` is `direct`, or `auto` and
 * they cost little and each may be called on its own. Only tools that the view shows are among them. Methods, saved programs and the model are for programs.
 */
export function chooseDirectTools(view: Pick<ToolCatalog, "servers">, configuration: Choice): DirectTools {
  const { discovery, direct } = configuration;
  if (discovery === "search" && direct.length === 0) return NONE;
  const tools = view.servers
    .filter(({ module }) => module !== PROGRAMS_MODULE && module !== EXTRACT_SERVER)
    .flatMap((server) => server.tools.filter((tool) => !isMethod(tool)));
  const isNamed = ({ namespacedName }: Tool) => direct.some((each) => matchesPattern(each, namespacedName));
  const ofAll = discovery === "auto" ? costUpTo(tools, AUTO_TOKENS) : undefined;
  const isApart = discovery === "auto" && isDecidedByRun(configuration);
  const isAll = discovery === "direct" || (ofAll !== undefined && ofAll < AUTO_TOKENS && !isApart);
  const chosen = isAll ? tools : tools.filter(isNamed);
  const names = directNames(chosen.map(({ namespacedName }) => namespacedName));
  const unlistable = new Map<string, string>();
  const listed: DirectTool[] = [];
  for (const tool of chosen) {
    const input = listableInput(tool.inputSchema);
    if ("why" in input) unlistable.set(tool.namespacedName, `its ${input.why}`);
    else {
      const name = names.get(tool.namespacedName) ?? tool.namespacedName;
      listed.push({
        tool,
        tokens: tokensOf(tool),
        definition: define(tool, name, input.schema, isNamed(tool)),
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

/** About what the definition of a tool costs a model: its name, what it does, and its arguments. */
export function tokensOf({ namespacedName, description, inputSchema }: Tool): number {
  const json = JSON.stringify({ name: namespacedName, description, input_schema: inputSchema });
  return Math.ceil(json.length / CHARS_PER_TOKEN);
}

/** What tools cost, or `most` where that is as much or more. */
function costUpTo(tools: readonly Tool[], most: number): number {
  let tokens = 0;
  for (const tool of tools) {
    tokens += tokensOf(tool);
    if (tokens >= most) return most;
  }
  return tokens;
}

/** @param isNamed whether the user asks for this tool: then clients that look for tools first are told to have it at once. */
function define(tool: Tool, name: string, inputSchema: ObjectSchema, isNamed: boolean): DirectDefinition {
  const outputSchema = tool.outputSchema === undefined ? undefined : listableOutput(tool.outputSchema);
  return {
    name,
    ...(tool.title === undefined ? {} : { title: visibleLine(tool.title) }),
    description: visibleLines(tool.description || tool.title || UNDESCRIBED),
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    annotations: hintsOf(tool.annotations ?? {}),
    ...(isNamed ? { _meta: { "anthropic/alwaysLoad": true } } : {}),
  };
}

/** The annotations as MCP has them. One of another type is none, but for what makes a tool destructive. */
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
