import { countValues, writeJson } from "../base/json.ts";
import { CatalogError } from "../catalog/catalog-error.ts";
import {
  collectLearned,
  LEARNED_FILE,
  type LearnedRecord,
  type LearnedTypes,
  learnedDigest,
  learnedOfServer,
  renderLearned,
} from "../catalog/learned/learned-types.ts";
import {
  definitionDigest,
  jsonSize,
  parseTool,
  type ServerListing,
  type ToolDefinition,
  type Warning,
} from "../catalog/parse-tool.ts";
import { MAX_OWN_FILE_BYTES } from "../catalog/store/own-file.ts";
import {
  type Catalog,
  type CatalogServer,
  type CatalogTool,
  type LockedServer,
  type Lockfile,
  MAX_CATALOG_VALUES,
  moduleDigest,
  modulePath,
  renderCatalog,
  renderLockfile,
  type StoredCatalog,
} from "../catalog/store/stored-catalog.ts";
import { buildServerModel, type ServerModel } from "../catalog/tool-model.ts";
import type { LanguagePrinter } from "../codegen/language-printer.ts";
import { loadPrinters } from "../languages/languages.ts";
import type { PrintedPrograms } from "../programs/saved-programs.ts";
import { byCodeUnit, textDigest } from "../protocol/canonical-json.ts";
import { namespacedName, PROGRAMS_MODULE, serverModule } from "../protocol/tool-names.ts";

export interface GenerationRequest {
  /** The servers that were listed for this generation. */
  listings: readonly ServerListing[];
  /** The verified state on disk, from `readCatalog` or `findCatalog`. */
  previous?: StoredCatalog | undefined;
  /** Configured servers that were not listed this time (not requested, or unreachable). They keep their modules. */
  keep?: readonly string[];
  /**
   * Module texts by path, reused instead of printing an unchanged module again. A text is trusted when its digest is in the
   * lock. Without these texts every module is printed, which also undoes an edit made to both the module and the lock.
   */
  modules?: ReadonlyMap<string, string>;
  /** The types of results that tools do not declare; defaults to the types with which the modules on disk were printed. */
  learned?: LearnedTypes | undefined;
  /** The printers, one for each language; defaults to TypeScript's alone. */
  printers?: readonly LanguagePrinter[];
  /** The modules of saved programs, which editors read. Languages without saved programs have none. */
  programs?: readonly PrintedPrograms[];
}

export interface GenerationPlan extends StoredCatalog {
  /** Text by path, relative to the output folder, with `/`. */
  files: Map<string, string>;
  warnings: Warning[];
}

/**
 * Decides what `ptc generate` writes. The same listings and the same previous state give the same bytes. The modules of a
 * server that is neither listed nor kept are removed.
 *
 * @throws CatalogError when two servers would share a module.
 */
