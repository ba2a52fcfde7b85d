import { serverModule } from "../../protocol/tools/tool-name.ts";
import { isIdentifierOf } from "../identifiers.ts";
import { definitionDigest } from "../parse-tool.ts";
import type { Catalog, CatalogServer, CatalogTool } from "./catalog.ts";
import type { LockedServer, Lockfile } from "./lockfile.ts";
import { shownName } from "./shown-name.ts";

/** An entry of `catalog.json` or `ptc.lock.json` that `ptc generate` did not write so. */
export interface CatalogEdit {
  /** Which of the two was edited; both names where that cannot be told. */
  file: string;
  /** By the name in the configuration. */
  server: string;
  /** Protocol name; none where it is about the server as a whole. */
  tool?: string;
  /** What is wrong, in words that follow the server or the tool. */
  problem: string;
}

/** A catalog, and the lock beside it. */
interface Found {
  catalog: Catalog;
  lock: Lockfile;
  /** Whether `catalog.json` is the very text that the lock was written with; `undefined` when the lock does not say. */
  isAsWritten: boolean | undefined;
}

/**
 * Checks every entry of a catalog against the lock: the digest of each definition is computed anew, and names, modules and
 * identifiers are those that `ptc generate` would have given. Returns the catalog without the entries that do not hold, and
 * what was found wrong. Where both files were edited so that they agree, only what the server lists tells.
 */
export function verifyCatalog({ catalog, lock, isAsWritten }: Found): {
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
    return [{ ...server, tools: soundTools(server, locked, note) }];
  });
  for (const [name] of lock.servers) {
    if (!seen.has(name)) edits.push({ file, server: name, problem: "is not in both files" });
  }
  return { catalog: { ...catalog, servers }, edits };
}

/** One line for a person: which file, which tool, what to do. */
export function renderEdits(dir: string, edits: readonly CatalogEdit[]): string {
  const [first] = edits;
  if (first === undefined) return "";
  const more = edits.length === 1 ? "" : `, and ${edits.length - 1} more like it`;
  return `${dir}: ${renderEdit(first)}${more}: run \`ptc generate\``;
}

/** `catalog.json was edited: tool 'x' of server 'y' is not what its server listed` */
export function renderEdit({ file, server, tool, problem }: CatalogEdit): string {
  const where = `server '${shownName(server)}'`;
  return `${file} was edited: ${tool === undefined ? where : `tool '${shownName(tool)}' of ${where}`} ${problem}`;
}

function serverProblem({ name, module }: CatalogServer, locked: LockedServer | undefined) {
  if (locked === undefined) return "is not in both files";
  // Patterns of `tools` and `approvals` are of names that begin with the module.
  if (module !== locked.module || module !== serverModule(name))
    return "has another module than its name says";
  return undefined;
}

function soundTools(
  { tools }: CatalogServer,
  locked: LockedServer,
  note: (problem: string, tool?: string) => void,
): CatalogTool[] {
  const sound = new Map<string, CatalogTool>();
  const seen = new Set<string>();
  for (const tool of tools) {
    const problem = seen.has(tool.name) ? "is listed twice" : toolProblem(tool, locked);
    if (problem === undefined) sound.set(tool.name, tool);
    else {
      sound.delete(tool.name);
      note(problem, tool.name);
    }
    seen.add(tool.name);
  }
  for (const name of locked.tools.keys()) if (!seen.has(name)) note("is not in both files", name);
  return [...sound.values()];
}

function toolProblem(tool: CatalogTool, { tools }: LockedServer): string | undefined {
  const locked = tools.get(tool.name);
  if (locked === undefined) return "is not in both files";
  if (locked.sha256 !== definitionDigest(tool)) return "is not what its server listed";
  if (locked.identifier !== tool.identifier || !isIdentifierOf(tool.identifier, tool.name))
    return "goes by another identifier than it was given";
  return undefined;
}
