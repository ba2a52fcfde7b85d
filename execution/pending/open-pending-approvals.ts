import { clock } from "../../base/clock.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { PendingApprovals } from "./pending-approvals.ts";

/** The runs of a project that wait for approvals. Nothing is read or made before it is needed. */
export function openPendingApprovals(
  configuration: Pick<Configuration, "directory" | "approvals">,
  env: EnvironmentVariables,
): PendingApprovals {
  return new PendingApprovals({ configuration, env, clock });
}
