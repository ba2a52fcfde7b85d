import { homedir } from "node:os";
import { resolve } from "node:path";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { ConfiguredSecret, SecretSource } from "../upstream/secret-sources/secret-source.ts";
import type { SecretValueEntry } from "./secret-value.ts";

export interface SecretSurroundings {
  /** The absolute path against which relative paths are resolved, and in which commands are run. */
  directory: string;
  environment: EnvironmentVariables;
  /** File, line and key of a path within the server's entry. */
  placeOf(path: readonly PropertyKey[]): string;
}

/** Parts the values of `env` or `headers` that are written out from those that are read when the server starts. */
export function splitSecretValues(
  key: "env" | "headers",
  entries: Readonly<Record<string, string | SecretValueEntry>>,
  surroundings: SecretSurroundings,
): { values: Record<string, string>; secretSources: Record<string, SecretSource> } {
  const values: [string, string][] = [];
  const sources: [string, SecretSource][] = [];
  for (const [name, value] of Object.entries(entries)) {
    if (typeof value === "string") values.push([name, value]);
    else sources.push([name, sourceOf(value, surroundings.placeOf([key, name]), surroundings)]);
  }
  return { values: Object.fromEntries(values), secretSources: Object.fromEntries(sources) };
}

/** A secret of `auth`: its text, or where it is read from when a token is asked for. */
export function authSecretOf(
  key: "client_secret" | "private_key",
  value: string | SecretValueEntry | undefined,
  surroundings: SecretSurroundings,
): ConfiguredSecret | undefined {
  return typeof value === "object"
    ? sourceOf(value, surroundings.placeOf(["auth", key]), surroundings)
    : value;
}

/** Where a value that is not written out is read from. @param place file, line and key, for messages. */
export function sourceOf(
  { file, command, keyring = "", prefix = "" }: SecretValueEntry,
  place: string,
  { directory, environment }: SecretSurroundings,
): SecretSource {
  if (command !== undefined) return { place, prefix, from: "command", argv: command, cwd: directory };
  if (file === undefined) return { place, prefix, from: "keyring", name: keyring };
  const inHome = /^~\/(.*)$/s.exec(file)?.[1];
  const path =
    inHome === undefined ? resolve(directory, file) : resolve(environment.HOME || homedir(), inHome);
  return { place, prefix, from: "file", path };
}
