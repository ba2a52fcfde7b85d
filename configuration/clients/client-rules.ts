/**
 * What clients say of servers and tools outside of the servers' entries, and the `tools` and `approvals` of ptc.yaml that say the same.
 * An import never allows more than the client does: what cannot be said in ptc.yaml is blocked, and named.
 */
import { isObject } from "../../base/json.ts";
import { matchesPattern, namespacedName, PROGRAMS_MODULE, serverModule } from "../../protocol/tool-names.ts";
import type { ServerEntry } from "../settings/server-settings.ts";
import { memberOf } from "./clients.ts";
import type { ForeignTools } from "./foreign-server.ts";

/** Rules of a client about servers and tools. */
export interface ClientRules {
  /** Tools that may not be called, and tools that a person is asked about: `mcp__<server>`, `mcp__<server>__<tool>`, with `*`. */
  deny: readonly string[];
  ask: readonly string[];
  /** Names of servers that are switched off. */
  off: readonly string[];
  /** The only servers that may be used; `undefined` for all. */
  only: readonly string[] | undefined;
}

export const NO_RULES: ClientRules = { deny: [], ask: [], off: [], only: undefined };

/** The rules in a file of a client. @param directory the folder of the project. */
export function rulesIn(file: unknown, directory: string): ClientRules {
  const project = memberOf(memberOf(file, "projects"), directory);
  const permissions = memberOf(file, "permissions");
  const mcp = memberOf(file, "mcp");
  const zed = memberOf(memberOf(memberOf(file, "agent"), "tool_permissions"), "tools");
  const opencode = memberOf(file, "tools");
  const gemini = [
    ...textsOf(memberOf(file, "excludeTools")),
    ...textsOf(memberOf(memberOf(file, "tools"), "exclude")),
  ];
  const only = [
    memberOf(file, "allowMCPServers"),
    memberOf(mcp, "allowed"),
    memberOf(file, "allowedMcpServers"),
  ].filter((each) => Array.isArray(each));
  const ofZed = (wanted: string) =>
    Object.entries(isObject(zed) ? zed : {}).flatMap(([name, value]) => {
      const [, server, tool] = /^mcp:([^:]+):(.+)$/.exec(name) ?? [];
      return server !== undefined && memberOf(value, "default") === wanted
        ? [`mcp__${claudeName(server)}__${tool}`]
        : [];
    });
  return {
    deny: [
      ...textsOf(memberOf(permissions, "deny")).filter(isMcpRule).map(withoutArguments),
      ...gemini.flatMap((name) => {
        const [, server, tool] = /^(?:mcp__)?(.+?)__(.+)$/.exec(withoutArguments(name)) ?? [];
        return server === undefined ? [] : [`mcp__${claudeName(server)}__${tool}`];
      }),
      ...Object.entries(isObject(opencode) ? opencode : {}).flatMap(([name, isOn]) =>
        isOn === false ? [`opencode:${name}`] : [],
      ),
      ...ofZed("deny"),
    ],
    ask: [
      ...textsOf(memberOf(permissions, "ask")).filter(isMcpRule).map(withoutArguments),
      ...ofZed("confirm"),
    ],
    off: [
      ...[file, project].flatMap((each) => textsOf(memberOf(each, "disabledMcpServers"))),
      ...[file, project].flatMap((each) => textsOf(memberOf(each, "disabledMcpjsonServers"))),
      ...textsOf(memberOf(file, "excludeMCPServers")),
      ...textsOf(memberOf(mcp, "excluded")),
      ...serverNamesOf(memberOf(file, "deniedMcpServers")),
    ],
    only: only.length === 0 ? undefined : only.flatMap((each) => [...textsOf(each), ...serverNamesOf(each)]),
  };
}

/** The rules of several files together. */
export function joinRules(rules: readonly ClientRules[]): ClientRules {
  const lists = rules.flatMap(({ only }) => (only === undefined ? [] : [only]));
  return {
    deny: rules.flatMap(({ deny }) => deny),
    ask: rules.flatMap(({ ask }) => ask),
    off: rules.flatMap(({ off }) => off),
    only: lists[0]?.filter((name) => lists.every((list) => list.includes(name))),
  };
}

function isMcpRule(rule: string): boolean {
  return rule.startsWith("mcp__") || rule === "*";
}

function withoutArguments(rule: string): string {
  return rule.replace(/\(.*\)$/s, "");
}

/** The name of a server as Claude Code writes it in rules. */
function claudeName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

