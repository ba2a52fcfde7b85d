import { createHash } from "node:crypto";

/** The longest name of a tool that every client and model takes. */
const MAX_NAME_CHARS = 64;
const DIGEST_CHARS = 8;

/** What models' APIs allow in names of tools; MCP allows more. */
const NOT_ALLOWED = /[^A-Za-z0-9_-]/g;

/**
 * The names under which tools are listed, by their namespaced names: the same where clients and models take it, else one with
 * the beginning of its digest. It depends on the tool alone, and no two are the same.
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
    // Somebody may have named a tool so that it has the name of another.
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
