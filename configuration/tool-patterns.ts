/** The settings that name tools: entries of `tools`, `approvals`, `direct` and `toolsets`, and tools with their own labels. */
import { isObject } from "../base/json.ts";
import { visibleLine } from "../base/visible-text.ts";
import { similarNames } from "../catalog/search/similar-names.ts";
import {
  matchesPattern,
  mayMatchModule,
  namespacedName,
  PROGRAMS_MODULE,
  serverModule,
} from "../protocol/tool-names.ts";
import { LOCAL_SERVER } from "../upstream/local/local-tool.ts";
import type { Configuration, ToolPattern } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import type { ServerEntry } from "./settings/server-settings.ts";
import type { Settings } from "./settings/settings.ts";
import { renderPath, type YamlSource } from "./yaml-source.ts";

interface NamedServer {
  readonly name: string;
  readonly module: string;
}

/**
 * The pattern over namespaced names that an entry of `direct` means. A server's name means all tools of that server, `<server>.<tool>`
 * one of them, and a pattern itself. `undefined` for an unknown server.
 */
export function directPattern(entry: string, servers: readonly NamedServer[]): string | undefined {
  if (entry.startsWith("mcp__") || entry.startsWith("*")) return entry;
  for (const { name, module } of servers) {
    if (entry === name || entry === module) return namespacedName(module, "*");
    const [prefix] = [name, module].filter((each) => entry.startsWith(`${each}.`));
    if (prefix !== undefined) return namespacedName(module, entry.slice(prefix.length + 1));
  }
  return undefined;
}

/** The entries of `direct` and `toolsets` that name no server. Entries without a matching tool are found when the tools are known. */
export function findDirectProblems(
  { direct, toolsets, servers, tools }: Settings,
  isShort: boolean,
): Problem[] {
  const names = [...servers.map(({ name }) => name), ...(tools.local.length > 0 ? [LOCAL_SERVER] : [])];
  const named = names.map((name) => ({ name, module: serverModule(name) }));
  const problemsOf = (path: readonly string[], entries: readonly string[]) =>
    entries.flatMap((entry, index) => {
      if (directPattern(entry, named) !== undefined) return [];
      const message = `names no server; write a server's name, <server>.<tool> or mcp__<server>__<tool>; servers: ${names.join(", ") || "none"}`;
      return [{ path: [...path, index], message }];
    });
  const taken = Object.keys(toolsets).filter((name) => TAKEN.has(name));
  return [
    ...problemsOf(directPath(isShort), direct.tools),
    ...Object.entries(toolsets).flatMap(([name, entries]) => problemsOf(["toolsets", name], entries)),
    ...taken.map((name) => ({
      path: ["toolsets", name],
      message: `cannot have this name, because /mcp/${name} is something else`,
    })),
  ];
}

/** What there is below the path of MCP already. */
const TAKEN: ReadonlySet<string> = new Set(["runs", "approvals", "audit", "logins"]);

/** Whether a file has `direct` as a list, which is short for its `tools`. */
export function isShortDirect(file: unknown): boolean {
  return isObject(file) && Array.isArray(file.direct);
}

function directPath(isShort: boolean): readonly string[] {
  return isShort ? ["direct"] : ["direct", "tools"];
}

/** Every setting that names tools, with its place. */
export function locatePatterns(
  {
    servers,
    tools,
    approvals,
    direct,
    toolsets,
    interceptors,
  }: Pick<Settings, "servers" | "tools" | "approvals" | "toolsets" | "interceptors"> & {
    direct: readonly string[];
  },
  isShort: boolean,
  source: YamlSource,
): ToolPattern[] {
  return [
    ...locateOwnLabels(servers, source),
    ...locateList(["tools", "allow"], tools.allow ?? [], source),
    ...locateList(["tools", "block"], tools.block, source),
    ...locateList(["approvals", "ask"], approvals.ask, source),
    ...locateList(["approvals", "allow"], approvals.allow, source),
    ...locateList(["approvals", "reviewer", "tools"], approvals.reviewer?.tools ?? [], source),
    ...locateList(directPath(isShort), direct, source),
    ...interceptors.flatMap((each, index) =>
      locateList(["interceptors", index, "tools"], each.tools, source),
    ),
    ...Object.entries(toolsets).flatMap(([name, entries]) => locateList(["toolsets", name], entries, source)),
  ];
}

/** The tools with their own labels. */
function locateOwnLabels(servers: readonly ServerEntry[], source: YamlSource): ToolPattern[] {
  return servers.flatMap(({ name, tools = {} }, index) =>
    Object.keys(tools).map((tool) => ({
      key: `${renderPath(["servers", index, "tools"])}.${tool}`,
      pattern: namespacedName(serverModule(name), tool),
      line: source.lineOf(["servers", index, "tools", tool]),
    })),
  );
}

function locateList(
  path: readonly PropertyKey[],
  patterns: readonly string[],
  source: YamlSource,
): ToolPattern[] {
  return patterns.map((pattern, index) => ({
    key: renderPath([...path, index]),
    pattern,
    line: source.lineOf([...path, index]),
  }));
}

export interface UnmatchedPattern extends ToolPattern {
  /** One line for a person: file, line, key, and what to do. */
  message: string;
}

/**
 * The entries of `tools` and `approvals` that match no tool. Such an entry is most often a typing mistake, and leaves a tool
 * unguarded.
 *
 * @param unlistedModules modules of servers whose tools are not known. Entries that may match their tools are left out.
 */
export function unmatchedPatterns(
  configuration: Pick<Configuration, "file" | "toolPatterns">,
  namespacedToolNames: readonly string[],
  unlistedModules: readonly string[] = [],
): UnmatchedPattern[] {
  return (
    configuration.toolPatterns
      .filter(({ pattern }) => !namespacedToolNames.some((name) => matchesPattern(pattern, name)))
      .filter(({ pattern }) => !unlistedModules.some((module) => mayMatchModule(pattern, module)))
      // An entry may name a saved program before it is saved.
      .filter(({ pattern }) => !pattern.startsWith(`mcp__${PROGRAMS_MODULE}__`))
      .map((entry) => {
        const [nearest] = similarNames(entry.pattern, namespacedToolNames, 1);
        const advice =
          nearest === undefined
            ? "generated/catalog.json has the names of all tools"
            : `did you mean '${visibleLine(nearest)}'?`;
        const place = `${configuration.file ?? "configuration"}:${entry.line}: ${entry.key}`;
        return { ...entry, message: `${place}: '${entry.pattern}' matches no tool; ${advice}` };
      })
  );
}
