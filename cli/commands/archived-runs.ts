import { countNoun } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { Project } from "../../project/open-project.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { tell, UsageError } from "../command.ts";
import { inProject } from "../project-command.ts";

/**
 * Opens the configured archive, passes it to `work`, and closes it. If nothing has been archived yet, says so on stderr and passes
 * `undefined`.
 *
 * @throws ConfigurationError; ArchiveError
 */
export async function withArchive<T>(
  flags: { config?: string },
  surroundings: Surroundings,
  work: (archive: Project["runs"] | undefined, configuration: Project["configuration"]) => Promise<T>,
): Promise<T> {
  return inProject(flags, surroundings, async ({ configuration, runs, placeOfRuns }) => {
    const exists = await runs.exists();
    if (!exists) await tell(surroundings.stderr, `nothing is archived yet in ${placeOfRuns}`);
    return work(exists ? runs : undefined, configuration);
  });
}

const MAX_NAMED = 20;

/** Names the damaged runs that were left out, and says what to do about them. */
export async function tellDamaged(
  damaged: readonly { message: string }[],
  { stderr }: Pick<Surroundings, "stderr">,
): Promise<void> {
  if (damaged.length === 0) return;
  for (const { message } of damaged.slice(0, MAX_NAMED)) await tell(stderr, oneLine(message));
  await tell(
    stderr,
    `${countNoun(damaged.length, "run")} left out; \`ptc runs prune RUN\` deletes one, \`ptc runs verify\` checks all`,
  );
}

const UNIT_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/**
 * Parses a moment: `24h` or `7d` (that long ago), `2026-11-01` (the beginning of that day in UTC), or an ISO 8601 time. Returns
 * milliseconds since 1970.
 *
 * @throws UsageError
 */
export function parseMoment(option: string, text: string, nowMs: number): number {
  const [, amount, unit = ""] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (amount !== undefined) return nowMs - Number(amount) * (UNIT_MS[unit] ?? 0);
  const moment = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d)?)?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  // `Date` takes a day beyond the end of a month for a day of the next month.
  const day = Number.isFinite(moment) ? new Date(`${text.slice(0, 10)}T00:00Z`).toISOString() : "";
  if (day.startsWith(text.slice(0, 10)) && day !== "") return moment;
  throw new UsageError(
    `${option}: '${text.slice(0, 80)}' is not a time; give 24h, 7d, or a date like 2026-11-01`,
  );
}
