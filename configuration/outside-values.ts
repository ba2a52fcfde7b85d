/**
 * Values that are not written out in ptc.yaml: variables (`${NAME}` and `${NAME:-default}`; `$${` stands for a plain `${`), which
 * are expanded when the file is read, and secrets that are read from a file, a command or the keyring when a server starts.
 */
import { homedir } from "node:os";
import { resolve } from "node:path";
import { isObject } from "../base/json.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { ConfiguredSecret, SecretSource } from "../upstream/secret-source.ts";
import type { Problem } from "./configuration-error.ts";
import type { SecretValueEntry } from "./settings/server-settings.ts";
import type { YamlSource } from "./yaml-source.ts";

/** The keys of a server in which variables are expanded, and in which numbers and booleans are read as text. */
const EXPANDED_KEYS = ["command", "args", "env", "cwd", "url", "headers", "auth", "roots"];
const EXPANDED_LOCAL_KEYS = ["command", "env", "cwd"];
const EXPANDED_EXTRACT_KEYS = ["url", "model", "key"];

/** Those whose values may be read from elsewhere, by names below them, and the one that may be itself. */
const SECRET_KEYS = ["env", "headers", "auth"];
const SECRET_KEY = "key";

/** A file whose variables are expanded. */
export interface ExpandedFile {
  value: unknown;
  problems: Problem[];
  /** Values that came from environment variables. */
  secrets: string[];
  /** What is not known of an entry, such as `["servers", 0]`; `undefined` where all is. */
  unsetIn(entry: readonly PropertyKey[]): UnsetVariables | undefined;
}

/** The variables that an entry needs and that are not set. */
export interface UnsetVariables {
  /** The first value that needs one of them. */
  path: readonly PropertyKey[];
  names: ReadonlySet<string>;
  /** The texts of the file that could not be expanded. */
  texts: ReadonlySet<string>;
}

/** Expands variables in the servers, the local tools and the model of a parsed file that has not been checked yet. */
export function expandVariables(source: YamlSource, environment: EnvironmentVariables): ExpandedFile {
  const problems: Problem[] = [];
  const secrets: string[] = [];
  const unset = new Map<string, UnsetVariables>();

  const noteUnset = (
    entry: readonly PropertyKey[],
    path: readonly PropertyKey[],
    names: readonly string[],
    text: string,
  ): void => {
    const before = unset.get(entry.join()) ?? { path, names: new Set(), texts: new Set() };
    unset.set(entry.join(), {
      path: before.path,
      names: new Set([...before.names, ...names]),
      texts: new Set([...before.texts, text]),
    });
  };

  /** @param entry the path of the entry that the value belongs to. */
  const expand = (value: unknown, path: readonly PropertyKey[], entry: readonly PropertyKey[]): unknown => {
    const [key, ...below] = path.slice(entry.length);
    if (key === "auth" && typeof value !== "string" && typeof value !== "object") return value;
    if (typeof value === "number" || typeof value === "boolean") return source.writtenAt(path) ?? value;
    if (typeof value === "string") {
      const expansion = expandEnvironment(value, environment);
      if (!expansion.ok) {
        problems.push({ path, message: expansion.problem });
        return value;
      }
      secrets.push(...expansion.values);
      if (expansion.unset.length > 0) noteUnset(entry, path, expansion.unset, expansion.text);
      return expansion.text;
    }
    // Values are at most one list or mapping deep, and a mapping that says where a secret comes from is one deeper. The schema
    // refuses deeper ones.
    const isOfSecret = key === SECRET_KEY || SECRET_KEYS.includes(String(key));
    if (below.length > (isOfSecret ? 2 : 0)) return value;
    const isSecret = key === SECRET_KEY ? below.length === 0 : below.length === 1;
    if (isSecret && isObject(value) && isVariableName(value.env) && isOnlyEnv(value)) {
      // The value of `{ env: NAME }` is that of `${NAME}`.
      const { env: name, prefix = "" } = value;
      const variable = Object.hasOwn(environment, name) ? environment[name] : undefined;
      const text = `${String(prefix)}${variable ?? `\${${name}}`}`;
      if (variable === undefined) noteUnset(entry, path, [name], text);
      else secrets.push(variable);
      return text;
    }
    if (Array.isArray(value)) return value.map((item, index) => expand(item, [...path, index], entry));
    if (isObject(value) && Object.hasOwn(value, "__proto__")) {
      problems.push({ path, message: "has a key `__proto__`, which cannot be passed on; remove it" });
      return {};
    }
    return isObject(value) ? mapValues(value, (item, name) => expand(item, [...path, name], entry)) : value;
  };

  const expandEntry = (value: unknown, keys: readonly string[], path: readonly PropertyKey[]): unknown =>
    isObject(value)
      ? mapValues(value, (item, key) => (keys.includes(key) ? expand(item, [...path, key], path) : item))
      : value;

  const expandFile = (value: unknown): unknown => {
    if (!isObject(value)) return value;
    const { servers, tools, extract } = value;
    const expandAll = (entries: unknown[], keys: readonly string[], path: readonly PropertyKey[]) =>
      entries.map((entry, index) => expandEntry(entry, keys, [...path, index]));
    const expanded = { ...value };
    if (Array.isArray(servers)) expanded.servers = expandAll(servers, EXPANDED_KEYS, ["servers"]);
    if (isObject(tools) && Array.isArray(tools.local))
      expanded.tools = {
        ...tools,
        local: expandAll(tools.local, EXPANDED_LOCAL_KEYS, ["tools", "local"]),
      };
    if (isObject(extract)) expanded.extract = expandEntry(extract, EXPANDED_EXTRACT_KEYS, ["extract"]);
    return expanded;
  };

  const value = expandFile(source.value);
  return { value, problems, secrets, unsetIn: (entry) => unset.get(entry.join()) };
}

