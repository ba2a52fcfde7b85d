import * as z from "zod";
import { jsonSize } from "../codegen/parse-tool.ts";
import { CatalogError } from "./catalog-error.ts";

/** One tool as its server listed it, with the identifier that generated code knows it by. */
export const CatalogTool = z.object({
  /** Protocol name. */
  name: z.string(),
  identifier: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.unknown(),
  outputSchema: z.unknown().optional(),
  annotations: z.looseObject({}).optional(),
});
export type CatalogTool = z.infer<typeof CatalogTool>;

export const CatalogServer = z.object({
  /** The name in the configuration. */
  name: z.string(),
  module: z.string().regex(/^[a-z0-9_]+$/),
  description: z.string().optional(),
  tools: z.array(CatalogTool),
});
export type CatalogServer = z.infer<typeof CatalogServer>;

/** `catalog.json`: every tool of every server, by name. */
export const Catalog = z.object({ version: z.literal(1), servers: z.array(CatalogServer) });
export type Catalog = z.infer<typeof Catalog>;

/** Largest `catalog.json` or `ptc.lock.json` that is written or read. */
export const MAX_CATALOG_BYTES = 128 * 1024 * 1024;

/** Above this a catalog is written without line breaks: with them it can be a hundred times as long. */
const MAX_INDENTED_CHARS = 8 * 1024 * 1024;

/**
 * The text of `catalog.json`.
 *
 * @throws CatalogError when it is larger than what can be read again.
 */
export function renderCatalog(catalog: Catalog): string {
  const ordered = { version: catalog.version, servers: catalog.servers.map(inOrder) };
  const isLarge = jsonSize(catalog) > MAX_INDENTED_CHARS;
  const text = `${isLarge ? JSON.stringify(ordered) : JSON.stringify(ordered, null, 2)}\n`;
  if (Buffer.byteLength(text) <= MAX_CATALOG_BYTES) return text;
  const [largest] = catalog.servers
    .map(({ name, tools }) => ({ name, size: jsonSize(tools) }))
    .sort((a, b) => b.size - a.size);
  const message = `the definitions of all tools are larger than ${MAX_CATALOG_BYTES} bytes: take server '${largest?.name}' out of ptc.yaml`;
  throw new CatalogError("too-large", message);
}

/** Members in one order, whatever order they were listed or read in: the same definitions are the same bytes. */
function inOrder({ name, module, description, tools }: CatalogServer) {
  return { name, module, description, tools: tools.map(toolInOrder) };
}

function toolInOrder(tool: CatalogTool) {
  const { name, identifier, title, description, inputSchema, outputSchema, annotations } = tool;
  return { name, identifier, title, description, inputSchema, outputSchema, annotations };
}
