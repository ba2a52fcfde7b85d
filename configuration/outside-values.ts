/**
 * Values that are not written out in ptc.yaml. Variables (`${NAME}` and `${NAME:-default}`; `$${` means a plain `${`) are expanded when
 * the file is read. Secrets from a file, a command or the keyring are read when a server starts.
 */
import { homedir } from "node:os";
import { resolve } from "node:path";
import * as z from "zod";
import { isObject } from "../base/json.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { ConfiguredSecret, SecretSource } from "../upstream/secret-source.ts";
import type { Problem } from "./configuration-error.ts";
import { TEXTS, unwrap } from "./settings/declare.ts";
import type { SecretValueEntry } from "./settings/server-settings.ts";
import { isSection, sectionOf } from "./settings/settings.ts";
import type { YamlSource } from "./yaml-source.ts";

/** A file whose variables are expanded. */
export interface ExpandedFile {
  value: unknown;
  problems: Problem[];
  /** Values that came from environment variables. */
  secrets: string[];
  /** The unset variables of an entry, such as `["servers", 0]`; `undefined` if all are set. */
  unsetIn(entry: readonly PropertyKey[]): UnsetVariables | undefined;
}

/** The unset variables that an entry needs. */
export interface UnsetVariables {
  /** The first value that needs one of them. */
  path: readonly PropertyKey[];
  names: ReadonlySet<string>;
  /** The texts of the file that could not be expanded. */
  texts: ReadonlySet<string>;
}

/** Expands variables in the settings that declare it, in a parsed file that has not been checked yet. */
export function expandVariables(source: YamlSource, environment: EnvironmentVariables): ExpandedFile {
  const problems: Problem[] = [];
  const secrets: string[] = [];
  const unset = new Map<string, UnsetVariables>();

  const noteUnset = ({ entry, path }: ValuePlace, names: readonly string[], text: string): void => {
    const before = unset.get(entry.join()) ?? { path, names: new Set(), texts: new Set() };
    unset.set(entry.join(), {
      path: before.path,
      names: new Set([...before.names, ...names]),
      texts: new Set([...before.texts, text]),
    });
  };

  const expandText = (text: string, place: ValuePlace): string => {
    const expansion = expandEnvironment(text, environment);
    if (!expansion.ok) {
      problems.push({ path: place.path, message: expansion.problem });
      return text;
    }
    secrets.push(...expansion.values);
    if (expansion.unset.length > 0) noteUnset(place, expansion.unset, expansion.text);
    return expansion.text;
  };

  /** `{ env: NAME }` has the value of `${NAME}`. */
  const expandReference = ({ env: name, prefix = "" }: EnvReference, place: ValuePlace): string => {
    const variable = Object.hasOwn(environment, name) ? environment[name] : undefined;
    const text = `${prefix}${variable ?? `\${${name}}`}`;
    if (variable === undefined) noteUnset(place, [name], text);
    else secrets.push(variable);
    return text;
  };

  /** Expands a value whose setting declares it. A value that the schema does not allow stays unchanged and is refused later. */
  const expand = (value: unknown, schema: unknown, place: ValuePlace): unknown => {
    if (typeof value === "string") return expandText(value, place);
    const { inner } = unwrap(schema);
    const isSecret = schema instanceof z.ZodType && TEXTS.get(schema)?.isSecret === true;
    if (typeof value === "number" || typeof value === "boolean") {
      const isText = place.readsNumbers && (isSecret || inner instanceof z.ZodString);
      return isText ? (source.writtenAt(place.path) ?? value) : value;
    }
    const below = (item: unknown, key: PropertyKey, of: unknown, readsNumbers = place.readsNumbers) =>
      expand(item, of, { ...place, path: [...place.path, key], readsNumbers });
    if (Array.isArray(value)) {
      return inner instanceof z.ZodArray
        ? value.map((item, index) => below(item, index, inner.element))
        : value;
    }
    if (!isObject(value)) return value;
    if (isSecret && isEnvReference(value)) return expandReference(value, place);
    if (Object.hasOwn(value, "__proto__")) {
      problems.push({
        path: place.path,
        message: "has a key `__proto__`, which cannot be passed on; remove it",
      });
      return {};
    }
    if (inner instanceof z.ZodRecord)
      // Also in the mapping of values of an account, whose own keys are settings.
      return mapValues(value, (item, key) => below(item, key, inner.valueType, true));
    if (inner instanceof z.ZodObject)
      return mapValues(value, (item, key) => below(item, key, inner.shape[key], false));
    if (!isSecret) return value;
    return mapValues(value, (item, key) => below(item, key, Array.isArray(item) ? WORDS : WORD));
  };

  /** Finds the settings that declare expansion. */
  const search = (value: unknown, schema: unknown, path: readonly PropertyKey[]): unknown => {
    const { inner } = unwrap(schema);
    if (inner instanceof z.ZodArray && Array.isArray(value))
      return value.map((item, index) => search(item, inner.element, [...path, index]));
    if (!(inner instanceof z.ZodObject) || !isObject(value)) return value;
    return mapValues(value, (item, key) => {
      const own: unknown = Object.hasOwn(inner.shape, key) ? inner.shape[key] : undefined;
      const place = { path: [...path, key], entry: path, readsNumbers: true };
      if (own instanceof z.ZodType && TEXTS.get(own)?.expands === true) return expand(item, own, place);
      return search(item, own, place.path);
    });
  };

  // Makes the schemas of the keys that the file has.
  const value = isObject(source.value)
    ? mapValues(source.value, (item, key) => (isSection(key) ? search(item, sectionOf(key), [key]) : item))
    : source.value;
  return { value, problems, secrets, unsetIn: (entry) => unset.get(entry.join()) };
}

