import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { UpstreamListing } from "../broker/upstream.ts";
import { readCatalog } from "../catalog/catalog-file.ts";
import { planGeneration } from "../catalog/generate-plan.ts";
import type { StoredCatalog } from "../catalog/stored-catalog.ts";
import { writeGenerated } from "../catalog/write-generated.ts";
import type { ServerListing } from "../codegen/server-listing.ts";
import type { Configuration, ServerConfiguration } from "./configuration/configuration.ts";
import { generatedDirectory } from "./generated-modules.ts";

/**
 * Writes modules, catalog and lock for what one server has just listed; the other servers stay as they were.
 *
 * @throws CatalogError
 */
export async function regenerate(
  configuration: Configuration,
  server: ServerConfiguration,
  listing: UpstreamListing,
): Promise<void> {
  await writeAgain(configuration, [describeListing(server, listing)]);
}

/**
 * Writes again whatever is missing of the generated files, or was edited, from what the servers listed last. Returns whether
 * there was anything.
 *
 * @throws CatalogError
 */
export async function repairGenerated(configuration: Configuration): Promise<boolean> {
  return writeAgain(configuration, []);
}

async function writeAgain(
  configuration: Configuration,
  listings: readonly ServerListing[],
): Promise<boolean> {
  const directory = generatedDirectory(configuration);
  const previous = await readCatalog(directory);
  const plan = await planGeneration({
    listings,
    previous,
    keep: configuration.servers.map(({ name }) => name),
    modules: readModules(directory, previous),
  });
  const { written, removed } = await writeGenerated(directory, plan.files);
  return written.length + removed.length > 0;
}

/** What a server listed, with what the configuration says of it. */
export function describeListing(
  { name, description }: ServerConfiguration,
  listing: UpstreamListing,
): ServerListing {
  return { name, ...(description === undefined ? {} : { description }), ...listing };
}

/** The modules as they are on disk: those that would not change need not be printed again. */
export function readModules(directory: string, stored: StoredCatalog | undefined): Map<string, string> {
  const modules = new Map<string, string>();
  for (const { module } of stored?.catalog.servers ?? []) {
    const path = `servers/${module}/index.ts`;
    if (existsSync(join(directory, path))) modules.set(path, readFileSync(join(directory, path), "utf8"));
  }
  return modules;
}
