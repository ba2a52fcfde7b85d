import { clock } from "../../base/clock.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import type { TraceContext } from "../../protocol/trace-context.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import type { RunKeeper } from "../suspension/suspended-run.ts";
import { openPending } from "./open-pending.ts";

/**
 * Keeps the runs of one context. What keeps them is loaded with the first that is suspended.
 *
 * @param place where a collector is told of the run.
 */
export function keeperFor(
  context: RunContext,
  configuration: Configuration,
  env: EnvironmentVariables,
  place: TraceContext | undefined,
): RunKeeper {
  return {
    startedAt: Math.round(clock.wallMs()),
    async keep(run, ...question) {
      return (await openPending(configuration, env)).keep(context, { ...run, place }, ...question);
    },
  };
}