/** The place of a value. */
interface ValuePlace {
  path: readonly PropertyKey[];
  /** The mapping that the setting is a key of. */
  entry: readonly PropertyKey[];
  /** Whether numbers and booleans are read as text. */
  readsNumbers: boolean;
}

/** The types of the values in a mapping that names a source. */
const WORD = z.string();
const WORDS = z.array(WORD);

interface EnvReference {
  env: string;
  prefix?: string;
}

/** Whether a mapping names a variable and no other source, so that nothing is lost when it is expanded. */
function isEnvReference(value: Record<string, unknown>): value is Record<string, unknown> & EnvReference {
  const { env, prefix = "", ...others } = value;
  const isName = typeof env === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(env);
  return isName && typeof prefix === "string" && Object.keys(others).length === 0;
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
      /** The unset variables without a default, each once. `text` keeps their references. */
      unset: string[];
    }
  /** The text is not in the syntax of variables. */
  | { ok: false; problem: string };

/** The longest reference to a variable, its default included. */
const MAX_REFERENCE_CHARS = 4_096;
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
    const reference = REFERENCE.exec(rest.slice(at, at + MAX_REFERENCE_CHARS));
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

/** Everything that entries are built from, besides themselves. */
export interface EntrySurroundings {
  /** The absolute path against which relative paths are resolved, and in which commands are run. */
  readonly directory: string;
  readonly environment: EnvironmentVariables;
  /** File, line and key of a path, for messages. */
  placeOf(path: readonly PropertyKey[]): string;
  /** Why an entry cannot be used, if variables that it needs are not set. */
  offOf(entry: readonly PropertyKey[]): string | undefined;
}

/** Separates written values from those that are read when the server starts. @param path the path of the mapping. */
export function splitSecretValues(
  entries: Readonly<Record<string, string | SecretValueEntry>> | undefined,
  path: readonly PropertyKey[],
  surroundings: EntrySurroundings,
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

/** A secret: its text, or the source from which it is read when needed. @param path the path of the secret, for messages. */
export function secretOf(
  entry: string | SecretValueEntry | undefined,
  path: readonly PropertyKey[],
  { directory, environment, placeOf }: EntrySurroundings,
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
