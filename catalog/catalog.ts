import * as z from "zod";

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

/** The text of `catalog.json`. */
export function renderCatalog(catalog: Catalog): string {
  return `${JSON.stringify(catalog, null, 2)}\n`;
}
