import * as z from "zod";

const LockedTool = z.object({
  identifier: z.string(),
  sha256: z.string().regex(/^sha256:[0-9a-f]{64}$/),
});

/** An object whose member names come from servers: a map, because `__proto__` is a name like any other. */
function mapOf<T>(value: z.ZodType<T>) {
  return z
    .custom<Record<string, unknown>>(
      (input) => typeof input === "object" && input !== null && !Array.isArray(input),
    )
    .transform((input, context): Map<string, T> => {
      const map = new Map<string, T>();
      for (const [name, each] of Object.entries(input)) {
        const parsed = value.safeParse(each);
        if (parsed.success) map.set(name, parsed.data);
        else
          for (const issue of parsed.error.issues)
            context.addIssue({ ...issue, path: [name, ...issue.path] });
      }
      return map;
    });
}

const LockedServer = z.object({
  module: z.string().regex(/^[a-z0-9_]+$/),
  implementation: z.object({ name: z.string(), version: z.string() }),
  protocolVersion: z.string(),
  /** Of the module's text: a module that somebody edited is written anew. */
  moduleSha256: z.string().optional(),
  /** By protocol name. */
  tools: mapOf(LockedTool),
});
export type LockedServer = z.infer<typeof LockedServer>;

/** `ptc.lock.json`: what every tool was when its module was written, to notice when it is something else. */
export const Lockfile = z.object({
  version: z.literal(1),
  /** Which generator wrote the modules: another one writes them anew. */
  generator: z.string().optional(),
  /** By the name in the configuration. */
  servers: mapOf(LockedServer),
});
export type Lockfile = z.infer<typeof Lockfile>;

/** The text of `ptc.lock.json`. */
export function renderLockfile(lock: Lockfile): string {
  // Members in one order, whether they were made or read: the same lock is the same bytes.
  const servers = [...lock.servers].map(([name, server]) => {
    const { module, implementation, protocolVersion, moduleSha256, tools } = server;
    return [
      name,
      { module, implementation, protocolVersion, moduleSha256, tools: Object.fromEntries(tools) },
    ];
  });
  const { version, generator } = lock;
  return `${JSON.stringify({ version, generator, servers: Object.fromEntries(servers) }, null, 2)}\n`;
}
