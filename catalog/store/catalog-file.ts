import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { textDigest } from "../../protocol/canonical-json.ts";
import { serverModule } from "../../protocol/tool-names.ts";
import { CatalogError } from "../catalog-error.ts";
import { isIdentifierOf } from "../identifiers.ts";
import { LEARNED_FILE, parseLearned } from "../learned/learned-types.ts";
import { definitionDigest } from "../parse-tool.ts";
import { readOwnFile } from "./own-file.ts";
import {
  Catalog,
  type CatalogServer,
  type CatalogTool,
  LOCK,
  type LockedServer,
  type Lockfile,
  parseFile,
  readLock,
  type StoredCatalog,
  shownName,
} from "./stored-catalog.ts";
import { finishCommit } from "./write-generated.ts";

/** The content of a folder, parts of which may have been edited. */
export interface FoundCatalog extends StoredCatalog {
  /** The invalid entries, which `catalog` lacks. */
  edits: readonly CatalogEdit[];
  /** The catalog as found, including edited entries. Nothing in it may be trusted. */
  unverified: Catalog;
}

/**
 * Reads the catalog that `ptc generate` wrote to a folder, or resolves with `undefined` if it wrote none. First finishes a write
 * that was interrupted after it was decided.
 *
 * @throws CatalogError if a file exists but cannot be used, or if an entry was edited. The message is one line that says what to
 *   do.
 */
export async function readCatalog(dir: string): Promise<StoredCatalog | undefined> {
  const found = await findCatalog(dir);
  if (found === undefined) return undefined;
  const { catalog, lock, learned, edits } = found;
  if (edits.length > 0) throw new CatalogError("edited", renderEdits(dir, edits));
  return { catalog, lock, learned };
}

/** Reads like `readCatalog`, but leaves edited entries out and returns them as `edits`. @throws CatalogError */
export async function findCatalog(dir: string): Promise<FoundCatalog | undefined> {
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt === ATTEMPTS;
    const found = await readBoth(dir).catch((error: unknown) => {
      if (isLast || !isMendable(error)) throw error;
      return "broken" as const;
    });
    if (found !== "broken" && (isLast || found === undefined || found.edits.length === 0)) return found;
    await delay(PAUSE_MS);
  }
}

/** Reading is retried because another process may be writing, and one file is then older than the other for a moment. */
const ATTEMPTS = 3;
const PAUSE_MS = 50;

async function readBoth(dir: string): Promise<FoundCatalog | undefined> {
  await finishCommit(dir);
  const text = await readOwnFile(dir, CATALOG);
  const unverified = text && parseFile(join(dir, CATALOG), text, Catalog);
  const lock = await readLock(dir);
  if (text === undefined && lock === undefined) return undefined;
  if (text === undefined || unverified === undefined || lock === undefined) {
    const missing = join(dir, text === undefined ? CATALOG : LOCK);
    throw new CatalogError("broken", `${missing} is missing`, { remedy: "run `ptc generate`" });
  }
  const learned = await readOwnFile(dir, LEARNED_FILE).catch(() => undefined);
  const digest = lock.files?.get(CATALOG);
  const isAsWritten = digest === undefined ? undefined : digest === textDigest(text);
  return {
    lock,
    unverified,
    learned: learned && parseLearned(learned),
    ...verifyCatalog({ catalog: unverified, lock, isAsWritten }),
  };
}

/**
 * Reads like `findCatalog`, before everything is rewritten. Returns what is intact, and why the rest could not be read.
 *
 * @throws CatalogError for problems that would also prevent writing.
 */
export async function salvageCatalog(
  dir: string,
): Promise<{ found?: FoundCatalog | undefined; unreadable?: CatalogError }> {
  try {
    return { found: await findCatalog(dir) };
  } catch (error) {
    if (!isMendable(error)) throw error;
    const lock = await readLock(dir).catch((cause: unknown) => {
      if (!isMendable(cause)) throw cause;
      return undefined;
    });
    if (lock === undefined) return { unreadable: error };
    const nothing: Catalog = { version: 1, servers: [] };
    return { found: { lock, catalog: nothing, unverified: nothing, edits: [] }, unreadable: error };
  }
}

function isMendable(error: unknown): error is CatalogError {
  return error instanceof CatalogError && (error.code === "broken" || error.code === "too-large");
}

const CATALOG = "catalog.json";

/** An entry of `catalog.json` or `ptc.lock.json` that was edited. */
interface CatalogEdit {
  /** The edited file, or both names if that is unknown. */
  file: string;
  /** By the name in the configuration. */
  server: string;
  /** Protocol name. Absent if the problem concerns the whole server. */
  tool?: string;
  /** The problem, as a phrase that follows the server or the tool. */
  problem: string;
}

/** A catalog, and the lock beside it. */
interface Found {
  catalog: Catalog;
  lock: Lockfile;
  /** Whether `catalog.json` is the text that belongs to the lock. `undefined` if the lock does not say. */
  isAsWritten: boolean | undefined;
}

