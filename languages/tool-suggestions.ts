import { listUpTo, oneLine, visibleLine } from "../base/visible-text.ts";
import type { DeclaredTool } from "../codegen/language-printer.ts";
import { parseNamespacedName, serverModule, ToolNames } from "../protocol/tool-names.ts";
import type { ModuleSource } from "./module-source.ts";
import { nearestNames } from "./name-lookup.ts";

/**
 * The one place that says what a program may write for the name of a tool that there is not. It chooses among the tools that the
 * program can call, so it never names anything else.
 */

/** The names of ptc's own tools, which a model calls and a program cannot. */
export const OWN_TOOLS: readonly string[] = [
  "execute_program",
  "search_tools",
  "inspect_tool",
  "list_callable_tools",
  "read_output",
];

const MAX_MODULES = 500;
const MAX_SUGGESTED = 3;
const MAX_NAME_CHARS = 160;
const MAX_REASON_CHARS = 300;
const MAX_SERVERS_CHARS = 200;

/** A tool that a program can call, and the name by which it can. */
export interface SuggestedTool {
  tool: DeclaredTool;
  /** The tool's name as a global, or `module.function` if it has no name that only it can mean. */
  callable: string;
}

/** Whether a name is one of ptc's own tools, alone or after a server, in any spelling. */
export function isOwnTool(name: string): boolean {
  return OWN_TOOLS.some((own) => compact(own) === compact(partsOf(name).tool));
}

/** The message that a name is one of ptc's own tools. */
export function explainOwnTool(name: string): string {
  const own = OWN_TOOLS.find((each) => compact(each) === compact(partsOf(name).tool)) ?? name;
  return `the tools of ptc itself cannot be called by a program: call ${own} as a tool, before the program`;
}

/**
 * The tools that the name of an unknown tool most likely means, best first: those of that name on other servers, else the nearest
 * ones. Their modules count as used by the program, so that a replay finds the same.
 */
export async function suggestTools(name: string, source: ModuleSource): Promise<readonly SuggestedTool[]> {
  const tools = await callableTools(source);
  const names = new ToolNames(tools);
  const { server, tool: own } = partsOf(name);
  const same = tools.filter((tool) => isNamed(tool, name));
  const module = server === undefined ? undefined : serverModule(server);
  const atServer = tools.filter((tool) => tool.module === module);
  const chosen =
    same.length > 0
      ? nearestServers(module, same)
      : (nearest(own, atServer) ??
        nearest(name, tools, (tool) => names.callable(tool)) ??
        nearest(own, tools) ??
        []);
  const suggested = chosen.slice(0, MAX_SUGGESTED);
  await Promise.all([...new Set(suggested.map((tool) => tool.module))].map((each) => source.load(each)));
  return suggested.map((tool) => ({ tool, callable: names.callable(tool) }));
}

/** The tools that a name certainly means, in any spelling and with or without its server: `mcp_files_readText`, `files.read_text`. */
export async function toolsNamed(name: string, source: ModuleSource): Promise<readonly SuggestedTool[]> {
  const tools = await callableTools(source);
  if (!tools.some((tool) => isNamed(tool, name))) return [];
  return suggestTools(name, source);
}

/** What to write for a tool that a program takes from an object, as other runtimes offer one: `tools.files.readText(...)`. */
export async function toolsTakenFrom(
  object: string,
  code: string,
  source: ModuleSource,
): Promise<readonly SuggestedTool[]> {
  const called = new RegExp(
    `\\b${object}\\.[\\w.]*?call\\w*\\(\\s*["'\`]([\\w./:-]{1,160})["'\`](?:\\s*,\\s*["'\`]([\\w-]{1,80})["'\`])?`,
  ).exec(code);
  const taken = new RegExp(`\\b${object}\\.(\\w{1,80})(?:\\.(\\w{1,80}))?\\s*\\(`).exec(code);
  for (const found of [called, taken]) {
    const [, first = "", second] = found ?? [];
    if (first === "") continue;
    const named = await toolsNamed(second === undefined ? first : `${first}.${second}`, source);
    if (named.length > 0) return named;
  }
  return [];
}

/** The name with hyphens around a place in a program, which code reads as a difference: `mcp__my-server__tool`. */
export function hyphenatedAround(text: string, place: number): string | undefined {
  const from = Math.max(0, place - MAX_NAME_CHARS);
  for (const { index, 0: name } of text
    .slice(from, place + MAX_NAME_CHARS)
    .matchAll(/\bmcp__[\w$]+(?:-[\w$]+)+/g))
    if (from + index <= place && place < from + index + name.length) return name;
  return undefined;
}

