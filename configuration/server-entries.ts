import { isObject } from "../base/json/is-object.ts";
import { serverModule } from "../protocol/tools/tool-name.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { Problem } from "./configuration-error.ts";
import { expandEnvironment } from "./expand-environment.ts";
import type { ServerEntry } from "./schema.ts";
import { findAuthProblems } from "./server-auth.ts";
import type { YamlSource } from "./yaml-source.ts";

/** The keys of a server in which variables are expanded, and in which numbers and booleans are read as text. */
const EXPANDED_KEYS = ["command", "args", "env", "cwd", "url", "headers", "auth", "roots"];
const EXPANDED_LOCAL_KEYS = ["command", "env", "cwd"];
const EXPANDED_EXTRACT_KEYS = ["url", "model", "key"];

/** Those whose values may be read from elsewhere, by names below them, and the one that may be itself. */
const SECRET_KEYS = ["env", "headers", "auth"];
const SECRET_KEY = "key";

interface Expanded {
  value: unknown;
  problems: Problem[];
  /** Values that came from environment variables. */
  secrets: string[];
  /** The servers that cannot be used because variables are not set, by index. */
  unset: ReadonlyMap<number, UnsetVariables>;
  /** The same of local tools. */
  unsetLocal: ReadonlyMap<number, UnsetVariables>;
  /** The same of `extract`. */
  unsetExtract: UnsetVariables | undefined;
}

/** The variables that a server needs and that are not set. */
export interface UnsetVariables {
  /** The first value that needs one of them. */
  path: readonly PropertyKey[];
  names: ReadonlySet<string>;
  /** The texts of the file that could not be expanded. */
  texts: ReadonlySet<string>;
}

/** Expands variables in the servers, the local tools and the model of a parsed file that has not been checked yet. */
export function expandServers(source: YamlSource, environment: EnvironmentVariables): Expanded {
  const problems: Problem[] = [];
  const secrets: string[] = [];
  const unset = new Map<number, UnsetVariables>();
  const unsetLocal = new Map<number, UnsetVariables>();
  const unsetExtract = new Map<number, UnsetVariables>();

  /** @param owner the place of the entry that the value is of: its path, its number, and where what it misses is noted. */
  const expand = (value: unknown, path: readonly PropertyKey[], owner: EntryPlace): unknown => {
    const [key, ...below] = path.slice(owner.path.length);
    if (key === "auth" && typeof value !== "string" && typeof value !== "object") return value;
    if (typeof value === "number" || typeof value === "boolean") return source.writtenAt(path) ?? value;
    if (typeof value === "string") {
      const expansion = expandEnvironment(value, environment);
      if (!expansion.ok) {
        problems.push({ path, message: expansion.problem });
        return value;
      }
      secrets.push(...expansion.values);
      if (expansion.unset.length > 0) noteUnset(owner, path, expansion.unset, expansion.text);
      return expansion.text;
    }
    // Values are at most one list or mapping deep, and where secrets come from is told in a mapping more. The schema refuses
    // deeper ones.
    const isOfSecret = key === SECRET_KEY || SECRET_KEYS.includes(String(key));
    if (below.length > (isOfSecret ? 2 : 0)) return value;
    const isSecret = key === SECRET_KEY ? below.length === 0 : below.length === 1;
    if (isSecret && isObject(value) && isVariableName(value.env) && isOnlyEnv(value)) {
      return expandNamed(value.env, prefixOf(value), path, owner);
    }
    if (Array.isArray(value)) return value.map((item, index) => expand(item, [...path, index], owner));
    if (isObject(value) && Object.hasOwn(value, "__proto__")) {
      problems.push({ path, message: "has a key `__proto__`, which cannot be passed on; remove it" });
      return {};
    }
    return isObject(value) ? mapValues(value, (item, name) => expand(item, [...path, name], owner)) : value;
  };

  /** The value of `{ env: NAME }`, which is that of `${NAME}`. */
  const expandNamed = (
    name: string,
    prefix: string,
    path: readonly PropertyKey[],
    owner: EntryPlace,
  ): string => {
    const variable = Object.hasOwn(environment, name) ? environment[name] : undefined;
    const text = `${prefix}${variable ?? `\${${name}}`}`;
    if (variable === undefined) noteUnset(owner, path, [name], text);
    else secrets.push(variable);
    return text;
  };

  const expandEntry = (entry: unknown, keys: readonly string[], owner: EntryPlace): unknown =>
    isObject(entry)
      ? mapValues(entry, (item, key) =>
          keys.includes(key) ? expand(item, [...owner.path, key], owner) : item,
        )
      : entry;

  const expandFile = (value: unknown): unknown => {
    if (!isObject(value)) return value;
    const { servers, tools, extract } = value;
    const expanded = { ...value };
    if (Array.isArray(servers))
      expanded.servers = servers.map((server: unknown, index) =>
        expandEntry(server, EXPANDED_KEYS, { path: ["servers", index], index, unset }),
      );
    if (isObject(tools) && Array.isArray(tools.local))
      expanded.tools = {
        ...tools,
        local: tools.local.map((tool: unknown, index) =>
          expandEntry(tool, EXPANDED_LOCAL_KEYS, {
            path: ["tools", "local", index],
            index,
            unset: unsetLocal,
          }),
        ),
      };
    if (isObject(extract))
      expanded.extract = expandEntry(extract, EXPANDED_EXTRACT_KEYS, {
        path: ["extract"],
        index: 0,
        unset: unsetExtract,
      });
    return expanded;
  };

  const value = expandFile(source.value);
  return { value, problems, secrets, unset, unsetLocal, unsetExtract: unsetExtract.get(0) };
}

