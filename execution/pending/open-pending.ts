import type { Configuration } from "../../configuration/configuration.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import type { PendingApprovals } from "./pending-approvals.ts";

/** Opens what waits for approvals, and loads what that takes only then: most runs ask nobody. */
export async function openPending(
  configuration: Pick<Configuration, "directory" | "approvals">,
  env: EnvironmentVariables,
): Promise<PendingApprovals> {
  const { openPendingApprovals } = await import("./open-pending-approvals.ts");
  return openPendingApprovals(configuration, env);
}