/** The tools of one server that rules name, by protocol name or pattern; `*` for all of them. */
function toolsNamed(rules: readonly string[], server: string): string[] {
  const name = claudeName(server);
  return rules.flatMap((rule) => {
    if (rule === "*" || rule === "mcp__*" || rule === `mcp__${name}`) return ["*"];
    const opencode = /^opencode:(.+)$/.exec(rule)?.[1];
    if (opencode !== undefined) {
      if (opencode === "*" || opencode === `${name}*`) return ["*"];
      return opencode.startsWith(`${name}_`) ? [opencode.slice(name.length + 1)] : [];
    }
    const prefix = `mcp__${name}__`;
    if (rule.startsWith(prefix)) return [rule.slice(prefix.length)];
    const ofPlugin = rule.startsWith("mcp__plugin_") ? rule.indexOf(`_${name}__`) : -1;
    if (ofPlugin > 0) return [rule.slice(ofPlugin + name.length + 3)];
    const [, named = "", tool = ""] = /^mcp__(.+?)__(.+)$/.exec(rule) ?? [];
    return named.includes("*") && matchesPattern(named, name) ? [tool] : [];
  });
}

/** What is said of a server's tools, in its entry and by rules. @param name the server's name in the client. */
export function withRules(tools: ForeignTools, name: string, rules: ClientRules): ForeignTools {
  return {
    allow: tools.allow,
    block: [...new Set([...tools.block, ...toolsNamed(rules.deny, name)])],
    ask: [...new Set([...tools.ask, ...toolsNamed(rules.ask, name)])],
  };
}

/** What a client says of the tools of an imported server. */
export interface ServerTools extends ForeignTools {
  /** The server's name in ptc.yaml. */
  server: string;
}

/** The settings of ptc.yaml that restrict imported servers as their clients do. */
export interface ToolSettings {
  tools?: { allow: string[] } | { block: string[] };
  approvals?: { ask: string[] };
  /** What is restricted more than in the client, with what to do. */
  notes: { name: string; why: string }[];
}

/**
 * The settings for the tools of these servers. ptc.yaml has either `tools.allow` or `tools.block`. With an allow list of one server, all
 * tools of the servers without any list are allowed too. A server with a block list is then blocked whole, because its other tools are
 * not known.
 */
export function toolSettings(servers: readonly ServerEntry[], said: readonly ServerTools[]): ToolSettings {
  const notes: ToolSettings["notes"] = [];
  const own = said
    .filter(({ server }) => servers.some(({ name }) => name === server))
    .map((each) => withoutBlocked(each, notes));
  const patterns = (tools: readonly string[], server: string) =>
    tools.map((tool) => namespacedName(serverModule(server), tool));
  const ask = own.flatMap(({ ask: asked, server }) => patterns(asked, server));
  const approvals = ask.length === 0 ? {} : { approvals: { ask } };
  const block = own.flatMap(({ block: blocked, server }) => patterns(blocked, server));
  if (own.every(({ allow }) => allow === undefined))
    return { ...(block.length > 0 && { tools: { block } }), ...approvals, notes };
  const allow = servers.flatMap(({ name }) => {
    const lists = own.find(({ server }) => server === name);
    if (lists?.allow !== undefined) return patterns(lists.allow, name);
    if (lists === undefined || lists.block.length === 0) return patterns(["*"], name);
    if (!lists.block.includes("*"))
      notes.push({
        name,
        why: `all of its tools are blocked, because ptc.yaml has either tools.allow or tools.block, and another server needs allow; name under tools.allow those that programs may call, which the client said of all but ${lists.block.join(", ")}`,
      });
    return [];
  });
  return { tools: { allow: [...allow, namespacedName(PROGRAMS_MODULE, "*")] }, ...approvals, notes };
}

/** The lists of one server without both kinds: an allow list from which what is blocked is taken, or a block list. */
function withoutBlocked(lists: ServerTools, notes: ToolSettings["notes"]): ServerTools {
  const { allow, block, server } = lists;
  if (allow === undefined) return lists;
  const left = allow.filter((tool) => !block.some((pattern) => matchesPattern(pattern, tool)));
  // A pattern of allowed tools that may match a blocked one cannot be kept, since patterns have no exceptions.
  const kept = left.filter(
    (tool) => !tool.includes("*") || !block.some((name) => matchesPattern(tool, name)),
  );
  for (const tool of left)
    if (!kept.includes(tool))
      notes.push({
        name: server,
        why: `its tools ${tool} are not allowed, because some of them are blocked there; name under tools.allow those that programs may call`,
      });
  return kept.length === 0
    ? { ...lists, allow: undefined, block: ["*"] }
    : { ...lists, allow: kept, block: [] };
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** `[{ serverName: NAME }]`, as Claude Code's managed settings have it. */
function serverNamesOf(value: unknown): string[] {
  return Array.isArray(value)
    ? value.flatMap((each) => {
        const name = memberOf(each, "serverName");
        return typeof name === "string" ? [name] : [];
      })
    : [];
}
