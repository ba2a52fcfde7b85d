import { textDigest } from "../../base/text-digest.ts";
import { type LearnedRecord, learnedDigest } from "../../catalog/learned/learned-types.ts";
import { definitionDigest, parseTool, type ToolDefinition } from "../../catalog/parse-tool.ts";
import type { ServerListing, Warning } from "../../catalog/server-listing.ts";
import type { CatalogServer, CatalogTool } from "../../catalog/store/catalog.ts";
import { type LockedServer, moduleDigest } from "../../catalog/store/lockfile.ts";
import type { StoredCatalog } from "../../catalog/store/stored-catalog.ts";

/** One server's part of a generation. */
export interface WrittenServer {
  entry: CatalogServer;
  locked: LockedServer;
  /** Texts of its modules, by path. */
  texts: ReadonlyMap<string, string>;
  /** What was learned of its results, as far as it is in them. */
  learned: readonly LearnedRecord[];
  warnings: Warning[];
}

/**
 * The stored output for a server, when generating it again would give the same. That requires the same printers, definitions
 * with equal digests, and unedited modules. `undefined` otherwise.
 *
 * @param paths where its modules are.
 * @param onDisk texts by path.
 * @param learned what was learned of the server's results.
 */
export function reuseModule(
  listing: ServerListing,
  module: string,
  previous: StoredCatalog | undefined,
  generator: string,
  paths: readonly string[],
  onDisk: ReadonlyMap<string, string>,
  learned: readonly LearnedRecord[],
): WrittenServer | undefined {
  const before = previous?.lock.servers.get(listing.name);
  const entry = previous?.catalog.servers.find((server) => server.name === listing.name);
  if (previous?.lock.generator !== generator || before === undefined || entry === undefined) return undefined;
  if (before.learnedSha256 !== learnedDigest(learned)) return undefined;
  const texts = new Map<string, string>();
  for (const path of paths) {
    const text = onDisk.get(path);
    if (text === undefined || moduleDigest(previous.lock, before, path) !== textDigest(text))
      return undefined;
    texts.set(path, text);
  }
  if (entry.module !== module || entry.description !== listing.description) return undefined;
  if (!listsTheSame(listing, entry, before)) return undefined;
  const { name, version } = listing.implementation;
  const locked = { ...before, implementation: { name, version }, protocolVersion: listing.protocolVersion };
  return { entry, locked, texts, learned, warnings: [] };
}

/** Compares a stored entry with a new listing. The entry has already been verified against the lock. */
function listsTheSame({ tools }: ServerListing, entry: CatalogServer, locked: LockedServer): boolean {
  if (tools === entry.tools) return true;
  if (tools.length !== entry.tools.length || locked.tools.size !== tools.length) return false;
  const known = new Map<string, CatalogTool>(entry.tools.map((tool) => [tool.name, tool]));
  for (const listed of tools) {
    const tool = parseTool(listed);
    const old = tool === undefined ? undefined : known.get(tool.name);
    if (tool === undefined || old === undefined) return false;
    known.delete(tool.name);
    if (isSameText(tool, old)) continue;
    const digest = definitionDigest(tool);
    if (digest !== locked.tools.get(tool.name)?.sha256 || digest !== definitionDigest(old)) return false;
  }
  return known.size === 0;
}

/** Whether two definitions are equal as JSON text. They usually are, and comparing is much faster than digesting. */
function isSameText(tool: ToolDefinition, old: CatalogTool): boolean {
  const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);
  return (
    tool.title === old.title &&
    tool.description === old.description &&
    tool.method === old.method &&
    same(tool.inputSchema, old.inputSchema) &&
    same(tool.outputSchema, old.outputSchema) &&
    same(tool.annotations, old.annotations)
  );
}
