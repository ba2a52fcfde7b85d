import { createHash } from "node:crypto";
import { GENERATOR } from "../codegen/generator-version.ts";
import { definitionDigest, parseTool, type ToolDefinition } from "../codegen/parse-tool.ts";
import type { ServerListing, Warning } from "../codegen/server-listing.ts";
import type { CatalogServer, CatalogTool } from "./catalog.ts";
import type { LockedServer } from "./lockfile.ts";
import type { StoredCatalog } from "./stored-catalog.ts";

/** One server's part of a generation. */
export interface WrittenServer {
  entry: CatalogServer;
  locked: LockedServer;
  text: string;
  warnings: Warning[];
}

/**
 * What was written for a server, when generating it again would give the same: by this generator, from definitions
 * that mean the same, without anything to warn of, and not edited since.
 */
export function reuseModule(
  listing: ServerListing,
  module: string,
  previous: StoredCatalog | undefined,
  text: string | undefined,
): WrittenServer | undefined {
  const before = previous?.lock.servers.get(listing.name);
  const entry = previous?.catalog.servers.find((server) => server.name === listing.name);
  if (previous?.lock.generator !== GENERATOR || before === undefined || entry === undefined) return undefined;
  if (text === undefined || before.moduleSha256 !== moduleDigest(text)) return undefined;
  if (entry.module !== module || entry.description !== listing.description) return undefined;
  if (!listsTheSame(listing, entry, before)) return undefined;
  const { name, version } = listing.implementation;
  const locked = { ...before, implementation: { name, version }, protocolVersion: listing.protocolVersion };
  return { entry, locked, text, warnings: [] };
}

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
    if (definitionDigest(tool) !== locked.tools.get(tool.name)?.sha256) return false;
  }
  return known.size === 0;
}

/** Most often the text alone tells, in a fraction of the time that a digest takes. */
function isSameText(tool: ToolDefinition, old: CatalogTool): boolean {
  const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);
  return (
    tool.title === old.title &&
    tool.description === old.description &&
    same(tool.inputSchema, old.inputSchema) &&
    same(tool.outputSchema, old.outputSchema) &&
    same(tool.annotations, old.annotations)
  );
}

/** What the lock keeps of a module's text. */
export function moduleDigest(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}
