import * as z from "zod";
import { isObject } from "../../base/json/is-object.ts";
import { Digest } from "../../protocol/digest.ts";

const LockedTool = z.strictObject({
  identifier: z.string(),
  /** Digest of the definition. */
  sha256: Digest,
});

/** An object whose member names come from servers: a map, because `__proto__` is a name like any other. */
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
  /** Digest of the text at `modulePath`: a module that somebody edited is written anew. Left out where there is none. */
  moduleSha256: z.optional(Digest),
  /** Digest of what was learned of its results when its modules were printed. Left out where that is nothing. */
  learnedSha256: z.optional(Digest),
  /** By protocol name. */
  tools: mapOf(LockedTool),
});
export type LockedServer = z.infer<typeof LockedServer>;

/**
 * `ptc.lock.json`: what every tool was when its module was written, to notice when it is something else; and the digests
 * of the files beside it, which tell those that ptc wrote from those of somebody else.
 */
export const Lockfile = z.strictObject({
  version: z.literal(1),
  /** Which generator wrote the modules: another one writes them anew. */
  generator: z.string().optional(),
  /** Digests of the other files, by path, also of modules that are not at `modulePath`. Earlier versions left them out. */
  files: mapOf(Digest).optional(),
  /** By the name in the configuration. */
  servers: mapOf(LockedServer),
});
export type Lockfile = z.infer<typeof Lockfile>;

/** The text of `ptc.lock.json`. */
export function renderLockfile(lock: Lockfile): string {
  // Members in one order, whether they were made or read: the same lock is the same bytes.
  const servers = [...lock.servers].map(([name, server]) => {
    const { module, implementation, protocolVersion, moduleSha256, learnedSha256, tools } = server;
    const listed = { module, implementation, protocolVersion, moduleSha256, learnedSha256 };
    return [name, { ...listed, tools: Object.fromEntries(tools) }];
  });
  const { version, generator } = lock;
  const files = lock.files === undefined ? undefined : Object.fromEntries(lock.files);
  return `${JSON.stringify({ version, generator, files, servers: Object.fromEntries(servers) }, null, 2)}\n`;
}

/** Where a server's module is, in the folder of the lock. */
export function modulePath(module: string): string {
  return `servers/${module}/index.ts`;
}

/** The digest of the text that ptc wrote for a server at a path; `undefined` when the lock has none. */
export function moduleDigest(
  { files }: Pick<Lockfile, "files">,
  { module, moduleSha256 }: LockedServer,
  path: string,
): string | undefined {
  return path === modulePath(module) ? moduleSha256 : files?.get(path);
}
