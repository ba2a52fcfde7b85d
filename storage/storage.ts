/**
 * Opens what outlives a run: in files and SQLite of this machine, or in the PostgreSQL of `storage.url`, where several ptc share
 * it. Whoever needs runs, the audit log, what waits for approvals or a document opens it here. Nothing is read, made or connected
 * before the first use, and the secrets of `storage` are read only then, once for this process.
 */
import { ArchiveError } from "../archive/archive-error.ts";
import type { ArchiveStore } from "../archive/archive-store.ts";
import type { AuditChain } from "../archive/audit/chain/audit-chain.ts";
import type { AuditSource } from "../archive/audit/reading/audit-source.ts";
import { type Counters, MemoryCounters } from "../archive/counters.ts";
import type { Documents } from "../archive/documents.ts";
import {
  type DatabaseUrl,
  openArchive,
  openAuditChain,
  openAuditSource,
  openCounters,
  openDocuments,
  openFacts,
  openPendingStore,
} from "../archive/open-archive.ts";
import type { PendingStore } from "../archive/pending-store.ts";
import type { SharedFacts } from "../archive/shared-facts.ts";
import type { Configuration, StorageSettings } from "../configuration/configuration.ts";
import { isStorageUrl, secretsInUrl, whyNoKey, whyNoUrl } from "../configuration/storage-settings.ts";
import { KeyList, parseSealingKey } from "../secrets/sealing.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { ConfiguredSecret } from "../upstream/secret-source.ts";
import { SecretSourceError } from "../upstream/secret-source.ts";
import { ownLoginSecrets } from "../upstream/secret-sources.ts";

/** What is shared, with its secrets read. */
export interface SharedStorage {
  url: string;
  keys: KeyList;
  /** What is to be redacted wherever text leaves ptc. */
  secrets: readonly string[];
}

/** Settings that say where things are kept; in files without `storage`. */
type Stored = Partial<Pick<Configuration, "storage">>;

const read = new Map<string, Promise<SharedStorage>>();

/**
 * Where several ptc share what outlives a run; `undefined` where files of this machine keep it.
 *
 * @returns what reads the secrets, and rejects with an ArchiveError when they cannot be read.
 */
export function sharedStorage(
  { storage }: Stored,
  env: EnvironmentVariables,
): (() => Promise<SharedStorage>) | undefined {
  if (storage?.url === undefined) return undefined;
  const key = JSON.stringify([storage, env.HOME, env.XDG_STATE_HOME]);
  return () => {
    let reading = read.get(key);
    if (reading === undefined) {
      reading = readStorage(storage, env);
      read.set(key, reading);
      // What could not be read may be the next time.
      reading.catch(() => read.delete(key));
    }
    return reading;
  };
}

async function readStorage(
  { url, encryptionKeys, off }: StorageSettings,
  env: EnvironmentVariables,
): Promise<SharedStorage> {
  if (off !== undefined) throw new ArchiveError("unavailable", off);
  const { sources } = ownLoginSecrets(env);
  const signal = new AbortController().signal;
  const textOf = async (secret: ConfiguredSecret): Promise<{ text: string; place: string }> => {
    if (typeof secret === "string") return { text: secret, place: "storage" };
    try {
      return { text: secret.prefix + (await sources.read(secret, signal)), place: secret.place };
    } catch (error) {
      if (!(error instanceof SecretSourceError)) throw error;
      throw new ArchiveError("unavailable", `${secret.place}: ${error.message}`, error);
    }
  };
  const { text, place } = await textOf(url ?? "");
  if (!isStorageUrl(text)) throw new ArchiveError("unavailable", `${place}: ${whyNoUrl()}`);
  const texts = await Promise.all(encryptionKeys.map(textOf));
  const keys = texts.map((key) => {
    const parsed = parseSealingKey(key.text);
    if (parsed === undefined) throw new ArchiveError("unavailable", `${key.place}: ${whyNoKey()}`);
    return parsed;
  });
  return {
    url: text,
    keys: new KeyList(keys),
    secrets: [...texts.map((key) => key.text), ...secretsInUrl(text)],
  };
}

/** The database of a configuration; `undefined` where it has none. */
function databaseOf(configuration: Stored, env: EnvironmentVariables): DatabaseUrl | undefined {
  const shared = sharedStorage(configuration, env);
  return shared && (async () => (await shared()).url);
}

/** Where runs are kept, for people. */
export function placeOfRuns({ archive, storage }: Pick<Configuration, "archive" | "storage">): string {
  return storage.url === undefined ? archive.path : "PostgreSQL (storage.url)";
}

/** Opens what keeps runs. The caller closes it. */
export function openRuns(
  { archive, storage }: Pick<Configuration, "archive"> & Stored,
  env: EnvironmentVariables,
): ArchiveStore {
  return openArchive({ ...archive, database: databaseOf({ storage: storage ?? NO_STORAGE }, env) });
}

const NO_STORAGE: StorageSettings = { url: undefined, encryptionKeys: [] };

/** Opens what waits for approvals. @param path of the file where there is no database. */
export function openWaiting(
  configuration: Stored,
  env: EnvironmentVariables,
  { path, now }: { path: string; now: () => number },
): PendingStore {
  return openPendingStore(path, now, databaseOf(configuration, env));
}

/** Opens what lines of the audit log are appended to; `undefined` where that is a file. */
export function openSharedAudit(
  configuration: Stored,
  env: EnvironmentVariables,
  options: { keepMs: number; wallMs: () => number },
): AuditChain | undefined {
  const database = databaseOf(configuration, env);
  return database && openAuditChain(database, options);
}

/** Opens the audit log to be read. @param path of the file where there is no database. */
export function openAudit(configuration: Stored, env: EnvironmentVariables, path: string): AuditSource {
  return openAuditSource(path, databaseOf(configuration, env));
}

/** Opens documents that several ptc share; `undefined` where files keep them. */
export function openSharedDocuments(configuration: Stored, env: EnvironmentVariables): Documents | undefined {
  const database = databaseOf(configuration, env);
  return database && openDocuments(database);
}

/** Opens what principals' use is counted in: for all that share the storage, or for this process alone. */
export function openUseCounters(configuration: Stored, env: EnvironmentVariables): Counters {
  const database = databaseOf(configuration, env);
  return database === undefined ? new MemoryCounters(() => Date.now()) : openCounters(database);
}

/** Opens facts that several ptc gather together; `undefined` where one ptc has everything to itself. */
export function openSharedFacts(configuration: Stored, env: EnvironmentVariables): SharedFacts | undefined {
  const database = databaseOf(configuration, env);
  return database && openFacts(database);
}
