import { join } from "node:path";
import * as z from "zod";
import { ForeignJsonError, isObject, parseForeignJson, writeJson } from "../../base/json.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { Digest } from "../../protocol/digest.ts";
import { namespacedName } from "../../protocol/tool-names.ts";
import { CatalogError } from "../catalog-error.ts";
import { canBeLearned, type LearnedRecord, type LearnedTypes, learnedKey } from "../learned/learned-types.ts";
import type { JsonObject } from "../model/schema-references.ts";
import { jsonSize } from "../parse-tool.ts";
import type { ServerTools, Tool } from "../tool.ts";
import { MAX_OWN_FILE_BYTES, readOwnFile } from "./own-file.ts";

/** The files of an earlier generation: `catalog.json` and `ptc.lock.json`. */
export interface StoredCatalog {
  catalog: Catalog;
  lock: Lockfile;
  /** The learned types with which the modules were printed. */
  learned?: LearnedTypes | undefined;
}

/** The servers and tools of a verified catalog, ready for use. */
export function storedServers({ catalog, lock, learned }: StoredCatalog): ServerTools[] {
  return catalog.servers.flatMap(({ name: server, module, description, tools }) => {
    const locked = lock.servers.get(server);
    if (locked === undefined) return [];
    return [
      {
        name: server,
        module,
        description,
        implementation: locked.implementation,
        tools: tools.map((tool) => {
          const definition = locked.tools.get(tool.name)?.sha256 ?? "";
          return {
            ...tool,
            namespacedName: namespacedName(module, tool.name),
            server,
            module,
            definitionDigest: definition,
            ...learnedOf(tool, learned?.get(learnedKey({ server, tool: tool.name, definition }))),
          };
        }),
      },
    ];
  });
}

function learnedOf(tool: CatalogTool, record: LearnedRecord | undefined): Pick<Tool, "learned"> {
  if (record === undefined || !canBeLearned(tool)) return {};
  return { learned: { calls: record.calls, schema: record.schema } };
}

/** One tool as its server listed it, with its identifier in generated code. */
export const CatalogTool = z.strictObject({
  /** Protocol name. */
  name: z.string(),
  identifier: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.unknown(),
  outputSchema: z.unknown().optional(),
  /** Whether programs get the value inside the wrapper that `outputSchema` describes. Missing in catalogs of earlier versions. */
  unwraps: z.literal(true).optional(),
  /** Every member is kept as the server wrote it. */
  annotations: z.custom<JsonObject>(isObject).optional(),
  /** How clients show it. Missing in catalogs of earlier versions. */
  icons: z.array(z.custom<JsonObject>(isObject)).optional(),
  /** What the server says to clients. Missing in catalogs of earlier versions. */
  _meta: z.custom<JsonObject>(isObject).optional(),
  /** Set if it is not a tool: the method of the protocol that it represents. */
  method: z.string().optional(),
});
export type CatalogTool = z.infer<typeof CatalogTool>;

export const CatalogServer = z.strictObject({
  /** The name in the configuration. */
  name: z.string(),
  module: z.string().regex(/^[a-z0-9_]+$/),
  description: z.string().optional(),
  tools: z.array(CatalogTool),
});
export type CatalogServer = z.infer<typeof CatalogServer>;

/** `catalog.json`: every tool of every server, by name. */
export const Catalog = z.strictObject({ version: z.literal(1), servers: z.array(CatalogServer) });
export type Catalog = z.infer<typeof Catalog>;

/** The most values of any kind in `catalog.json` or `ptc.lock.json`. Reading this many takes a few seconds. */
export const MAX_CATALOG_VALUES = 16_000_000;

/** A larger catalog is written without line breaks, which can make it a hundred times as long. */
const MAX_INDENTED_CHARS = 8 * 1024 * 1024;

/** Renders the text of `catalog.json`. It can be read again if `toolsBeyondLimits` finds none of its tools. */
export function renderCatalog(catalog: Catalog): string {
  const ordered = { version: catalog.version, servers: catalog.servers.map(inOrder) };
  const isLarge = jsonSize(catalog) > MAX_INDENTED_CHARS;
  return `${isLarge ? writeJson(ordered) : writeJson(ordered, 2)}\n`;
}

/** Orders the members of a server, so that equal definitions give equal bytes. */
function inOrder({ name, module, description, tools }: CatalogServer) {
  return { name, module, description, tools: tools.map(toolInOrder) };
}

function toolInOrder(tool: CatalogTool) {
  const { name, identifier, title, description, inputSchema, outputSchema, unwraps, annotations } = tool;
  const { icons, _meta, method } = tool;
  return {
    name,
    identifier,
    title,
    description,
    inputSchema,
    outputSchema,
    unwraps,
    annotations,
    icons,
    _meta,
    method,
  };
}

const LockedTool = z.strictObject({
  identifier: z.string(),
  /** Digest of the definition. */
  sha256: Digest,
});

