import { quoteString, visibleLine } from "../codegen/escape.ts";
import { byCodeUnit } from "../codegen/identifiers.ts";
import { definitionDigest, parseTool } from "../codegen/parse-tool.ts";
import { printToolSignature } from "../codegen/print-signature.ts";
import { buildToolModel } from "../codegen/tool-model.ts";
import type { Catalog, CatalogServer, CatalogTool } from "./catalog.ts";
import { diffLines } from "./diff-lines.ts";

/** What differs between two catalogs for one server. Tools by protocol name. */
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

/** Compares definitions, not texts: members in another order are no drift. Empty when nothing changed. */
export async function compareCatalogs(previous: Catalog | undefined, next: Catalog): Promise<ServerDrift[]> {
  const before = new Map(previous?.servers.map((server) => [server.name, server]));
  const after = new Map(next.servers.map((server) => [server.name, server]));
  const drift: ServerDrift[] = [];
  for (const name of [...new Set([...before.keys(), ...after.keys()])].sort(byCodeUnit)) {
    const found = await compareServers(name, before.get(name), after.get(name));
    if (found !== undefined) drift.push(found);
  }
  return drift;
}

/** What drifted, for people; nothing when nothing did. */
export function renderDrift(drift: readonly ServerDrift[]): string {
  const lines = drift.flatMap((server) => [
    server.change === "changed" ? nameOf(server.server) : `${nameOf(server.server)} (${server.change})`,
    ...server.added.map((tool) => `  + ${nameOf(tool)}`),
    ...server.removed.map((tool) => `  - ${nameOf(tool)}`),
    ...server.changed.flatMap(({ tool, diff }) => [
      `  ~ ${nameOf(tool)}`,
      ...diff.map((line) => `      ${visibleLine(line)}`),
    ]),
  ]);
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

async function compareServers(
  name: string,
  before: CatalogServer | undefined,
  after: CatalogServer | undefined,
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
    changed.push({ tool, diff: await diffTools(known, definition) });
  }
  if (before === undefined) return { server: name, change: "added", added, removed, changed };
  if (after === undefined) return { server: name, change: "removed", added, removed, changed };
  if (added.length + removed.length + changed.length === 0) return undefined;
  return { server: name, change: "changed", added, removed, changed };
}

/** Differences in the signature; where it does not show them (limits, annotations), in the definition's JSON. */
async function diffTools(before: CatalogTool, after: CatalogTool): Promise<string[]> {
  const signatures = diffLines(await signatureLines(before), await signatureLines(after));
  return signatures.length > 0 ? signatures : diffLines(jsonLines(before), jsonLines(after));
}

async function signatureLines(tool: CatalogTool): Promise<string[]> {
  const definition = parseTool(tool);
  if (definition === undefined) return [];
  return (await printToolSignature(buildToolModel(definition, "server", tool.identifier))).split("\n");
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

function nameOf(name: string): string {
  return /^[\w./-]+$/.test(name) ? name : quoteString(name);
}
