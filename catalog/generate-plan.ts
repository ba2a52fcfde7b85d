import { GENERATOR } from "../codegen/generator-version.ts";
import { byCodeUnit } from "../codegen/identifiers.ts";
import { definitionDigest } from "../codegen/parse-tool.ts";
import { printGlobals } from "../codegen/print-globals.ts";
import { RUNTIME_DECLARATIONS } from "../codegen/print-runtime.ts";
import { printServerModule } from "../codegen/print-typescript.ts";
import type { ServerListing, Warning } from "../codegen/server-listing.ts";
import { buildServerModel, type ServerModel } from "../codegen/tool-model.ts";
import { namespacedName, serverModule } from "../protocol/tool-name.ts";
import { type Catalog, type CatalogServer, type CatalogTool, renderCatalog } from "./catalog.ts";
import { CatalogError } from "./catalog-error.ts";
import { type LockedServer, type Lockfile, renderLockfile } from "./lockfile.ts";
import { moduleDigest, reuseModule, type WrittenServer } from "./reuse-module.ts";
import type { StoredCatalog } from "./stored-catalog.ts";

export interface GenerationRequest {
  /** The servers that have just been listed. */
  listings: readonly ServerListing[];
  previous?: StoredCatalog | undefined;
  /** Configured servers that were not listed now (not asked for, or out of reach) and stay as they were. */
  keep?: readonly string[];
  /** Module texts as they are on disk, by path: what would not change is taken from here instead of printed again. */
  modules?: ReadonlyMap<string, string>;
}

export interface GenerationPlan extends StoredCatalog {
  /** Text by path, relative to the output folder, with `/`. */
  files: Map<string, string>;
  warnings: Warning[];
}

/**
 * Decides what `ptc generate` writes. The same listings and the same previous state give the same bytes. A server that
 * is neither listed nor kept disappears.
 *
 * @throws CatalogError when two servers would share a module.
 */
export async function planGeneration({
  listings,
  previous,
  keep = [],
  modules: onDisk = new Map(),
}: GenerationRequest): Promise<GenerationPlan> {
  const listed = new Set(listings.map((listing) => listing.name));
  const kept = keep.filter((name) => !listed.has(name)).flatMap((name) => listAgain(name, previous) ?? []);
  const all = [...listings, ...kept].sort((a, b) => byCodeUnit(a.name, b.name));
  const modules = assignModules(all);
  const warnings: Warning[] = [];
  const files = new Map<string, string>();
  const catalog: Catalog = { version: 1, servers: [] };
  const lock: Lockfile = { version: 1, generator: GENERATOR, servers: new Map() };
  for (const listing of all) {
    const module = modules.get(listing.name) ?? "";
    const path = `servers/${module}/index.ts`;
    const reused = reuseModule(listing, module, previous, onDisk.get(path));
    const written = reused ?? (await printServer(listing, module, previous));
    if (listed.has(listing.name)) warnings.push(...written.warnings);
    files.set(path, written.text);
    catalog.servers.push(written.entry);
    lock.servers.set(listing.name, written.locked);
  }
  const places = catalog.servers.flatMap(({ module, tools }) =>
    tools.map(({ name, identifier }) => ({
      module,
      identifier,
      namespacedName: namespacedName(module, name),
    })),
  );
  files.set("runtime.d.ts", RUNTIME_DECLARATIONS);
  files.set("globals.d.ts", printGlobals(places));
  files.set("catalog.json", renderCatalog(catalog));
  files.set("ptc.lock.json", renderLockfile(lock));
  return { files, catalog, lock, warnings };
}

async function printServer(
  listing: ServerListing,
  module: string,
  previous: StoredCatalog | undefined,
): Promise<WrittenServer> {
  const before = previous?.lock.servers.get(listing.name);
  const identifiers = new Map([...(before?.tools ?? [])].map(([name, tool]) => [name, tool.identifier]));
  const { server, warnings } = buildServerModel(listing, module, identifiers);
  const printed = await printServerModule(server);
  warnings.push(...printed.warnings);
  const entry = catalogServer(server);
  const locked = lockServer(listing, entry);
  // Without it the module is printed, and what is wrong with it told, every time.
  if (warnings.length === 0) locked.moduleSha256 = moduleDigest(printed.text);
  return { entry: carryOver(entry, locked, previous), locked, text: printed.text, warnings };
}

function assignModules(listings: readonly ServerListing[]): Map<string, string> {
  const owners = new Map<string, string>();
  const modules = new Map<string, string>();
  for (const { name } of listings) {
    const module = serverModule(name);
    const owner = owners.get(module);
    if (owner !== undefined || !/^[a-z0-9_]+$/.test(module)) {
      const why = owner === undefined ? "cannot name a module" : `is '${module}' in code, as is '${owner}'`;
      throw new CatalogError("module-collision", `server '${name}' ${why}: rename it in ptc.yaml`);
    }
    owners.set(module, name);
    modules.set(name, module);
  }
  return modules;
}

/** What a server listed last time, as far as it was kept. */
function listAgain(name: string, previous: StoredCatalog | undefined): ServerListing | undefined {
  const server = previous?.catalog.servers.find((each) => each.name === name);
  const locked = previous?.lock.servers.get(name);
  if (server === undefined || locked === undefined) return undefined;
  const { implementation, protocolVersion } = locked;
  const listing: ServerListing = { name, implementation, protocolVersion, tools: server.tools };
  if (server.description !== undefined) listing.description = server.description;
  return listing;
}

function catalogServer(server: ServerModel): CatalogServer {
  const entry: CatalogServer = {
    name: server.name,
    module: server.module,
    ...(server.description === undefined ? {} : { description: server.description }),
    tools: server.tools.map(({ definition: { name, ...rest }, identifier }) => ({
      name,
      identifier,
      ...rest,
    })),
  };
  return entry;
}

function lockServer({ implementation, protocolVersion }: ServerListing, server: CatalogServer): LockedServer {
  return {
    module: server.module,
    implementation: { name: implementation.name, version: implementation.version },
    protocolVersion,
    tools: new Map(
      server.tools.map((tool) => [
        tool.name,
        { identifier: tool.identifier, sha256: definitionDigest(tool) },
      ]),
    ),
  };
}

/** Keeps the text of definitions that mean what they meant: a server may list their members in any order. */
function carryOver(
  server: CatalogServer,
  locked: LockedServer,
  previous: StoredCatalog | undefined,
): CatalogServer {
  const lockedBefore = previous?.lock.servers.get(server.name)?.tools;
  const before = previous?.catalog.servers.find((each) => each.name === server.name)?.tools;
  if (lockedBefore === undefined || before === undefined) return server;
  const known = new Map<string, CatalogTool>(before.map((tool) => [tool.name, tool]));
  const tools = server.tools.map((tool) => {
    const old = known.get(tool.name);
    const same = lockedBefore.get(tool.name)?.sha256 === locked.tools.get(tool.name)?.sha256;
    return old !== undefined && same ? { ...old, identifier: tool.identifier } : tool;
  });
  return { ...server, tools };
}
