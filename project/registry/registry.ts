/**
 * Finds a server in a registry: by the API of the MCP registry (v0.1), or in a file that mirrors one. The file has a list of servers, as
 * the API answers it, or one `server.json`.
 */
import { readFile, stat } from "node:fs/promises";
import { decodeFile } from "../../base/file-text.ts";
import { isObject, parseForeignJson } from "../../base/json.ts";
import { readBoundedBody } from "../../base/streams.ts";
import { listUpTo, visibleLine } from "../../base/visible-text.ts";
import { outgoingFetch } from "../../system/outgoing.ts";
import { Refusal } from "../refusal.ts";
import { nameIn, type RegistryServer, readServer, registryMetadata } from "./server-json.ts";

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_DEPTH = 100;
const PATIENCE_MS = 30_000;
const MAX_NAMES_CHARS = 300;
/** Of a search. A name that is in more results has to be given whole. */
const MAX_PAGES = 20;

/** A version of a server, and the other versions that the registry has. */
export interface FoundInRegistry {
  server: RegistryServer;
  otherVersions: readonly string[];
}

export interface Asked {
  /** `NAMESPACE/NAME`, or the part after the slash. */
  name: string;
  /** By default the latest. */
  version: string | undefined;
  /** A URL, or the absolute path of a file. */
  registry: string;
}

/**
 * Finds a version of a server.
 *
 * @throws Refusal where the registry has no such server or version, cannot be read, or has withdrawn the version.
 */
export async function findInRegistry(asked: Asked, signal: AbortSignal): Promise<FoundInRegistry> {
  const { version } = asked;
  const entries = await entriesFor(asked, signal);
  const full = fullName(asked, entries);
  const ofName = entries.filter((entry) => nameIn(entry)?.name === full);
  const chosen =
    version === undefined
      ? latestOf(ofName)
      : ofName.find((entry) => String(nameIn(entry)?.version) === version);
  const versions = ofName.map((entry) => visibleLine(String(nameIn(entry)?.version)));
  if (chosen === undefined)
    throw new Refusal(
      `the registry has no version '${version}' of ${visibleLine(full)}; it has ${listUpTo(versions, MAX_NAMES_CHARS)}`,
    );
  const server = readServer(chosen);
  if (server.status === "deleted")
    throw new Refusal(`the registry has withdrawn ${server.name} ${visibleLine(server.version)}`);
  return { server, otherVersions: versions.filter((each) => each !== visibleLine(server.version)) };
}

/** @throws Refusal where no server, or more than one, has the name. */
function fullName({ name, registry }: Asked, entries: readonly unknown[]): string {
  const names = [...new Set(entries.flatMap((entry) => nameIn(entry)?.name ?? []))];
  const found = names.filter((each) => each === name || each.endsWith(`/${name}`));
  const [only] = found;
  if (found.length === 1 && only !== undefined) return only;
  const where = visibleLine(registry);
  if (found.length > 1)
    throw new Refusal(`${where} has several servers of this name; choose one: ${listed(found)}`);
  const last = name.slice(name.indexOf("/") + 1).toLowerCase();
  const similar = names.filter((each) => each.toLowerCase().includes(last));
  const hint = similar.length === 0 ? "" : `; it has ${listed(similar)}`;
  throw new Refusal(`${where} has no server '${visibleLine(name)}'${hint}`);
}

function listed(names: readonly string[]): string {
  return listUpTo(names.map(visibleLine), MAX_NAMES_CHARS);
}

/** The version that the registry calls its latest, or the newest published one, or the first. */
function latestOf(entries: readonly unknown[]): unknown {
  const official = entries.find((entry) => registryMetadata(entry).isLatest === true);
  if (official !== undefined) return official;
  const dated = entries.filter((entry) => typeof registryMetadata(entry).publishedAt === "string");
  return dated.length === 0
    ? entries[0]
    : dated.toSorted((one, other) => publishedAt(other) - publishedAt(one))[0];
}

function publishedAt(entry: unknown): number {
  return Date.parse(String(registryMetadata(entry).publishedAt)) || 0;
}