export async function planGeneration({
  listings,
  previous,
  keep = [],
  modules: onDisk = new Map(),
  learned = previous?.learned,
  printers: given,
  programs = [],
}: GenerationRequest): Promise<GenerationPlan> {
  const printers = given ?? (await loadPrinters([]));
  const listed = new Set(listings.map((listing) => listing.name));
  const kept = keep.filter((name) => !listed.has(name)).flatMap((name) => listAgain(name, previous) ?? []);
  const all = [...listings, ...kept].sort((a, b) => byCodeUnit(a.name, b.name));
  const modules = assignModules(all);
  const warnings: Warning[] = [];
  const files = new Map<string, string>();
  const catalog: Catalog = { version: 1, servers: [] };
  const generator = printers.map((printer) => printer.generator).join(", ");
  const lock: Lockfile = { version: 1, generator, files: new Map(), servers: new Map() };
  const entries = new Map<string, CatalogServer>();
  const used = new Map<string, readonly LearnedRecord[]>();
  const write = ({ entry, locked, texts, learned: own }: WrittenServer): void => {
    for (const [path, text] of texts) files.set(path, text);
    entries.set(entry.name, entry);
    lock.servers.set(entry.name, locked);
    used.set(entry.name, own);
  };
  for (const listing of all) {
    const module = modules.get(listing.name) ?? "";
    const paths = printers.map((printer) => printer.modulePath(module));
    const known = learnedOfServer(learned, listing.name, listing.tools);
    const reused = reuseModule(listing, module, previous, generator, paths, onDisk, [...known.values()]);
    const written = reused ?? (await printServer(listing, module, previous, printers, known));
    if (listed.has(listing.name)) warnings.push(...written.warnings);
    write(written);
  }
  for (const [name, tooMany] of toolsBeyondLimits([...entries.values()])) {
    const listing = all.find((each) => each.name === name);
    if (listing === undefined) continue;
    const tools = listing.tools.filter((tool) => !tooMany.has(parseTool(tool)?.name ?? ""));
    const known = learnedOfServer(learned, name, tools);
    write(await printServer({ ...listing, tools }, modules.get(name) ?? "", previous, printers, known));
    const message = "is left out: the definitions of all tools together are larger than ptc keeps";
    warnings.push(...[...tooMany].map((tool) => ({ server: name, tool, message })));
  }
  catalog.servers.push(...entries.values());
  const places = catalog.servers.flatMap(({ module, tools }) =>
    tools.map(({ name, identifier }) => ({ module, name, identifier })),
  );
  for (const printer of printers) {
    const saved = programs.find((each) => each.printer === printer);
    if (saved !== undefined) {
      files.set(printer.modulePath(PROGRAMS_MODULE), saved.text);
      files.set(printer.savedPrograms.path, printer.savedPrograms.text);
    }
    const named = [...places, ...(saved?.tools ?? [])].map((tool) => ({
      module: tool.module,
      identifier: printer.functionName(tool),
      namespacedName: namespacedName(tool.module, tool.name),
    }));
    for (const [path, text] of printer.printShared(named)) files.set(path, text);
  }
  files.set("catalog.json", renderCatalog(catalog));
  const printed = collectLearned([...used.values()].flat());
  if (printed.size > 0) files.set(LEARNED_FILE, renderLearned(printed));
  const inServers = new Set([...lock.servers.values()].map(({ module }) => modulePath(module)));
  for (const path of [...files.keys()].filter((each) => !inServers.has(each)).sort())
    lock.files?.set(path, textDigest(files.get(path) ?? ""));
  files.set("ptc.lock.json", renderLockfile(lock));
  return { files, catalog, lock, warnings, ...(printed.size > 0 && { learned: printed }) };
}

async function printServer(
  listing: ServerListing,
  module: string,
  previous: StoredCatalog | undefined,
  printers: readonly LanguagePrinter[],
  learned: ReadonlyMap<string, LearnedRecord>,
): Promise<WrittenServer> {
  const before = previous?.lock.servers.get(listing.name);
  const identifiers = new Map([...(before?.tools ?? [])].map(([name, tool]) => [name, tool.identifier]));
  const { server, warnings } = buildServerModel(
    listing,
    module,
    identifiers,
    printers[0]?.nameFunctions,
    ({ name }) => learned.get(name),
  );
  const texts = new Map<string, string>();
  for (const printer of printers) {
    const printed = await printer.printModule(server);
    texts.set(printer.modulePath(module), printed.text);
    warnings.push(...printed.warnings);
  }
  const entry = catalogServer(server);
  const own = [...learned.values()];
  const locked = lockServer(listing, entry, texts.get(modulePath(module)), learnedDigest(own));
  return { entry: carryOver(entry, locked, previous), locked, texts, learned: own, warnings };
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

/** Rebuilds the last listing of a server from the stored catalog; `undefined` when it is not stored. */
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
  return {
    name: server.name,
    module: server.module,
    ...(server.description === undefined ? {} : { description: server.description }),
    tools: server.tools.map(({ definition: { name, ...rest }, identifier, isUnwrapped }) => ({
      name,
      identifier,
      ...rest,
      ...(isUnwrapped === true ? { unwraps: true as const } : {}),
    })),
  };
}

