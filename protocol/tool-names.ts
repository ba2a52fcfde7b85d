/**
 * The names of tools across servers: `mcp__<server_module>__<tool>`, with the tool's protocol name unchanged. A server module
 * contains no `__` and no leading or trailing `_`, so the first `__` after the prefix ends it.
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

/** Splits a namespaced name. Returns `undefined` for any other text. */
export function parseNamespacedName(name: string): { module: string; tool: string } | undefined {
  if (!name.startsWith(PREFIX)) return undefined;
  const end = name.indexOf("__", PREFIX.length);
  if (end <= PREFIX.length || end + 2 >= name.length) return undefined;
  return { module: name.slice(PREFIX.length, end), tool: name.slice(end + 2) };
}

/** The names by which a program may call a tool, in case its namespaced name is not an identifier or differs in code. */
export interface NamedTool {
  module: string;
  /** Name of its function in the generated module. */
  identifier: string;
  namespacedName: string;
}

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** Finds tools by the names that programs use: the exact namespaced name, or an alias that is not the exact name of any tool. */
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

  /** Returns the tools that a name can mean: none, one, or several if it is a shared alias and not the exact name of any tool. */
  resolve(name: string): readonly Tool[] {
    const exact = this.#exact.get(name);
    return exact === undefined ? (this.#aliases.get(name) ?? []) : [exact];
  }

  /** Returns the expression for a tool in code: an identifier that means no other tool, or else `module.function`. */
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

/** The namespaced name with `_` for each character that identifiers cannot contain, and with the function's name for the tool's. */
function aliasesOf({ module, identifier, namespacedName }: NamedTool): Set<string> {
  return new Set([namespacedName.replace(/[^A-Za-z0-9_$]/g, "_"), `mcp__${module}__${identifier}`]);
}

/**
 * Patterns over namespaced tool names. `*` matches any number of characters, including none. Every other character matches itself.
 * Each piece between `*` takes time linear in the name. Names come from unaudited servers, so matching never backtracks.
 */

/** Whether a pattern matches a whole name. Case-sensitive. */
export function matchesPattern(pattern: string, name: string): boolean {
  const pieces = pattern.split("*");
  const first = pieces[0] ?? "";
  if (pieces.length === 1) return pattern === name;
  const last = pieces[pieces.length - 1] ?? "";
  if (name.length < first.length + last.length) return false;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  // The leftmost place for each piece leaves the most room for those after it, so no other place needs to be tried.
  let position = first.length;
  const end = name.length - last.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, position);
    if (found < 0 || found + piece.length > end) return false;
    position = found + piece.length;
  }
  return position <= end;
}

/** Whether a pattern may match tools of a module whose tools are not known. */
export function mayMatchModule(pattern: string, module: string): boolean {
  const wildcard = pattern.indexOf("*");
  const prefix = namespacedName(module, "");
  if (wildcard < 0) return pattern.startsWith(prefix);
  const literal = pattern.slice(0, wildcard);
  return literal.startsWith(prefix) || prefix.startsWith(literal);
}

/** The module of saved programs. The catalog lists them as the tools of a server of this name. */
export const PROGRAMS_MODULE = "programs";

/** The server, and its module in code, whose only tool asks a model if one is configured. */
export const EXTRACT_SERVER = "ptc";

/** The tool that a program's `extract` calls. */
export const EXTRACT_TOOL = "extract";

/** The namespaced name of the extract tool. */
export const EXTRACT_NAME = `mcp__${EXTRACT_SERVER}__${EXTRACT_TOOL}`;
