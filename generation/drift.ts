import { diffLines } from "../base/diff-lines.ts";
import { definitionDigest, parseTool } from "../catalog/parse-tool.ts";
import type { Catalog, CatalogServer, CatalogTool } from "../catalog/store/stored-catalog.ts";
import type { ToolPrinter } from "../codegen/language-printer.ts";
import { byCodeUnit } from "../protocol/canonical-json.ts";

/** How one server differs between two catalogs. Tools are named by their protocol names. */
export interface ServerDrift {
  server: string;
  change: "added" | "removed" | "changed";
  added: string[];
  removed: string[];
  changed: ToolDrift[];
}

interface ToolDrift {
  tool: string;
  /** Lines of the tool's signature that begin with `- `, `+ ` or two spaces. */
  diff: string[];
}

/**
 * Compares definitions by value: another order of members is no drift. Empty when nothing changed.
 *
 * @param printer shows what a tool was and is.
 */
export async function compareCatalogs(
  previous: Catalog | undefined,
  next: Catalog,
  printer: ToolPrinter,
): Promise<ServerDrift[]> {
  const before = new Map(previous?.servers.map((server) => [server.name, server]));
  const after = new Map(next.servers.map((server) => [server.name, server]));
  const drift: ServerDrift[] = [];
  for (const name of [...new Set([...before.keys(), ...after.keys()])].sort(byCodeUnit)) {
    const found = await compareServers(name, before.get(name), after.get(name), printer);
    if (found !== undefined) drift.push(found);
  }
  return drift;
}

async function compareServers(
  name: string,
  before: CatalogServer | undefined,
  after: CatalogServer | undefined,
  printer: ToolPrinter,
): Promise<ServerDrift | undefined> {
  if (before !== undefined && before === after) return undefined;
  const old = new Map(before?.tools.map((tool) => [tool.name, tool]));
  const current = new Map(after?.tools.map((tool) => [tool.name, tool]));
  const added = [...current.keys()].filter((tool) => !old.has(tool)).sort(byCodeUnit);
  const removed = [...old.keys()].filter((tool) => !current.has(tool)).sort(byCodeUnit);
  const changed: ToolDrift[] = [];
  for (const [tool, definition] of [...current].sort(([a], [b]) => byCodeUnit(a, b))) {
    const known = old.get(tool);
    if (known === undefined || definitionDigest(known) === definitionDigest(definition)) continue;
    changed.push({ tool, diff: await diffTools(known, definition, printer) });
  }
  if (before === undefined) return { server: name, change: "added", added, removed, changed };
  if (after === undefined) return { server: name, change: "removed", added, removed, changed };
  if (added.length + removed.length + changed.length === 0) return undefined;
  return { server: name, change: "changed", added, removed, changed };
}

/** The difference of the signatures. When they are equal, as with limits and annotations, that of the definitions' JSON. */
async function diffTools(before: CatalogTool, after: CatalogTool, printer: ToolPrinter): Promise<string[]> {
  const signatures = diffLines(await signatureLines(before, printer), await signatureLines(after, printer));
  return signatures.length > 0 ? signatures : diffLines(jsonLines(before), jsonLines(after));
}

async function signatureLines(tool: CatalogTool, printer: ToolPrinter): Promise<string[]> {
  if (parseTool(tool) === undefined) return [];
  return (await printer.signature({ ...tool, module: "server" }, "full")).split("\n");
}

function jsonLines(tool: CatalogTool): string[] {
  return JSON.stringify(sortMembers(parseTool(tool)), null, 2).split("\n");
}

function sortMembers(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sortMembers);
  const entries = Object.entries(value).sort(([a], [b]) => byCodeUnit(a, b));
  return Object.fromEntries(entries.map(([name, each]) => [name, sortMembers(each)]));
}
