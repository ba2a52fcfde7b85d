import * as z from "zod/mini";
import { ArchiveError } from "../../archive-error.ts";
import type { Database } from "./database.ts";
import { APPLICATION_ID, MIGRATIONS, type Migration } from "./schema.ts";

const Version = z.object({ user_version: z.int() });
const Application = z.object({ application_id: z.int() });
const Count = z.object({ tables: z.int() });

/** How many versions an archive is behind this ptc; 0 for an up-to-date one. A new, empty file is behind by all of them. */
export function versionsBehind(db: Database, migrations = MIGRATIONS): number {
  // In one snapshot, because another process may be creating the tables.
  return db.snapshot(() => compareVersions(db, migrations));
}

function compareVersions(db: Database, migrations: readonly Migration[]): number {
  const version = db.get(Version, "PRAGMA user_version")?.user_version ?? 0;
  const application = db.get(Application, "PRAGMA application_id")?.application_id ?? 0;
  const tables = db.get(Count, "SELECT count(*) AS tables FROM sqlite_master")?.tables ?? 0;
  if (application !== APPLICATION_ID && (tables > 0 || version > 0)) {
    const message = `${db.path} is not an archive of ptc's, and was left alone: give archive.path another file`;
    throw new ArchiveError("foreign", message);
  }
  if (version > migrations.length) {
    const message = `the archive ${db.path} has version ${version}, and this ptc knows ${migrations.length} at most: use a newer ptc, or another archive.path`;
    throw new ArchiveError("newer", message);
  }
  return migrations.length - version;
}

/**
 * Migrates an archive to the version of this ptc, in one transaction.
 *
 * @throws ArchiveError `foreign` and `newer`, and changes nothing then.
 */
export function migrate(db: Database, migrations = MIGRATIONS): void {
  if (versionsBehind(db, migrations) === 0) return;
  db.transaction(() => {
    // Checked again under the lock, because another process may have migrated it.
    const behind = versionsBehind(db, migrations);
    for (const migration of migrations.slice(migrations.length - behind))
      if (typeof migration === "string") db.exec(migration);
      else migration(db);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`);
  });
}
