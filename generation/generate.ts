import { readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { messageOf } from "../base/faults.ts";
import { writeJson } from "../base/json.ts";
import { CatalogError } from "../catalog/catalog-error.ts";
import { collectLearned, type LearnedTypes } from "../catalog/learned/learned-types.ts";
import { definitionDigest, parseTool, type Warning } from "../catalog/parse-tool.ts";
import { type FoundCatalog, renderEdit, salvageCatalog } from "../catalog/store/catalog-file.ts";
import type { Catalog, CatalogServer, CatalogTool, StoredCatalog } from "../catalog/store/stored-catalog.ts";
import type { WrittenFiles } from "../catalog/store/write-generated.ts";
import type { EditorSetup, ToolPrinter } from "../codegen/language-printer.ts";
import type { Configuration, ServerConfiguration } from "../configuration/configuration.ts";
import { diffLines } from "../configuration/diff-lines.ts";
import { type UnmatchedPattern, unmatchedPatterns } from "../configuration/tool-patterns.ts";
import { loadPrinters, type Printers } from "../languages/languages.ts";
import { byCodeUnit } from "../protocol/canonical-json.ts";
import { namespacedName } from "../protocol/tool-names.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { UpstreamErrorCode } from "../upstream/upstream-error.ts";
import type { GenerationPlan } from "./generate-plan.ts";
import type { GeneratedFolder } from "./generated-folder.ts";
import { generatedDirectory } from "./generated-modules.ts";
import { type ConfiguredServers, type ListOutcome, listServers } from "./list-servers.ts";

export type { WrittenFiles } from "../catalog/store/write-generated.ts";

/** The proposed content of a folder after servers were listed, compared with its present content. */
export interface Generation {
  /** The proposed content of the folder. */
  plan: GenerationPlan;
  /** The servers that were listed. */
  listed: ReadonlySet<string>;
  /** Parts of the listed definitions that could not be used unchanged. */
  warnings: Warning[];
  /** The differences between what the servers list and what the folder holds. */
  drift: ServerDrift[];
  /** The parts of the folder that cannot be used. */
  damage: Damage[];
  failures: ListFailure[];
  /** How editors find the modules of each language; empty if programs do not import from the written folder. */
  editors: readonly EditorConfig[];
  /** The paths of a server's modules in the folder, one for each language. */
  modulePaths: (module: string) => readonly string[];
}

/** A part of the catalog or lock that cannot be used. */
interface Damage {
  /** One line that names the file. */
  problem: string;
  /** Whether this generation repairs it. Otherwise it is left out until its server can be listed. */
  isMended: boolean;
}

/** A server that could not be listed. */
interface ListFailure {
  server: string;
  code: UpstreamErrorCode;
  message: string;
  /** Whether its modules are kept. Otherwise it has none. */
  isKept: boolean;
  /** Whether the configuration turns it off, so that another try cannot succeed. */
  isOff: boolean;
  /** Whether it did not already fail in the previous generation. */
  isNew: boolean;
}

export interface GeneratorOptions {
  configuration: Configuration;
  /** The configured servers to list. */
  servers: readonly ServerConfiguration[];
  upstreams: ConfiguredServers;
  folder: GeneratedFolder;
  /** Learns the types of results that tools do not declare. By default modules are printed with the types in the folder. */
  learn?: ((stored: StoredCatalog | undefined) => Promise<LearnedTypes | undefined>) | undefined;
}

/** Generates typed modules when a person asks for it: once, or again after every change of tools. */
export class ModuleGenerator {
  readonly #options: GeneratorOptions;
  /** The last printed files by path. Those on disk may have been edited together with the lock. */
  #printed: ReadonlyMap<string, string> | undefined;
  #failing: ReadonlySet<string> = new Set();

  constructor(options: GeneratorOptions) {
    this.#options = options;
  }

  /**
   * Lists the servers and decides what the folder should hold. Writes nothing. When the catalog in the folder cannot be
   * read, all servers must be listed.
   *
   * @param onOutcome receives each server as soon as it is listed or cannot be.
   * @throws CatalogError
   */
  async propose(signal: AbortSignal, onOutcome?: (outcome: ListOutcome) => void): Promise<Generation> {
    const { configuration, servers, upstreams, folder, learn } = this.#options;
    const { listings, failures, problems } = await listServers(servers, upstreams, signal, onOutcome);
    const listed = new Set(listings.map(({ name }) => name));
    const { found, unreadable } = await salvageCatalog(folder.directory);
    if (unreadable !== undefined && servers.length < configuration.servers.length)
      throw new CatalogError("broken", `${unreadable.message} for all servers`);
    const printers = await loadPrinters(configuration.languages);
    const published = [...(found?.learned?.values() ?? [])];
    const learned = collectLearned([...((await learn?.(found))?.values() ?? []), ...published]);
    const plan = await folder.plan(listings, found, this.#printed, learned);
    this.#printed = plan.files;
    const failing = this.#failing;
    this.#failing = new Set(failures.map(({ server }) => server));
    return {
      plan,
      editors: await this.#findEditors(printers, plan),
      modulePaths: (module) => printers.map((printer) => printer.modulePath(module)),
      listed,
      warnings: [...problems, ...plan.warnings],
      drift: await compareCatalogs(found?.unverified, plan.catalog, printers[0]),
      damage: findDamage(found, unreadable, listed),
      failures: failures.map((failure) => ({
        ...failure,
        isKept: plan.lock.servers.has(failure.server),
        isOff: servers.some(({ name, off }) => name === failure.server && off !== undefined),
        isNew: !failing.has(failure.server),
      })),
    };
  }

  /** Writes the proposed files, then the files that editors need. @throws CatalogError; nothing is half written then. */
  async write({ plan, editors }: Generation): Promise<WrittenFiles> {
    const { folder, configuration } = this.#options;
    const outcome = await folder.write(plan);
    const missing = editors.filter(({ state }) => state === "missing");
    for (const editor of missing) await writeEditorConfig(editor, configuration);
    return { ...outcome, written: [...outcome.written, ...this.#relative(missing)] };
  }

  /** The paths of files, including those that editors need, that differ from the proposal. */
  async findStale({ plan, editors }: Generation): Promise<string[]> {
    const stale = await this.#options.folder.findStale(plan);
    return [...stale, ...this.#relative(editors.filter(({ state }) => state === "missing"))];
  }

  async #findEditors(printers: Printers, { catalog }: GenerationPlan): Promise<EditorConfig[]> {
    const { configuration, folder } = this.#options;
    const isRead = folder.directory === generatedDirectory(configuration) && catalog.servers.length > 0;
    const setups = isRead ? printers.flatMap(({ editor }) => editor ?? []) : [];
    return Promise.all(setups.map((setup) => findEditorConfig(configuration, setup)));
  }

  #relative(editors: readonly EditorConfig[]): string[] {
    return editors.map(({ path }) => relative(this.#options.folder.directory, path));
  }

  /** The first entry of `tools` or `approvals` that names no tool, and therefore guards none. */
  findUnmatchedPattern({ plan }: Generation): UnmatchedPattern | undefined {
    const { configuration } = this.#options;
    const names = plan.catalog.servers.flatMap((server) =>
      server.tools.map((tool) => namespacedName(server.module, tool.name)),
    );
    const unlisted = configuration.servers
      .filter((server) => !plan.lock.servers.has(server.name))
      .map((server) => server.module);
    return unmatchedPatterns(configuration, names, unlisted)[0];
  }
}

function findDamage(
  found: FoundCatalog | undefined,
  unreadable: CatalogError | undefined,
  listed: ReadonlySet<string>,
): Damage[] {
  const edits = (found?.edits ?? []).map((edit) => ({
    problem: renderEdit(edit),
    isMended: listed.has(edit.server),
  }));
  return unreadable === undefined ? edits : [{ problem: unreadable.problem, isMended: true }, ...edits];
}

/** How long `ptc generate` reads the archive. It reads the rest the next time. */
const BUDGET_MS = 5_000;

/**
 * Returns a function that learns the types of results from this machine's archive; `undefined` if learning is off. If the archive
 * cannot be read, `onWarning` receives the reason, and ptc generates all the same.
 */
export function learnForGeneration(
  configuration: Configuration,
  env: EnvironmentVariables,
  onWarning: (message: string) => void,
): ((stored: StoredCatalog | undefined) => Promise<LearnedTypes | undefined>) | undefined {
  if (!configuration.learn) return undefined;
  return async (stored) => {
    try {
      const { learningTask, learnTypes } = await import("./learning/learn-types.ts");
      return await learnTypes(await learningTask(configuration, env, stored, BUDGET_MS));
    } catch (error) {
      onWarning(`the types of results could not be learned: ${messageOf(error)}`);
      return undefined;
    }
  };
}

const MAX_CONFIG_BYTES = 1024 * 1024;

/**
 * The file that leads an editor from programs beside ptc.yaml to the generated modules of a language. `missing`: there is none, and
 * ptc may write it. `connected`: the user's file does. `foreign`: the user's file does not, and ptc must not change it.
 */
export interface EditorConfig {
  state: "missing" | "connected" | "foreign";
  /** The file, absolute. */
  path: string;
  setup: EditorSetup;
}

/** Finds the file that editors read beside the configuration file. Writes nothing. */
async function findEditorConfig(configuration: Configuration, setup: EditorSetup): Promise<EditorConfig> {
  const directory = generatedDirectory(configuration);
  for (const name of setup.files) {
    const path = join(configuration.directory, name);
    const status = await stat(path).catch((error: NodeJS.ErrnoException) =>
      error.code === "ENOENT" ? undefined : ("unreadable" as const),
    );
    if (status === undefined) continue;
    const isReadable = status !== "unreadable" && status.isFile() && status.size <= MAX_CONFIG_BYTES;
    const text = isReadable ? await readFile(path, "utf8").catch(() => "") : "";
    const paths = setup.paths({ name, text, json: await parseLeniently(name, text) });
    if (paths === undefined) continue;
    const led = paths.flatMap((each) => (typeof each === "string" ? [resolve(dirname(path), each)] : []));
    const leads = led.some((each) => each === directory || each === join(directory, setup.settings));
    return { state: leads ? "connected" : "foreign", path, setup };
  }
  return { state: "missing", path: join(configuration.directory, setup.files[0]), setup };
}

/**
 * Writes the file if there is none. Replaces nothing.
 *
 * @throws CatalogError `write-failed`
 */
async function writeEditorConfig({ path, setup }: EditorConfig, configuration: Configuration): Promise<void> {
  const base = relative(dirname(path), generatedDirectory(configuration)).split(sep).join("/");
  try {
    await writeFile(path, `{ "extends": "./${base}/${setup.settings}" }\n`, { flag: "wx" });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return;
    throw new CatalogError("write-failed", `${path} cannot be written: ${messageOf(cause)}`, { cause });
  }
}

async function parseLeniently(name: string, text: string): Promise<unknown> {
  if (!name.endsWith(".json")) return undefined;
  const { parse } = await import("jsonc-parser");
  return parse(text, [], { allowTrailingComma: true });
}

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
 * @param printer prints the signatures of tools before and after.
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

/** The difference between the signatures. If these are equal, as with limits and annotations, between the definitions' JSON. */
async function diffTools(before: CatalogTool, after: CatalogTool, printer: ToolPrinter): Promise<string[]> {
  const signatures = diffLines(await signatureLines(before, printer), await signatureLines(after, printer));
  return signatures.length > 0 ? signatures : diffLines(jsonLines(before), jsonLines(after));
}

async function signatureLines(tool: CatalogTool, printer: ToolPrinter): Promise<string[]> {
  if (parseTool(tool) === undefined) return [];
  return (await printer.signature({ ...tool, module: "server" }, "full")).split("\n");
}

function jsonLines(tool: CatalogTool): string[] {
  return writeJson(sortMembers(parseTool(tool)), 2).split("\n");
}

function sortMembers(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sortMembers);
  const entries = Object.entries(value).sort(([a], [b]) => byCodeUnit(a, b));
  return Object.fromEntries(entries.map(([name, each]) => [name, sortMembers(each)]));
}
