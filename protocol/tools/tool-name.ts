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