/** The message for such a name. `undefined` if no tool can be meant. */
export async function explainHyphenated(name: string, source: ModuleSource): Promise<string | undefined> {
  const [meant] = await toolsNamed(name, source);
  return meant && `'${name}' is no name that code can have; write ${meant.callable}(...)`;
}

/** Like `explainUnknownTool`, for names of which nothing is known otherwise: `undefined` if there is nothing to suggest. */
export async function adviseOnUnknownTool(
  name: string,
  source: ModuleSource,
  write?: (suggested: SuggestedTool) => string,
): Promise<string | undefined> {
  const { server } = partsOf(name);
  const isDown = server !== undefined && source.unlisted?.has(serverModule(server)) === true;
  if (!isDown && !isOwnTool(name) && (await suggestTools(name, source)).length === 0) return undefined;
  return explainUnknownTool(name, source, write);
}

/** Why a program cannot call a tool by a name that no tool has, in one line: what to write instead, or why its server has none. */
export async function explainUnknownTool(
  name: string,
  source: ModuleSource,
  write: (suggested: SuggestedTool) => string = ({ callable }) => `'${callable}'`,
): Promise<string> {
  const shown = visibleLine(oneLine(name, MAX_NAME_CHARS));
  if (isOwnTool(name)) return `there is no tool '${shown}': ${explainOwnTool(name)}`;
  const { server } = partsOf(name);
  const why = server === undefined ? undefined : source.unlisted?.get(serverModule(server));
  if (why !== undefined) return `there is no tool '${shown}' yet: ${oneLine(why, MAX_REASON_CHARS)}`;
  const suggested = await suggestTools(name, source);
  if (suggested.length > 0)
    return `there is no tool '${shown}'; did you mean ${suggested.map(write).join(" or ")}?`;
  const servers = listUpTo(callableModules(source), MAX_SERVERS_CHARS);
  return `there is no tool '${shown}'${servers === "" ? "" : `; servers are ${servers}: find a tool with search_tools`}`;
}

/** The modules of servers that are in use. */
function callableModules(source: ModuleSource): string[] {
  return source.modules().filter((module) => source.unlisted?.has(module) !== true);
}

async function callableTools(source: ModuleSource): Promise<DeclaredTool[]> {
  const modules = await Promise.all(
    callableModules(source)
      .slice(0, MAX_MODULES)
      .map((module) => (source.peek ?? source.load).call(source, module)),
  );
  return modules.flatMap((module) => module?.tools.filter(({ isAvailable }) => isAvailable) ?? []);
}

/** The tools with the names nearest to a name. `undefined` if none is near. */
function nearest(
  name: string,
  tools: readonly DeclaredTool[],
  nameOf: (tool: DeclaredTool) => string = ownName,
): DeclaredTool[] | undefined {
  const near = nearestNames(name, tools.map(nameOf));
  const found = near.flatMap((each) => tools.filter((tool) => nameOf(tool) === each));
  return found.length === 0 ? undefined : found;
}

/** Tools of one name, those of the server with the nearest name first. */
function nearestServers(module: string | undefined, tools: readonly DeclaredTool[]): DeclaredTool[] {
  const near =
    module === undefined
      ? []
      : nearestNames(
          module,
          tools.map((tool) => tool.module),
        );
  const rank = (tool: DeclaredTool) => (near.includes(tool.module) ? near.indexOf(tool.module) : near.length);
  return [...tools].sort((a, b) => rank(a) - rank(b));
}

function isNamed(tool: DeclaredTool, name: string): boolean {
  const { tool: own } = partsOf(name);
  const [whole, part] = [compact(name), compact(own)];
  return [tool.identifier, ownName(tool)].map(compact).some((each) => {
    const atServer = compact(tool.module) + each;
    return each === part || [each, atServer, `mcp${atServer}`].includes(whole);
  });
}

function ownName({ namespacedName, identifier }: DeclaredTool): string {
  return parseNamespacedName(namespacedName)?.tool ?? identifier;
}

/** The server and the tool that a name names, as `mcp__server__tool`, `server.tool`, `server/tool` or `server__tool`. */
function partsOf(name: string): { server: string | undefined; tool: string } {
  const parsed = parseNamespacedName(name);
  if (parsed !== undefined) return { server: parsed.module, tool: parsed.tool };
  const [, server, tool] = /^(?:mcp[._:/-]+|servers[./]+)?(.+?)(?:__|[./:])([^./:]+)$/.exec(name) ?? [];
  return server === undefined || tool === undefined ? { server: undefined, tool: name } : { server, tool };
}

function compact(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}