/**
 * Checks every entry of a catalog against the lock: computes the digest of each definition, and checks that names, modules and
 * identifiers are the ones that `ptc generate` would give. Returns the catalog without invalid entries, and the problems. If both
 * files were edited consistently, only the server's listing reveals that.
 */
function verifyCatalog({ catalog, lock, isAsWritten }: Found): {
  catalog: Catalog;
  edits: CatalogEdit[];
} {
  const edits: CatalogEdit[] = [];
  const file =
    isAsWritten === undefined
      ? "catalog.json or ptc.lock.json"
      : isAsWritten
        ? "ptc.lock.json"
        : "catalog.json";
  const seen = new Set<string>();
  const servers = catalog.servers.flatMap((server) => {
    const note = (problem: string, tool?: string) =>
      void edits.push({ file, server: server.name, ...(tool === undefined ? {} : { tool }), problem });
    const locked = lock.servers.get(server.name);
    const problem = seen.has(server.name) ? "is listed twice" : serverProblem(server, locked);
    seen.add(server.name);
    if (locked === undefined || problem !== undefined) {
      note(problem ?? "is not in both files");
      return [];
    }
    return [{ ...server, tools: soundTools(server, locked, isAsWritten, note) }];
  });
  for (const [name] of lock.servers) {
    if (!seen.has(name)) edits.push({ file, server: name, problem: "is not in both files" });
  }
  return { catalog: { ...catalog, servers }, edits };
}

/** Describes edits in one line: the file, the tool, and what to do. */
export function renderEdits(dir: string, edits: readonly CatalogEdit[]): string {
  const [first] = edits;
  if (first === undefined) return "";
  const more = edits.length === 1 ? "" : `, and ${edits.length - 1} more like it`;
  return `${dir}: ${renderEdit(first)}${more}: run \`ptc generate\``;
}

/** Describes an edit: `catalog.json was edited: tool 'x' of server 'y' is not what its server listed`. */
export function renderEdit({ file, server, tool, problem }: CatalogEdit): string {
  const where = `server '${shownName(server)}'`;
  return `${file} was edited: ${tool === undefined ? where : `tool '${shownName(tool)}' of ${where}`} ${problem}`;
}

function serverProblem({ name, module }: CatalogServer, locked: LockedServer | undefined) {
  if (locked === undefined) return "is not in both files";
  // Patterns in `tools` and `approvals` match names that begin with the module.
  if (module !== locked.module || module !== serverModule(name))
    return "has another module than its name says";
  return undefined;
}

function soundTools(
  { tools }: CatalogServer,
  locked: LockedServer,
  isAsWritten: boolean | undefined,
  note: (problem: string, tool?: string) => void,
): CatalogTool[] {
  const sound = new Map<string, CatalogTool>();
  const seen = new Set<string>();
  for (const tool of tools) {
    const problem = seen.has(tool.name) ? "is listed twice" : toolProblem(tool, locked);
    if (problem === undefined) sound.set(tool.name, isAsWritten === false ? withoutShown(tool) : tool);
    else {
      sound.delete(tool.name);
      note(problem, tool.name);
    }
    seen.add(tool.name);
  }
  for (const name of locked.tools.keys()) if (!seen.has(name)) note("is not in both files", name);
  return [...sound.values()];
}

/** Without what is for clients alone, which no digest of the tool covers. */
function withoutShown({ icons: _icons, _meta, ...tool }: CatalogTool): CatalogTool {
  return tool;
}

function toolProblem(tool: CatalogTool, { tools }: LockedServer): string | undefined {
  const locked = tools.get(tool.name);
  if (locked === undefined) return "is not in both files";
  if (locked.sha256 !== definitionDigest(tool)) return "is not what its server listed";
  if (locked.identifier !== tool.identifier || !isIdentifierOf(tool.identifier, tool.name))
    return "goes by another identifier than it was given";
  return undefined;
}

/**
 * Replaces the entries of some servers in a catalog by those of a trusted catalog. Leaves out a server that the trusted catalog
 * lacks, as if it had not been listed yet.
 *
 * @param names the configured names of the servers to replace.
 * @returns the repaired catalog, and the names of the servers that were left out.
 */
export function mendCatalog(
  found: StoredCatalog,
  trusted: StoredCatalog | undefined,
  names: ReadonlySet<string>,
): { stored: StoredCatalog; unknown: string[] } {
  const servers: CatalogServer[] = [];
  const locked = new Map<string, LockedServer>();
  const unknown: string[] = [];
  for (const name of new Set([...found.catalog.servers.map((server) => server.name), ...names])) {
    const source = names.has(name) ? trusted : found;
    const server = source?.catalog.servers.find((each) => each.name === name);
    const lock = source?.lock.servers.get(name);
    if (server === undefined || lock === undefined) {
      unknown.push(name);
      continue;
    }
    servers.push(server);
    locked.set(name, lock);
  }
  const stored = {
    catalog: { ...found.catalog, servers },
    lock: { ...found.lock, servers: locked },
    learned: found.learned,
  };
  return { stored, unknown };
}
