import { buildFailure } from "../../../protocol/failure.ts";
import type { ToolReply } from "../tools/reply.ts";
import type { NoPlace, PlaceLimits } from "./program-places.ts";
import { buildRefusalReply } from "./program-reply.ts";

/** What a client is told of a program, or a call, that got no place. */
export function refusePlace(
  reason: NoPlace,
  patienceMs: number,
  { maxParallelPrograms: most, maxQueuedPrograms: mostQueued }: PlaceLimits,
): ToolReply {
  if (reason === "cancelled") return buildRefusalReply(buildFailure("Cancelled", "the run was cancelled"));
  const advice = "wait for one to end, or do more in one program";
  const message =
    reason === "full"
      ? `as many programs run (${most}) and wait (${mostQueued}) as may; ${advice}`
      : `as many programs run (${most}) as may, and its turn did not come in ${patienceMs / 1_000} s; ${advice}`;
  return buildRefusalReply(buildFailure("Busy", message));
}
