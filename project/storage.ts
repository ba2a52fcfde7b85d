/** Looks after the PostgreSQL that several ptc share: what is in it, its tables, what it takes over, and the key of its secrets. */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { openMaintenance, readSqliteRows } from "../archive/open-archive.ts";
import { SealingError } from "../secrets/sealing.ts";
import { type SharedStorage, sharedStorage } from "../storage/storage.ts";
import type { Project } from "./open-project.ts";
import { Refusal } from "./refusal.ts";

type Maintenance = Awaited<ReturnType<typeof openMaintenance>>;

export type StorageStatus = Awaited<ReturnType<Maintenance["storageStatus"]>>;

/** What the shared storage keeps; `undefined` where everything is in files of this machine. @throws ConfigurationError, ArchiveError */
export async function storageStatus(project: Project): Promise<StorageStatus | undefined> {
  const shared = await sharedStorage(project.configuration, project.env)?.();
  if (shared === undefined) return undefined;
  const { storageStatus: ask } = await openMaintenance();
  return ask(shared.url, resealing(shared));
}

/** Makes the tables, or brings them to the version of this ptc. @throws Refusal, ConfigurationError, ArchiveError */
export async function migrateStorage(project: Project): ReturnType<Maintenance["migrateStorage"]> {
  const shared = await requireShared(project);
  const { migrateStorage: migrate } = await openMaintenance();
  return migrate(shared.url);
}

type OnTaken = (done: number, of: number) => void;

/** An archive and an audit log in files, which a shared storage takes over in two steps. */
export interface Takeover {
  archivePath: string;
  auditPath: string;
  takeRuns(onTaken: OnTaken): ReturnType<Maintenance["takeOver"]>;
  takeAudit(onTaken: OnTaken): ReturnType<Maintenance["takeOverAudit"]>;
}

/**
 * Opens the takeover of an archive in SQLite. Its audit log is the `audit.jsonl` beside it, or that of the project.
 *
 * @param file an absolute path; by default the configured archive.
 * @throws Refusal if there is no such archive or no shared storage; ConfigurationError, ArchiveError
 */
export async function openTakeover(project: Project, file: string | undefined): Promise<Takeover> {
  const { url } = await requireShared(project);
  const archivePath = file ?? project.configuration.archive.path;
  const auditPath = file === undefined ? project.auditPath : join(dirname(file), basename(project.auditPath));
  if (!existsSync(archivePath)) throw new Refusal(`${archivePath}: there is no such archive`);
  const { takeOver, takeOverAudit } = await openMaintenance();
  return {
    archivePath,
    auditPath,
    takeRuns: (onTaken) => readSqliteRows(archivePath, (rows) => takeOver(url, rows, onTaken)),
    takeAudit: (onTaken) => takeOverAudit(url, auditPath, onTaken),
  };
}

/** Encrypts the kept secrets with the first key. @throws Refusal, ConfigurationError, ArchiveError */
export async function reencryptStorage(project: Project): ReturnType<Maintenance["reencryptStorage"]> {
  const shared = await requireShared(project);
  const { reencryptStorage: reencrypt } = await openMaintenance();
  return reencrypt(shared.url, resealing(shared));
}

/** Seals values again that are not sealed with the first key. */
function resealing({ keys }: SharedStorage) {
  return (sealed: Uint8Array, purpose: string) => {
    if (keys.isCurrent(sealed)) return "current" as const;
    try {
      return keys.seal(keys.unseal(sealed, purpose), purpose);
    } catch (error) {
      if (!(error instanceof SealingError)) throw error;
      return "unreadable" as const;
    }
  };
}

async function requireShared({ configuration, env }: Project): Promise<SharedStorage> {
  const shared = await sharedStorage(configuration, env)?.();
  if (shared !== undefined) return shared;
  const file = configuration.file ?? "ptc.yaml";
  throw new Refusal(`${file} has no storage.url: everything is kept in files of this machine`);
}
