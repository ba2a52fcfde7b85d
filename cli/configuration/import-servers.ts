import * as z from "zod";
import { serverModule } from "../../protocol/tool-name.ts";
import type { ServerEntry } from "./schema.ts";

/** One entry of `mcpServers`, as Claude Code and other clients write it. */
const ForeignServer = z.looseObject({
  type: z.string().optional(),
  command: z.string().optional(),
  args: z.array(z.coerce.string()).optional(),
  env: z.record(z.string(), z.coerce.string()).optional(),
  cwd: z.string().optional(),
  url: z.string().optional(),
  headers: z.record(z.string(), z.coerce.string()).optional(),
});
type ForeignServer = z.infer<typeof ForeignServer>;

export interface ImportedServers {
  servers: ServerEntry[];
  /** Entries that were left out, each with the reason. */
  skipped: { name: string; why: string }[];
  /** Servers whose `env` or `headers` hold values, rather than names of variables. */
  withValues: string[];
}

/**
 * Turns the `mcpServers` of a `.mcp.json` or `~/.claude.json` into servers of ptc. In the latter those of the project in
 * `directory` come first, and hide servers of the same name that are the user's.
 */
export function importServers(file: unknown, directory: string): ImportedServers | undefined {
  const found = new Map<string, unknown>();
  for (const source of [projectOf(file, directory), file]) {
    const servers = memberOf(source, "mcpServers");
    if (!isRecord(servers)) continue;
    for (const [name, entry] of Object.entries(servers)) if (!found.has(name)) found.set(name, entry);
  }
  if (found.size === 0 && !isRecord(memberOf(file, "mcpServers")) && !isRecord(memberOf(file, "projects"))) {
    return undefined;
  }
  const imported: ImportedServers = { servers: [], skipped: [], withValues: [] };
  const modules = new Set<string>();
  for (const [name, entry] of found) {
    const server = readServer(name, entry);
    if (typeof server === "string") imported.skipped.push({ name, why: server });
    else if (modules.has(serverModule(server.name)))
      imported.skipped.push({ name, why: "another server has the same name in code" });
    else {
      modules.add(serverModule(server.name));
      imported.servers.push(server);
      const values = [...Object.values(server.env ?? {}), ...Object.values(server.headers ?? {})];
      if (values.some((value) => !value.includes("${"))) imported.withValues.push(server.name);
    }
  }
  return imported;
}

/** The entry as one of ptc's, or why it cannot be one. */
function readServer(name: string, entry: unknown): ServerEntry | string {
  const parsed = ForeignServer.safeParse(entry);
  if (!parsed.success) return "its entry is not one that ptc can read";
  const server = parsed.data;
  if (isPtc(server)) return "it is ptc itself";
  const ownName = name.replaceAll(/[^A-Za-z0-9._-]+/g, "-").slice(0, 64);
  const type = server.type ?? (server.url === undefined ? "stdio" : "http");
  switch (type) {
    case "stdio": {
      if (server.command === undefined) return "it has no command";
      const { command, args, env, cwd } = server;
      return { name: ownName, transport: "stdio", command, ...defined({ args, env, cwd }) };
    }
    case "http":
    case "streamable-http":
    case "streamableHttp":
    case "sse": {
      if (server.url === undefined) return "it has no url";
      const transport = type === "sse" ? "sse" : "http";
      return { name: ownName, transport, url: server.url, ...defined({ headers: server.headers }) };
    }
    default:
      return `ptc does not know servers of type '${type}'`;
  }
}

/** A ptc behind a ptc would run programs that call programs. */
function isPtc({ command, args = [] }: ForeignServer): boolean {
  const words = [command ?? "", ...args];
  return words.some((word) => /(?:^|[/\\])ptc(?:\.js)?$/.test(word)) && words.includes("serve");
}

function projectOf(file: unknown, directory: string): unknown {
  return memberOf(memberOf(file, "projects"), directory);
}

function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
