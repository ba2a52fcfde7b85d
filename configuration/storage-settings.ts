import { parseSealingKey } from "../secrets/sealing.ts";
import type { StorageSettings } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import { type EntrySurroundings, type ExpandedFile, secretOf } from "./outside-values.ts";
import type { Settings } from "./settings/settings.ts";

const POSTGRES = /^postgres(?:ql)?:\/\/./;

/** Problems of `storage` with valid keys and types. */
export function findStorageProblems(
  { url, encryption_key: keys }: Settings["storage"],
  unsetIn: ExpandedFile["unsetIn"],
): Problem[] {
  // Unset variables are reported when the storage is needed.
  if (unsetIn(["storage"]) !== undefined) return [];
  if (url === undefined)
    return keys === undefined
      ? []
      : [{ path: ["storage", "encryption_key"], message: "says nothing without `url` beside it" }];
  if (typeof url === "string" && !POSTGRES.test(url))
    return [{ path: ["storage", "url"], message: whyNoUrl() }];
  if (keys === undefined)
    return [
      {
        path: ["storage", "url"],
        message:
          "needs `encryption_key` beside it, for logins and suspended runs; `openssl rand -base64 32` makes one",
      },
    ];
  const wrong = keys.findIndex((key) => typeof key === "string" && parseSealingKey(key) === undefined);
  if (wrong < 0) return [];
  return [{ path: ["storage", "encryption_key", wrong], message: whyNoKey() }];
}

/** Why a text cannot be the URL of the storage, in words that follow its place. */
export function whyNoUrl(): string {
  return "must be a URL of PostgreSQL, such as postgres://ptc@db.internal/ptc";
}

/** Why a text cannot be a key, in words that follow its place. */
export function whyNoKey(): string {
  return "must be 32 bytes in base64, as `openssl rand -base64 32` prints them";
}

/** Whether a text can be the URL of the storage. */
export function isStorageUrl(text: string): boolean {
  return POSTGRES.test(text);
}

export function buildStorage(
  { url, encryption_key: keys = [] }: Settings["storage"],
  surroundings: EntrySurroundings,
): StorageSettings {
  const off = surroundings.offOf(["storage"]);
  return {
    ...(off === undefined ? {} : { off }),
    url: secretOf(url, ["storage", "url"], surroundings),
    encryptionKeys: keys.flatMap((key, index) => {
      const value = secretOf(key, ["storage", "encryption_key", index], surroundings);
      return value === undefined ? [] : [value];
    }),
  };
}

/** The secrets that are written out in the settings, including the password in the URL. */
export function storageSecrets({ url, encryptionKeys }: StorageSettings): string[] {
  const written = (value: unknown) => (typeof value === "string" ? [value] : []);
  return [...encryptionKeys.flatMap(written), ...written(url).flatMap(secretsInUrl)];
}

/** The secrets of a URL: if it holds a password, the whole URL and the password. */
export function secretsInUrl(url: string): string[] {
  const [, password = ""] = /^[a-z]+:\/\/[^/?#@]*?:([^@]*)@/i.exec(url) ?? [];
  if (password === "") return [];
  return [url, password, decoded(password)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
