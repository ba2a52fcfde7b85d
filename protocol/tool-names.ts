/**
 * The names of tools across servers: `mcp__<server_module>__<tool>`, the tool's protocol name as it is. A server module
 * holds neither `__` nor a leading or trailing `_`, so the first `__` after the prefix ends it.
 */

const PREFIX = "mcp__";

/** snake_case of a configured server name: split on `.`, `_` and `-`, lower case (`google-drive` to `google_drive`). */
export function serverModule(serverName: string): string {
  const words = serverName.split(/[._-]+/).filter((word) => word !== "");
  return words.length === 0 ? "server" : words.join("_").toLowerCase();
}

export function namespacedName(module: string, tool: string): string {
  return `${PREFIX}${module}__${tool}`;
}

/** Splits a namespaced name; `undefined` when it is not one. */
export function parseNamespacedName(name: string): { module: string; tool: string } | undefined {
  if (!name.startsWith(PREFIX)) return undefined;
  const end = name.indexOf("__", PREFIX.length);
  if (end <= PREFIX.length || end + 2 >= name.length) return undefined;
  return { module: name.slice(PREFIX.length, end), tool: name.slice(end + 2) };
}

/** What a program may call a tool by when its namespaced name is not an identifier, or reads otherwise in code. */
export interface NamedTool {
  module: string;
  /** Name of its function in the generated module. */
  identifier: string;
  namespacedName: string;
}

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** Finds tools by what programs call them: the exact namespaced name, or an alias that is no tool's exact name. */
export class ToolNames<Tool extends NamedTool> {
  readonly #exact = new Map<string, Tool>();
  readonly #aliases = new Map<string, Tool[]>();

  constructor(tools: Iterable<Tool>) {
    for (const tool of tools) {
      this.#exact.set(tool.namespacedName, tool);
      for (const alias of aliasesOf(tool)) {
        const others = this.#aliases.get(alias);
        if (others === undefined) this.#aliases.set(alias, [tool]);
        else others.push(tool);
      }
    }
  }

  /** The tools that a name can mean: none, one, or several when it is an alias of each and no tool's exact name. */
  resolve(name: string): readonly Tool[] {
    const exact = this.#exact.get(name);
    return exact === undefined ? (this.#aliases.get(name) ?? []) : [exact];
  }

  /** What to write in code for a tool: a name that is an identifier and means no other, else `module.function`. */
  callable(tool: Tool): string {
    const names = [tool.namespacedName, ...aliasesOf(tool)];
    const free = names.find((name) => isWritableName(name) && this.#means(name, tool));
    return free ?? `${tool.module}.${tool.identifier}`;
  }

  #means(name: string, tool: Tool): boolean {
    const [first, another] = this.resolve(name);
    return first === tool && another === undefined;
  }
}

/** Whether a namespaced name can be written in code as it is. */
export function isWritableName(name: string): boolean {
  return IDENTIFIER.test(name);
}

/** The namespaced name with `_` for whatever an identifier cannot hold, and with the function's name for the tool's. */
function aliasesOf({ module, identifier, namespacedName }: NamedTool): Set<string> {
  return new Set([namespacedName.replace(/[^A-Za-z0-9_$]/g, "_"), `mcp__${module}__${identifier}`]);
}

/**
 * Patterns over namespaced tool names: `*` stands for any characters, none included; everything else for itself. Linear
 * in the name for each `*`-free piece: names come from servers that nobody has audited, so nothing here backtracks.
 */

/** Whether a pattern matches the whole of a name. Case counts. */
export function matchesPattern(pattern: string, name: string): boolean {
  const pieces = pattern.split("*");
  const first = pieces[0] ?? "";
  if (pieces.length === 1) return pattern === name;
  const last = pieces[pieces.length - 1] ?? "";
  if (name.length < first.length + last.length) return false;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  // The leftmost place for each piece in between leaves the most room for those after it, so no other need be tried.
  let position = first.length;
  const end = name.length - last.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, position);
    if (found < 0 || found + piece.length > end) return false;
    position = found + piece.length;
  }
  return position <= end;
}

/** The module of saved programs, which stand in the catalog as the tools of a server of this name. */
export const PROGRAMS_MODULE = "programs";

/** The server whose one tool asks a model, where one is configured, and its module in code. */
export const EXTRACT_SERVER = "ptc";

/** The tool that `extract` of programs calls. */
export const EXTRACT_TOOL = "extract";

/** What programs call it by. */
export const EXTRACT_NAME = `mcp__${EXTRACT_SERVER}__${EXTRACT_TOOL}`;
