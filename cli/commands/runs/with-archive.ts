import type { ArchiveStore } from "../../../archive/archive-store.ts";
import { openArchive } from "../../../archive/open-archive.ts";
import type { Configuration } from "../../../configuration/configuration.ts";
import { loadConfiguration } from "../../../configuration/load.ts";
import { type Surroundings, write } from "../../surroundings.ts";

/**
 * Opens the configured archive, passes it to `work` and closes it. When nothing was archived yet, says so on stderr and
 * passes `undefined`.
 *
 * @throws ConfigurationError; ArchiveError
 */
export async function withArchive<T>(
  flags: { config?: string },
  surroundings: Surroundings,
  work: (archive: ArchiveStore | undefined, configuration: Configuration) => Promise<T>,
): Promise<T> {
  const configuration = await loadArchiveConfiguration(flags, surroundings);
  const archive = openArchive(configuration.archive);
  try {
    const exists = await archive.exists();
    if (!exists)
      await write(surroundings.stderr, `ptc: nothing is archived yet in ${configuration.archive.path}\n`);
    return await work(exists ? archive : undefined, configuration);
  } finally {
    await archive.close();
  }
}

/** @throws ConfigurationError */
export function loadArchiveConfiguration(
  flags: { config?: string },
  { env, cwd }: Surroundings,
): Promise<Configuration> {
  return loadConfiguration({ flag: flags.config, env, cwd: cwd() });
}