interface EntryPlace {
  path: readonly PropertyKey[];
  index: number;
  unset: Map<number, UnsetVariables>;
}

function isVariableName(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(value);
}

/** Whether a mapping names a variable and no other source, so that nothing of it is lost when it is expanded. */
function isOnlyEnv(value: Record<string, unknown>): boolean {
  return Object.keys(value).every(
    (key) => key === "env" || (key === "prefix" && typeof value.prefix === "string"),
  );
}

function prefixOf({ prefix }: Record<string, unknown>): string {
  return typeof prefix === "string" ? prefix : "";
}

function noteUnset(
  { unset, index }: EntryPlace,
  path: readonly PropertyKey[],
  names: readonly string[],
  text: string,
): void {
  const before = unset.get(index) ?? { path, names: new Set(), texts: new Set() };
  unset.set(index, {
    path: before.path,
    names: new Set([...before.names, ...names]),
    texts: new Set([...before.texts, text]),
  });
}

/**
 * Problems of servers whose keys and types are valid by the schema.
 *
 * @param unset as `expandServers` returned it: a text with a variable that is not set is not judged.
 */
export function findServerProblems(
  servers: readonly ServerEntry[],
  unset: ReadonlyMap<number, UnsetVariables>,
): Problem[] {
  return [
    ...findTransportProblems(servers, unset),
    ...servers.flatMap((server, index) =>
      findAuthProblems(server, ["servers", index], unset.get(index)?.texts),
    ),
    ...findNameProblems(servers),
  ];
}

/** The transport of a server. The default is stdio for a command and Streamable HTTP for a URL. */
export function transportOf(server: ServerEntry): "stdio" | "http" | "sse" {
  return server.transport ?? (server.url === undefined ? "stdio" : "http");
}

function findTransportProblems(
  servers: readonly ServerEntry[],
  unset: ReadonlyMap<number, UnsetVariables>,
): Problem[] {
  return servers.flatMap((server, index): Problem[] => {
    const path = ["servers", index];
    if (server.transport === undefined && server.command === undefined && server.url === undefined) {
      return [{ path, message: "has neither `command` nor `url`; say how to reach the server" }];
    }
    const transport = transportOf(server);
    const stdio = transport === "stdio";
    const foreign = stdio
      ? (["url", "headers", "auth"] as const)
      : (["command", "args", "env", "cwd"] as const);
    for (const key of foreign) {
      if (server[key] === undefined) continue;
      return [
        {
          path: [...path, key],
          message: `does not go with transport ${transport}; remove it, or change the transport`,
        },
      ];
    }
    if (stdio) {
      return server.command === undefined
        ? [{ path, message: "has no `command`, which transport stdio needs; add one" }]
        : [];
    }
    if (server.url === undefined) {
      return [{ path, message: `has no \`url\`, which transport ${transport} needs; add one` }];
    }
    return isHttpUrl(server.url) || unset.get(index)?.texts.has(server.url) === true
      ? []
      : [
          {
            path: [...path, "url"],
            message: "is not a URL; write http://host:port/path or https://host/path",
          },
        ];
  });
}

function findNameProblems(servers: readonly ServerEntry[]): Problem[] {
  const seen = new Map<string, { name: string; index: number }>();
  return servers.flatMap(({ name }, index): Problem[] => {
    const module = serverModule(name);
    const earlier = seen.get(module);
    if (earlier === undefined) {
      seen.set(module, { name, index });
      return [];
    }
    const reason =
      earlier.name === name
        ? `'${name}' is also the name of servers[${earlier.index}]`
        : `'${name}' becomes '${module}' in code, as does '${earlier.name}' of servers[${earlier.index}]`;
    return [{ path: ["servers", index, "name"], message: `${reason}; rename one` }];
  });
}

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && hostname !== "";
}

function mapValues(
  mapping: Record<string, unknown>,
  change: (value: unknown, key: string) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(mapping).map(([key, value]) => [key, change(value, key)]));
}
