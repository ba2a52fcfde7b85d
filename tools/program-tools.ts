import { join } from "node:path";
import { RecentlyUsed } from "../base/recently-used.ts";
import type { Authorizer, Viewer } from "../broker/policy/authorizer.ts";
import type { RankingStage, ToolIndex } from "../catalog/search/tool-index.ts";
import { readCatalog } from "../catalog/store/catalog-file.ts";
import { fileVersion } from "../catalog/store/own-file.ts";
import {
  type LockedServer,
  moduleDigest,
  type StoredCatalog,
  storedServers,
} from "../catalog/store/stored-catalog.ts";
import { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { LanguagePrinter } from "../codegen/language-printer.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { offServers } from "../configuration/configured-servers.ts";
import { buildAuthorizer } from "../configuration/policy/configured-policy.ts";
import { GeneratedModules, generatedDirectory, type HeldModules } from "../generation/generated-modules.ts";
import type { ModuleSource } from "../languages/module-source.ts";
import { openPrograms } from "../programs/open-programs.ts";
import { programsVersion } from "../programs/programs-directory.ts";
import type { SavedPrograms } from "../programs/saved-programs.ts";
import { identityKey } from "../protocol/run-context.ts";

/** The tools and modules of the configured servers at one moment. */
export interface ProgramTools {
  /** Every tool, including those that the policy forbids to programs, and those of servers that are off. */
  readonly all: ToolCatalog;
  /** A viewer's view of the catalog: the tools that the policy shows them, except those of servers that are off. */
  callableFor(viewer: Viewer): ToolCatalog;
  /** The modules of a language for a viewer's programs. A tool that the policy hides from the viewer is unavailable there. */
  modulesFor(viewer: Viewer, printer: LanguagePrinter): ModuleSource;
  /** The saved programs; `undefined` if the configuration has no folder of programs. */
  readonly programs: SavedPrograms | undefined;
}

/** The state that surrounds a catalog. */
interface ServedState {
  /** The index of each view, kept from state to state. */
  indexes?: ByViewer<ToolIndex>;
  /** Why servers are not listed, including those that are off. */
  unlisted?: ReadonlyMap<string, string>;
  /** Ranks tools after the word search. */
  ranking?: RankingStage | undefined;
  programs?: SavedPrograms | undefined;
  /** The functions of the program that ptc is a library of. */
  held?: HeldModules | undefined;
}

/**
 * @param authorizer decides who sees which tools. By default the lists of the configuration.
 * @param known the saved programs, by default those on disk, and the ranking for searches.
 * @throws CatalogError when the generated files cannot be read or were edited, ConfigurationError for an invalid rule.
 */
export async function loadProgramTools(
  configuration: Configuration,
  authorizer?: Authorizer,
  { saved, ranking }: { saved?: SavedPrograms | undefined; ranking?: RankingStage | undefined } = {},
): Promise<ProgramTools> {
  const stored = await readCatalog(generatedDirectory(configuration));
  const programs = saved ?? (await openPrograms(configuration));
  const decides = authorizer ?? (await buildAuthorizer(configuration));
  return buildProgramTools(configuration, stored, decides, { programs, ranking });
}

/**
 * @param stored the verified catalog. All decisions about calls are based on it.
 * @param authorizer decides who sees which tools.
 */
export function buildProgramTools(
  configuration: Configuration,
  stored: StoredCatalog | undefined,
  authorizer: Authorizer,
  served: ServedState = {},
): ProgramTools {
  const { programs, held } = served;
  const configured = new Map(configuration.servers.map((server) => [server.name, server]));
  const known = configuration.learn ? stored : stored && { ...stored, learned: undefined };
  const stores = [known, held].filter((store) => store !== undefined);
  const listed = stores
    .flatMap(storedServers)
    .filter(({ name }) => configured.has(name))
    .map((server) => ({ ...server, description: configured.get(server.name)?.description || undefined }));
  const saved = programs === undefined || programs.programs.length === 0 ? [] : [programs.server];
  const servers = [...listed, ...saved];
  const off = offServers(configuration);
  const context = {
    configured: [...configuration.servers, ...saved].map(({ module }) => module),
    unlisted: served.unlisted ?? off,
    ranking: served.ranking,
  };
  const all = new ToolCatalog(servers, context);
  const inUse = new ToolCatalog(
    servers.filter(({ module }) => !off.has(module)),
    context,
  );
  const views = new ByViewer((viewer) =>
    inUse.visibleTo((tool) => authorizer.isVisible(viewer, tool), {
      index: served.indexes?.of(viewer),
      whyHidden: (tool) => authorizer.whyHidden?.(viewer, tool),
      isKnown: (module, tool) => authorizer.isKnown?.(viewer, module, tool) !== false,
    }),
  );
  const directory = generatedDirectory(configuration);
  // Modules include the tools of servers that are off, so that a call fails with the reason.
  const modulesIn = (printer: LanguagePrinter) => {
    const digests = new Map(
      listed.map(({ name, module }) => {
        const lock = stores.find((store) => store.lock.servers.has(name))?.lock;
        const locked = lock?.servers.get(name);
        return [module, lock && locked && moduleDigest(lock, locked, printer.modulePath(module))];
      }),
    );
    return new ByViewer((viewer): ModuleSource => {
      const view = all.visibleTo((tool) => authorizer.isVisible(viewer, tool), {
        isKnown: (module, tool) => authorizer.isKnown?.(viewer, module, tool) !== false,
      });
      const callable = new Set(view.names());
      const known = new Map([...digests].filter(([module]) => view.server(module) !== undefined));
      const generated = new GeneratedModules(directory, known, callable, printer, held?.files, view);
      return programs === undefined ? generated : programs.beside(generated, printer, callable);
    });
  };
  const modules = new Map<LanguagePrinter, ByViewer<ModuleSource>>();
  return {
    all,
    programs,
    callableFor: (viewer) => views.of(viewer),
    modulesFor(viewer, printer) {
      const known = modules.get(printer) ?? modulesIn(printer);
      modules.set(printer, known);
      return known.of(viewer);
    },
  };
}

const MAX_VIEWERS = 64;

/** One value for each viewer. A value that was not used for long may be made again. */
export class ByViewer<Value> {
  readonly #make: (viewer: Viewer) => Value;
  readonly #values = new RecentlyUsed<string, { value: Value }>({ maxEntries: MAX_VIEWERS });

  constructor(make: (viewer: Viewer) => Value) {
    this.#make = make;
  }

  of(viewer: Viewer): Value {
    const key = JSON.stringify([identityKey(viewer), viewer.session]);
    const known = this.#values.get(key);
    if (known !== undefined) return known.value;
    const value = this.#make(viewer);
    this.#values.set(key, { value });
    return value;
  }
}

const FILES = ["ptc.lock.json", "catalog.json"];

/** A text that changes whenever the generated catalog does; `undefined` while there is none. */
export function generatedVersion(configuration: Configuration): string | undefined {
  const directory = generatedDirectory(configuration);
  const versions = FILES.map((file) => fileVersion(join(directory, file)));
  return versions.every((version) => version === undefined) ? undefined : versions.join();
}

/** Like `generatedVersion`, including saved programs. */
export function catalogVersion(configuration: Configuration): string | undefined {
  const programs = programsVersion(configuration);
  const generated = generatedVersion(configuration);
  return programs === undefined ? generated : `${generated}\n${programs}`;
}

/** A text that changes when clients must be notified: it covers the servers and the programs that are tools. */
export function toldOf({ all, programs }: ProgramTools): string {
  const exposed = programs?.programs.filter(({ manifest }) => manifest.expose) ?? [];
  const names = exposed.map(({ tool }) => `${tool.name} ${tool.definitionDigest}`);
  return [...all.servers.map(({ module }) => module), ...names].join();
}

/** A text that changes when a server's definitions do. */
export function digestsOf(server: LockedServer | undefined): string {
  return [...(server?.tools ?? [])].map(([name, { sha256 }]) => `${sha256} ${name}`).join();
}
