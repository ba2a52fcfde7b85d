import { openPendingApprovals } from "../../../host/approvals/open-pending-approvals.ts";
import type { PendingApprovals } from "../../../host/approvals/pending-approvals.ts";
import type { Configuration } from "../../../host/configuration/configuration.ts";
import { loadConfiguration } from "../../../host/configuration/load.ts";
import type { Surroundings } from "../../surroundings.ts";

/**
 * Does some work with the runs of a project that wait for approvals.
 *
 * @throws ConfigurationError, PendingError
 */
export async function withApprovals<T>(
  flags: { config?: string },
  { env, cwd }: Surroundings,
  work: (approvals: PendingApprovals, settings: Configuration["approvals"]) => T | Promise<T>,
): Promise<T> {
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: cwd() });
  return work(openPendingApprovals(configuration, env), configuration.approvals);
}
