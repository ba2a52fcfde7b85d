import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { isObject } from "../../base/json.ts";
import { withoutArgumentSecrets } from "../plain-secrets.ts";
import type { ServerEntry } from "../settings/server-settings.ts";
import { type ClientChange, changeEntry, type EditedFile } from "./client-changes.ts";
import { type ClientFile, formatOf, isPtcEntry } from "./clients.ts";
import type { EntryPlace } from "./edit-entry.ts";
import { importableEntries, serverPlaces } from "./import-servers.ts";
import { ClientFileError, readClientFile } from "./read-client-file.ts";

/** An entry of a client that starts a server of ptc.yaml. */
export interface DoubleEntry extends EditedFile {
  name: string;
  /** The command, or the URL without its possible secrets, for people. */
  target: string;
}

/**
 * The entries of a client's file that start one of these servers: the same command with the same arguments, or the same URL. A variable
 * with which ptc replaced a secret counts as equal. Entries of plugins are left out, because the files of a plugin are not the user's.
 *
 * @param text the text of the file.
 */
export async function findDoubles(
  { client, path, pluginRoot, isGemini, countsSeconds }: ClientFile,
  text: string,
  { servers, project }: { servers: readonly ServerEntry[]; project: string },
): Promise<DoubleEntry[]> {
  if (pluginRoot !== undefined) return [];
  const file = await readIfReadable(path, text);
  if (file === undefined) return [];
  const format = formatOf(path);
  return importableEntries(file, project, { isGemini, countsSeconds }).flatMap(({ keys, name, server }) =>
    servers.some((own) => isSameServer(own, server))
      ? [{ client, path, format, keys, project, name, target: targetOf(server) } as const]
      : [],
  );
}

/** The content of a client's file; `undefined` if it cannot be read, because ptc could not change its entries. */
async function readIfReadable(path: string, text: string): Promise<unknown> {
  try {
    return await readClientFile(path, text);
  } catch (error) {
    if (error instanceof ClientFileError) return undefined;
    throw error;
  }
}

/** An entry of a client that starts ptc. */
export interface PtcEntry extends EntryPlace {
  client: string;
  name: string;
}

/** The entries of a client's file that start ptc, for every folder in Claude Code's file. */
export async function findPtcEntries({ client, path }: ClientFile, text: string): Promise<PtcEntry[]> {
  const file = await readIfReadable(path, text);
  if (file === undefined) return [];
  const projects = isObject(file) && isObject(file.projects) ? Object.keys(file.projects) : [];
  const format = formatOf(path);
  return serverPlaces(file, projects).flatMap(({ keys, name, entry }) =>
    isPtcEntry(entry) ? [{ client, path, format, keys, name } as const] : [],
  );
}

/** The servers of a ptc.yaml as they are written: with references to variables, and only with the members that are compared. */
export function serversWrittenIn(configurationText: string): ServerEntry[] {
  let servers: unknown;
  try {
    const file: unknown = parse(configurationText, { maxAliasCount: 100 });
    servers = isObject(file) ? file.servers : undefined;
  } catch {
    return [];
  }
  return (Array.isArray(servers) ? servers : []).filter(isObject).map(({ name, command, args, url }) => ({
    name: String(name),
    ...(typeof command === "string" && { command }),
    ...(Array.isArray(args) && { args: args.map(String) }),
    ...(typeof url === "string" && { url }),
  }));
}

function isSameServer(given: ServerEntry, imported: ServerEntry): boolean {
  const own = withoutNames(given);
  const entry = withoutNames(withoutArgumentSecrets(imported).entry);
  const isNamedAlike = own.name === entry.name;
  if (own.url !== undefined) return isNamedAlike && own.url === entry.url;
  return isNamedAlike && own.command === entry.command && isDeepStrictEqual(own.args ?? [], entry.args ?? []);
}

/** The entry with one name for all variables in its arguments and its URL, since ptc may have given them other names. */
function withoutNames(entry: ServerEntry): ServerEntry {
  const unnamed = (text: string) => text.replaceAll(/\$\{[A-Za-z_]\w*\}/g, "$");
  return {
    ...entry,
    ...(entry.args && { args: entry.args.map(unnamed) }),
    ...(entry.url !== undefined && { url: unnamed(entry.url) }),
    ...(entry.command !== undefined && { command: unnamed(entry.command) }),
  };
}

/** The command or the URL of a server, without its possible secrets. */
export function targetOf({ command, url }: ServerEntry): string {
  return url === undefined
    ? (command ?? "")
    : url.replace(/^([a-z]+:\/\/)[^/@]*@/i, "$1").replace(/[?#].*$/, "");
}

/**
 * The text of a file without these entries, and the changes in order. Entries that no longer exist are skipped.
 *
 * @throws ClientFileError
 */
export async function takeOut(
  doubles: readonly DoubleEntry[],
  text: string,
): Promise<{ text: string | undefined; changes: ClientChange[] }> {
  let left: string | undefined = text;
  const changes: ClientChange[] = [];
  for (const double of doubles) {
    const edit = { name: double.name, entry: undefined, mayChange: () => true };
    const { text: next, change } = await changeEntry(double, left, edit);
    left = next;
    if (change !== undefined) changes.push(change);
  }
  return { text: left, changes };
}