/** Whether a mapping names a variable and no other source, so that nothing is lost when it is expanded. */
function isOnlyEnv(value: Record<string, unknown>): value is { env: string; prefix?: string } {
  return Object.keys(value).every(
    (key) => key === "env" || (key === "prefix" && typeof value.prefix === "string"),
  );
}

function isVariableName(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(value);
}

function mapValues(
  mapping: Record<string, unknown>,
  change: (value: unknown, key: string) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(mapping).map(([key, value]) => [key, change(value, key)]));
}

export type Expansion =
  | {
      ok: true;
      text: string;
      /** The texts that came from the environment. */
      values: string[];
      /** The variables that are not set and have no default, each once. In `text` they stand as they were written. */
      unset: string[];
    }
  /** The text is not in the syntax of variables. */
  | { ok: false; problem: string };

const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/;

/** Expands the variables in one text. */
export function expandEnvironment(text: string, environment: EnvironmentVariables): Expansion {
  const values: string[] = [];
  const unset = new Set<string>();
  let expanded = "";
  let rest = text;
  for (;;) {
    const at = rest.indexOf("${");
    if (at < 0) return { ok: true, text: expanded + rest, values, unset: [...unset] };
    if (at > 0 && rest[at - 1] === "$") {
      expanded += `${rest.slice(0, at - 1)}\${`;
      rest = rest.slice(at + 2);
      continue;
    }
    const reference = REFERENCE.exec(rest.slice(at, at + 4_096));
    const name = reference?.[1];
    if (reference === null || name === undefined) {
      return {
        ok: false,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the syntax that the message explains
        problem: "has a `${` that is not `${NAME}` or `${NAME:-default}`; write `$${` for a plain `${`",
      };
    }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    const fallback = reference[2];
    let inserted = reference[0];
    if (fallback !== undefined && (value === undefined || value === "")) inserted = fallback;
    else if (value === undefined) unset.add(name);
    else {
      inserted = value;
      values.push(value);
    }
    expanded += rest.slice(0, at) + inserted;
    rest = rest.slice(at + reference[0].length);
  }
}

/** What entries are built from besides themselves. */
export interface Surroundings {
  /** The absolute path against which relative paths are resolved, and in which commands are run. */
  readonly directory: string;
  readonly environment: EnvironmentVariables;
  /** File, line and key of a path, for messages. */
  placeOf(path: readonly PropertyKey[]): string;
  /** Why an entry cannot be used: variables that it needs are not set. */
  offOf(entry: readonly PropertyKey[]): string | undefined;
}

/** Parts the values of a mapping that are written out from those that are read when the server starts. @param path of the mapping. */
export function splitSecretValues(
  entries: Readonly<Record<string, string | SecretValueEntry>> | undefined,
  path: readonly PropertyKey[],
  surroundings: Surroundings,
): { values: Record<string, string>; secretSources: Record<string, SecretSource> } {
  const values: [string, string][] = [];
  const sources: [string, SecretSource][] = [];
  for (const [name, entry] of Object.entries(entries ?? {})) {
    const value = secretOf(entry, [...path, name], surroundings);
    if (typeof value === "string") values.push([name, value]);
    else if (value !== undefined) sources.push([name, value]);
  }
  return { values: Object.fromEntries(values), secretSources: Object.fromEntries(sources) };
}

/** A secret: its text, or where it is read from when it is needed. @param path of the secret, for messages. */
export function secretOf(
  entry: string | SecretValueEntry | undefined,
  path: readonly PropertyKey[],
  { directory, environment, placeOf }: Surroundings,
): ConfiguredSecret | undefined {
  if (typeof entry !== "object") return entry;
  const { file, command, keyring = "", prefix = "" } = entry;
  const place = placeOf(path);
  if (command !== undefined) return { place, prefix, from: "command", argv: command, cwd: directory };
  if (file === undefined) return { place, prefix, from: "keyring", name: keyring };
  const inHome = /^~\/(.*)$/s.exec(file)?.[1];
  const found =
    inHome === undefined ? resolve(directory, file) : resolve(environment.HOME || homedir(), inHome);
  return { place, prefix, from: "file", path: found };
}