async function entriesFor(asked: Asked, signal: AbortSignal): Promise<readonly unknown[]> {
  const { registry, name } = asked;
  if (!/^https?:\/\//i.test(registry)) return entriesIn(await readMirror(registry), registry);
  const url = new URL(registry);
  if (/\.json$/i.test(url.pathname)) return entriesIn(await fetchJson(url, signal), registry);
  const path = url.pathname.replace(/\/+$/, "");
  const base = `${url.origin}${/\/v0(?:\.1)?$/.test(path) ? path : `${path}/v0.1`}/servers`;
  if (name.includes("/")) {
    const versions = await fetchJson(
      new URL(`${base}/${encodeURIComponent(name)}/versions`),
      signal,
      "absent if missing",
    );
    if (versions !== undefined) return entriesIn(versions, registry);
  }
  return searchFor(name.slice(name.indexOf("/") + 1), { base, registry }, signal);
}

/** @throws Refusal for a search with more results than are read, because one of the others may have the name too. */
async function searchFor(
  text: string,
  { base, registry }: { base: string; registry: string },
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const search = new URL(base);
  search.searchParams.set("search", text);
  search.searchParams.set("version", "latest");
  search.searchParams.set("limit", "100");
  const found: unknown[] = [];
  for (let page = 0; page < MAX_PAGES; page++) {
    const list = await fetchJson(search, signal);
    found.push(...entriesIn(list, registry));
    const metadata = isObject(list) && isObject(list.metadata) ? list.metadata : {};
    const { nextCursor } = metadata;
    if (typeof nextCursor !== "string" || nextCursor === "") return found;
    search.searchParams.set("cursor", nextCursor);
  }
  throw new Refusal(
    `${visibleLine(registry)} has too many servers with '${visibleLine(text)}' in their names; write NAMESPACE/NAME`,
  );
}

function entriesIn(value: unknown, registry: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (isObject(value) && Array.isArray(value.servers)) return value.servers;
  if (nameIn(value) !== undefined) return [value];
  throw new Refusal(`${visibleLine(registry)} is no list of servers in the format of the MCP registry`);
}

async function readMirror(path: string): Promise<unknown> {
  const place = visibleLine(path);
  let text: string;
  try {
    if ((await stat(path)).size > MAX_BYTES) throw new Refusal(`${place} is larger than 64 MiB`);
    text = decodeFile(await readFile(path));
  } catch (cause) {
    if (cause instanceof Refusal) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such file" : "it cannot be read as text in UTF-8";
    throw new Refusal(`the registry ${place}: ${why}`, { cause });
  }
  return parse(text, place);
}

async function fetchJson(url: URL, signal: AbortSignal, missing?: "absent if missing"): Promise<unknown> {
  const place = visibleLine(url.href);
  const late = AbortSignal.timeout(PATIENCE_MS);
  let body: Buffer | undefined;
  try {
    const response = await outgoingFetch(url, {
      headers: { accept: "application/json" },
      redirect: "manual",
      signal: AbortSignal.any([signal, late]),
    });
    if (!response.ok) {
      await response.body?.cancel().catch(() => {});
      if (response.status === 404 && missing !== undefined) return undefined;
      throw new Refusal(`${place} answered HTTP ${response.status}`);
    }
    body = await readBoundedBody(response, MAX_BYTES);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (late.aborted) throw new Refusal(`${place} gave no answer within ${PATIENCE_MS / 1_000} s`);
    const { cause } = error as { cause?: { code?: string } };
    const why = cause?.code ?? (error instanceof Error ? error.message : String(error));
    throw new Refusal(`${place} cannot be reached: ${visibleLine(why)}`, { cause: error });
  }
  if (body === undefined) throw new Refusal(`${place} is larger than 64 MiB`);
  return parse(body.toString("utf8"), place);
}

function parse(text: string, place: string): unknown {
  try {
    return parseForeignJson(text, { maxBytes: MAX_BYTES, maxDepth: MAX_DEPTH });
  } catch (cause) {
    throw new Refusal(`${place} is not JSON that ptc can read`, { cause });
  }
}
