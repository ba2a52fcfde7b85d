import { clock } from "../../base/clock.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import type { TraceContext } from "../../protocol/trace-context.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import type { RunKeeper } from "../suspension/suspended-run.ts";
import type { PendingApprovals } from "./pending-approvals.ts";
import type { TellOfQuestion } from "./shared-questions.ts";

/**
 * Opens the pending approvals of a project. Their code is loaded only now, because most runs ask nobody. Nothing is read or
 * created before it is needed.
 */
export async function openPending(
  configuration: Pick<Configuration, "directory" | "approvals"> & Partial<Pick<Configuration, "storage">>,
  env: EnvironmentVariables,
): Promise<PendingApprovals> {
  const { PendingApprovals } = await import("./pending-approvals.ts");
  return new PendingApprovals({ configuration, env, clock });
}

/**
 * Keeps the runs of one context when they are suspended.
 *
 * @param place the run's place in a collector's traces.
 * @param tell tells people of a question of a suspended run.
 */
export function keeperFor(
  context: RunContext,
  configuration: Configuration,
  env: EnvironmentVariables,
  place: TraceContext | undefined,
  tell?: TellOfQuestion | undefined,
): RunKeeper {
  return {
    startedAt: Math.round(clock.wallMs()),
    async keep(run, question, given) {
      const pending = await openPending(configuration, env);
      const kept = await pending.keep(context, { ...run, place }, question, given);
      if (kept.ok) tell?.(question, kept);
      return kept;
    },
  };
}
