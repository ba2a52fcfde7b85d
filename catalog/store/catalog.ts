import * as z from "zod";
import { isObject } from "../../base/json/is-object.ts";
import type { JsonObject } from "../model/schema-references.ts";
import { jsonSize } from "../parse-tool.ts";

/** One tool as its server listed it, with the identifier that generated code knows it by. */
export const CatalogTool = z.strictObject({
  /** Protocol name. */
  name: z.string(),
  identifier: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.unknown(),
  outputSchema: z.unknown().optional(),
  /** Whether programs are given what is in the wrapper that `outputSchema` is. Catalogs of earlier versions do not have it. */
  unwraps: z.literal(true).optional(),
  /** Not a schema of ours: every member is kept as the server wrote it. */
  annotations: z.custom<JsonObject>(isObject).optional(),
  /** Where it is no tool: the method of the protocol that it stands for. */
  method: z.string().optional(),
});
export type CatalogTool = z.infer<typeof CatalogTool>;

export const CatalogServer = z.strictObject({
  /** The name in the configuration. */
  name: z.string(),
  module: z.string().regex(/^[a-z0-9_]+$/),
  description: z.string().optional(),
  tools: z.array(CatalogTool),
});
export type CatalogServer = z.infer<typeof CatalogServer>;

/** `catalog.json`: every tool of every server, by name. */
export const Catalog = z.strictObject({ version: z.literal(1), servers: z.array(CatalogServer) });
export type Catalog = z.infer<typeof Catalog>;

/** Values of any kind in `catalog.json` or `ptc.lock.json`: so many are read in a few seconds. */
export const MAX_CATALOG_VALUES = 16_000_000;

/** A larger catalog is written without line breaks: with them it can be a hundred times as long. */
const MAX_INDENTED_CHARS = 8 * 1024 * 1024;

/** The text of `catalog.json`. It can be read again when `toolsBeyondLimits` finds none of its tools. */
export function renderCatalog(catalog: Catalog): string {
  const ordered = { version: catalog.version, servers: catalog.servers.map(inOrder) };
  const isLarge = jsonSize(catalog) > MAX_INDENTED_CHARS;
  return `${isLarge ? JSON.stringify(ordered) : JSON.stringify(ordered, null, 2)}\n`;
}

/** Members in one order, whatever order they were listed or read in: the same definitions are the same bytes. */
function inOrder({ name, module, description, tools }: CatalogServer) {
  return { name, module, description, tools: tools.map(toolInOrder) };
}

function toolInOrder(tool: CatalogTool) {
  const { name, identifier, title, description, inputSchema, outputSchema, unwraps, annotations, method } =
    tool;
  return { name, identifier, title, description, inputSchema, outputSchema, unwraps, annotations, method };
}