/** A schema of objects whose member names come from servers. It gives a map, because `__proto__` is a name like any other. */
function mapOf<T>(value: z.core.$ZodType<T>) {
  return z.custom<Record<string, unknown>>(isObject).transform((input, context): Map<string, T> => {
    const map = new Map<string, T>();
    for (const [name, each] of Object.entries(input)) {
      const parsed = z.safeParse(value, each);
      if (parsed.success) map.set(name, parsed.data);
      else
        for (const issue of parsed.error.issues) context.addIssue({ ...issue, path: [name, ...issue.path] });
    }
    return map;
  });
}

const LockedServer = z.strictObject({
  module: z.string().regex(/^[a-z0-9_]+$/),
  implementation: z.strictObject({ name: z.string(), version: z.string() }),
  protocolVersion: z.string(),
  /** Digest of the text at `modulePath`, so that edited modules are rewritten. Absent if there is no module. */
  moduleSha256: z.optional(Digest),
  /** Digest of the learned types with which its modules were printed. Absent if there are none. */
  learnedSha256: z.optional(Digest),
  /** By protocol name. */
  tools: mapOf(LockedTool),
});
export type LockedServer = z.infer<typeof LockedServer>;

/**
 * `ptc.lock.json`: the digests of all tools at the time when their modules were written, to notice changes, and the digests of
 * the files beside it, which distinguish ptc's files from other files.
 */
export const Lockfile = z.strictObject({
  version: z.literal(1),
  /** The generator that wrote the modules. Another generator rewrites them. */
  generator: z.string().optional(),
  /** Digests of the other files, by path, including modules that are not at `modulePath`. Missing in earlier versions. */
  files: mapOf(Digest).optional(),
  /** By the name in the configuration. */
  servers: mapOf(LockedServer),
});
export type Lockfile = z.infer<typeof Lockfile>;

/** Renders the text of `ptc.lock.json`. */
export function renderLockfile(lock: Lockfile): string {
  // Orders the members, so that equal locks give equal bytes.
  const servers = [...lock.servers].map(([name, server]) => {
    const { module, implementation, protocolVersion, moduleSha256, learnedSha256, tools } = server;
    const listed = { module, implementation, protocolVersion, moduleSha256, learnedSha256 };
    return [name, { ...listed, tools: Object.fromEntries(tools) }];
  });
  const { version, generator } = lock;
  const files = lock.files === undefined ? undefined : Object.fromEntries(lock.files);
  return `${JSON.stringify({ version, generator, files, servers: Object.fromEntries(servers) }, null, 2)}\n`;
}

/** The path of a server's module in the folder of the lock. */
export function modulePath(module: string): string {
  return `servers/${module}/index.ts`;
}

/** The digest of the text that ptc wrote for a server at a path, or `undefined` if the lock has none. */
export function moduleDigest(
  { files }: Pick<Lockfile, "files">,
  { module, moduleSha256 }: LockedServer,
  path: string,
): string | undefined {
  return path === modulePath(module) ? moduleSha256 : files?.get(path);
}

export const LOCK = "ptc.lock.json";

/** Definitions nest at most 256 levels, and are a few levels deep in the file. */
const MAX_DEPTH = 300;

/** From this size on, compiling code for the check of a file takes less time than it saves. */
const WORTH_COMPILING_BYTES = 1024 * 1024;

/** Reads the lock of a folder. Resolves with `undefined` if there is none. @throws CatalogError */
export async function readLock(dir: string): Promise<Lockfile | undefined> {
  const text = await readOwnFile(dir, LOCK);
  return text && parseFile(join(dir, LOCK), text, Lockfile);
}

/** Parses one of the two files. @throws CatalogError */
export function parseFile<T>(path: string, text: Uint8Array, schema: z.ZodType<T>): T {
  const broken = (why: string, cause: unknown): CatalogError =>
    new CatalogError("broken", `${path} ${why}`, { remedy: "run `ptc generate`", cause });
  let value: unknown;
  try {
    value = parseForeignJson(text, {
      maxBytes: MAX_OWN_FILE_BYTES,
      maxDepth: MAX_DEPTH,
      maxValues: MAX_CATALOG_VALUES,
    });
  } catch (cause) {
    if (!(cause instanceof ForeignJsonError)) throw cause;
    // A parser's message quotes the text, so it is not shown.
    throw broken(cause.code === "not_json" ? "is not JSON" : shownName(cause.message), cause);
  }
  // Compiling code for a check, as zod does by default, takes longer than checking a small file.
  const parsed = schema.safeParse(value, { jitless: text.length < WORTH_COMPILING_BYTES });
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues[0]?.path.join(".");
  throw broken(`is not what ptc writes${where ? ` (at '${shownName(where)}')` : ""}`, parsed.error);
}

const MAX_CHARS = 80;

/** A server's name for use in a message: on one line, cut if it is long, with only visible characters. */
export function shownName(name: string): string {
  return visibleLine(name.length <= MAX_CHARS ? name : `${name.slice(0, MAX_CHARS)}...`);
}
