import { clock } from "../../base/clock.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import type { TraceContext } from "../../protocol/trace-context.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import type { RunKeeper } from "../suspension/suspended-run.ts";
import type { AskingProgram, PendingApprovals } from "./pending-approvals.ts";

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
 * @param program as whoever answers its questions sees it.
 */
export function keeperFor(
  context: RunContext,
  configuration: Configuration,
  env: EnvironmentVariables,
  place: TraceContext | undefined,
  program: AskingProgram,
): RunKeeper {
  return {
    startedAt: Math.round(clock.wallMs()),
    async keep(run, request, ticket) {
      return (await openPending(configuration, env)).keep(
        context,
        { ...run, place },
        request,
        ticket,
        program,
      );
    },
  };
}
