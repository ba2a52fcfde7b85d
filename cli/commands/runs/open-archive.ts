import { ArchiveError } from "../../../archive/archive-error.ts";
import { openForReading, openForWriting } from "../../../archive/connection.ts";
import type { Database } from "../../../archive/database.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { type Surroundings, write } from "../../surroundings.ts";

/**
 * Opens the configured archive, hands it to `work` and closes it. Where nothing was archived yet, says so on stderr, and
 * `work` gets `undefined`.
 *
 * @throws ArchiveError
 */
export async function withArchive<T>(
  flags: { config?: string },
  surroundings: Surroundings,
  work: (db: Database | undefined, configuration: Configuration) => Promise<T>,
): Promise<T> {
  const configuration = await loadArchiveConfiguration(flags, surroundings);
  const db = open(configuration.archive.path);
  if (db === undefined)
    await write(surroundings.stderr, `ptc: nothing is archived yet in ${configuration.archive.path}\n`);
  try {
    return await work(db, configuration);
  } finally {
    db?.close();
  }
}

/** The same for work that changes an archive. One that is not there is not made for it. */
export async function withArchiveToChange<T>(
  flags: { config?: string },
  surroundings: Surroundings,
  work: (db: Database | undefined, configuration: Configuration) => Promise<T>,
): Promise<T> {
  return withArchive(flags, surroundings, async (found, configuration) => {
    if (found === undefined) return work(undefined, configuration);
    const db = openForWriting(configuration.archive.path);
    try {
      return await work(db, configuration);
    } finally {
      db.close();
    }
  });
}

export function loadArchiveConfiguration(
  flags: { config?: string },
  { env, cwd }: Surroundings,
): Promise<Configuration> {
  return loadConfiguration({ flag: flags.config, env, cwd: cwd() });
}

function open(path: string): Database | undefined {
  try {
    return openForReading(path);
  } catch (error) {
    if (error instanceof ArchiveError && error.code === "missing") return undefined;
    throw error;
  }
}