function lockServer(
  { implementation, protocolVersion }: ServerListing,
  server: CatalogServer,
  text: string | undefined,
  learned: string | undefined,
): LockedServer {
  return {
    module: server.module,
    implementation: { name: implementation.name, version: implementation.version },
    protocolVersion,
    ...(text === undefined ? {} : { moduleSha256: textDigest(text) }),
    ...(learned === undefined ? {} : { learnedSha256: learned }),
    tools: new Map(
      server.tools.map((tool) => [
        tool.name,
        { identifier: tool.identifier, sha256: definitionDigest(tool) },
      ]),
    ),
  };
}

/** Keeps the stored definition if its digest is unchanged, because a server may list members in another order. */
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
    const digest = locked.tools.get(tool.name)?.sha256;
    const same = lockedBefore.get(tool.name)?.sha256 === digest && definitionDigest(old) === digest;
    if (old === undefined || !same) return tool;
    const { identifier, unwraps, icons, _meta } = tool;
    return { ...old, identifier, unwraps, icons, _meta };
  });
  return { ...server, tools };
}

/** Half of the limits for reading the files, because names, identifiers and digests are stored beside the definitions. */
const LIMITS = { bytes: MAX_OWN_FILE_BYTES / 2, values: MAX_CATALOG_VALUES / 2 };

/**
 * Chooses the tools to leave out, the largest first, so that the stored definitions of all servers can be read again.
 *
 * @returns protocol names by the server's configured name; empty when everything fits.
 */
function toolsBeyondLimits(servers: readonly CatalogServer[]): Map<string, Set<string>> {
  const leftOut = new Map<string, Set<string>>();
  const chars = servers.reduce((sum, { tools }) => sum + jsonSize(tools), 0);
  // A character takes at most six bytes, as an escape, and a value takes at least two characters.
  if (chars <= Math.min(LIMITS.bytes / 6, LIMITS.values)) return leftOut;
  const measured = servers
    .flatMap((server) => server.tools.map((tool) => ({ server: server.name, tool, size: measure(tool) })))
    .sort((a, b) => b.size.bytes - a.size.bytes || byCodeUnit(a.tool.name, b.tool.name));
  let bytes = measured.reduce((sum, { size }) => sum + size.bytes, 0);
  let values = measured.reduce((sum, { size }) => sum + size.values, 0);
  for (const { server, tool, size } of measured) {
    if (bytes <= LIMITS.bytes && values <= LIMITS.values) break;
    bytes -= size.bytes;
    values -= size.values;
    const names = leftOut.get(server) ?? new Set();
    leftOut.set(server, names.add(tool.name));
  }
  return leftOut;
}

function measure(tool: CatalogTool): { bytes: number; values: number } {
  return { bytes: Buffer.byteLength(writeJson(tool)), values: countValues(tool) };
}

/** One server's part of a generation. */
interface WrittenServer {
  entry: CatalogServer;
  locked: LockedServer;
  /** Texts of its modules, by path. */
  texts: ReadonlyMap<string, string>;
  /** The learned types of its results with which the modules were printed. */
  learned: readonly LearnedRecord[];
  warnings: Warning[];
}

/**
 * The stored output for a server, if another generation would give the same. That requires the same printers, definitions with equal
 * digests, and unedited modules. `undefined` otherwise.
 *
 * @param paths the paths of its modules.
 * @param onDisk texts by path.
 * @param learned the learned types of the server's results.
 */
function reuseModule(
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
    if (writeJson([tool.icons, tool._meta]) !== writeJson([old.icons, old._meta])) return false;
    const digest = definitionDigest(tool);
    if (digest !== locked.tools.get(tool.name)?.sha256 || digest !== definitionDigest(old)) return false;
  }
  return known.size === 0;
}

/** Whether two definitions are equal as JSON text. They usually are, and comparing is much faster than digesting. */
function isSameText(tool: ToolDefinition, old: CatalogTool): boolean {
  const same = (a: unknown, b: unknown): boolean => a === b || writeJson(a) === writeJson(b);
  return (
    tool.title === old.title &&
    tool.description === old.description &&
    tool.method === old.method &&
    same(tool.inputSchema, old.inputSchema) &&
    same(tool.outputSchema, old.outputSchema) &&
    same(tool.annotations, old.annotations) &&
    same(tool.icons, old.icons) &&
    same(tool._meta, old._meta)
  );
}
