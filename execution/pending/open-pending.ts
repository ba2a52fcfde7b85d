import { clock } from "../../base/clock.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import type { TraceContext } from "../../protocol/trace-context.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import type { RunKeeper } from "../suspension/suspended-run.ts";
import type { AskingProgram, PendingApprovals } from "./pending-approvals.ts";
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

/** What is kept with a run, and how people are notified of its question. */
interface KeptWith {
  /** The run's place in a collector's traces. */
  place: TraceContext | undefined;
  /** The program as a person sees it who answers its questions. */
  program: AskingProgram;
  tell?: TellOfQuestion | undefined;
}

/** Keeps the runs of one context when they are suspended. */
export function keeperFor(
  context: RunContext,
  configuration: Configuration,
  env: EnvironmentVariables,
  { place, program, tell }: KeptWith,
): RunKeeper {
  return {
    startedAt: Math.round(clock.wallMs()),
    async keep(run, request, ticket) {
      const pending = await openPending(configuration, env);
      const kept = await pending.keep(context, { ...run, place }, request, ticket, program);
      if (kept.ok) tell?.(request, kept);
      return kept;
    },
  };
}
