/** The servers that MCP clients on this machine have, for a new ptc.yaml. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { decodeFile } from "../../base/file-text.ts";
import { oneLine } from "../../base/visible-text.ts";
import { claudeRules } from "../../configuration/clients/claude-code.ts";
import type { ServerTools } from "../../configuration/clients/client-rules.ts";
import { type ClientFile, findClientFiles } from "../../configuration/clients/clients.ts";
import {
  type ImportedServers,
  type ImportOptions,
  importServers,
} from "../../configuration/clients/import-servers.ts";
import {
  ClientFileError,
  MAX_CLIENT_FILE_BYTES,
  readClientFile,
} from "../../configuration/clients/read-client-file.ts";
import { targetOf } from "../../configuration/clients/take-over.ts";
import type { ServerEntry } from "../../configuration/settings/server-settings.ts";
import { serverModule } from "../../protocol/tool-names.ts";
import { Refusal } from "../refusal.ts";
import { readTextFile } from "../text-file.ts";
import { type Here, shownPath } from "./client-files.ts";

/** A server in a client's file on this machine. */
export interface FoundServer {
  entry: ServerEntry;
  /** The command, or the URL without its possible secrets, for people. */
  target: string;
  /** The client and its file, for people. */
  from: string;
}

/** The servers of clients' files. */
export interface FoundServers {
  servers: readonly FoundServer[];
  /** Entries that were left out, each with the reason. */
  skipped: ImportedServers["skipped"];
  /** What the clients say of the tools of these servers, where they say anything. */
  tools: readonly ServerTools[];
  notes: ImportedServers["notes"];
  /** How many files have the servers. */
  files: number;
  /** The files in which clients may have the servers. */
  searched: readonly ClientFile[];
}

/** The servers in the files of all clients, as `searchServers` finds them. @throws Refusal when there are none. */
export async function findServers(here: Here): Promise<FoundServers> {
  const found = await searchServers(here);
  if (found.servers.length > 0) return found;
  const [first] = found.skipped;
  const why = first === undefined ? "" : `: '${oneLine(first.name, 80)}': ${first.why}`;
  throw new Refusal(`--import: no client on this machine has servers that ptc can use${why}; name a file`);
}

/** The servers in the files of all clients, which may be none. Of servers with one name, the first is taken. */
export async function searchServers(here: Here): Promise<FoundServers> {
  const { env } = here;
  const searched = findClientFiles(env, here.cwd());
  const found = new Map<string, FoundServer>();
  const skipped: ImportedServers["skipped"] = [];
  const sources = new Set<string>();
  const tools: ServerTools[] = [];
  const notes: ImportedServers["notes"] = [];
  for (const file of searched) {
    const { client, path } = file;
    const from = `${client}, ${shownPath(path, here)}`;
    const imported = await readQuietly(file, here);
    if (typeof imported === "string") skipped.push({ name: from, why: imported });
    if (typeof imported === "string" || imported === undefined) continue;
    for (const { name, why } of imported.skipped) skipped.push({ name, why: `${why} (${from})` });
    for (const entry of imported.servers) {
      const module = serverModule(entry.name);
      if (found.has(module)) {
        skipped.push({ name: entry.name, why: `one of that name is taken from elsewhere (${from})` });
        continue;
      }
      found.set(module, { entry, target: targetOf(entry), from });
      sources.add(path);
      tools.push(...imported.tools.filter(({ server }) => server === entry.name));
      notes.push(...imported.notes.filter(({ name }) => name === entry.name));
    }
  }
  const servers = [...found.values()];
  return { servers, skipped, tools, notes, files: sources.size, searched };
}

/** The servers in a file that the user names. @throws Refusal */
export async function readServers(file: string, here: Here): Promise<FoundServers> {
  const cwd = here.cwd();
  const text = await readTextFile(file, cwd, MAX_CLIENT_FILE_BYTES);
  const content = await readClientFile(file, text).catch((error: unknown) => {
    throw error instanceof ClientFileError ? new Refusal(`${file}: ${error.message}`) : error;
  });
  const options = importOptions({ client: "", path: resolve(cwd, file) }, here);
  const imported = importServers(content, cwd, options);
  if (imported === undefined) throw new Refusal(`${file}: there are no mcpServers in it`);
  const { servers, skipped, tools, notes } = imported;
  const path = realpathSync(resolve(cwd, file));
  const known = findClientFiles(here.env, cwd).find((each) => realpathSync(each.path) === path);
  const { isGemini, countsSeconds } = importOptions({ client: "", path }, here);
  const unknown = {
    client: "this client",
    path,
    isGemini: isGemini === true,
    countsSeconds: countsSeconds === true,
  };
  return {
    servers: servers.map((entry) => ({ entry, target: targetOf(entry), from: file })),
    skipped,
    tools,
    notes,
    files: 1,
    searched: [known ?? unknown],
  };
}

/** What is known of a client's file before it is read. */
function importOptions(file: ClientFile, { env, cwd }: Here): ImportOptions {
  const { path, client, pluginRoot } = file;
  const isGemini = file.isGemini ?? /(?:^|[\\/])\.(?:gemini|qwen)[\\/]/.test(path);
  const countsSeconds = file.countsSeconds ?? /cline|roo|kilo|[\\/]mcp_settings\.json$/i.test(path);
  const isClaudes =
    client.startsWith("Claude Code") || /(?:^|[\\/])\.(?:mcp\.json$|claude(?:\.json$|[\\/]))/.test(path);
  return {
    pluginRoot,
    isGemini,
    countsSeconds,
    home: env.HOME || homedir(),
    rules: isClaudes ? claudeRules(env, cwd()) : undefined,
    readFile: readVariables,
  };
}

const MAX_VARIABLES_BYTES = 1024 * 1024;

function readVariables(path: string): string | undefined {
  try {
    const { size } = statSync(path);
    return size > MAX_VARIABLES_BYTES ? undefined : decodeFile(readFileSync(path));
  } catch {
    return undefined;
  }
}

async function readQuietly(file: ClientFile, here: Here): Promise<ImportedServers | string | undefined> {
  const { path } = file;
  const cwd = here.cwd();
  try {
    const text = await readTextFile(path, cwd, MAX_CLIENT_FILE_BYTES);
    return importServers(await readClientFile(path, text), cwd, importOptions(file, here));
  } catch (error) {
    if (error instanceof ClientFileError) return `its file ${error.message}`;
    if (error instanceof Refusal) return "its file cannot be read";
    throw error;
  }
}
