import { randomBytes } from "node:crypto";
import type { Metrics } from "../../protocol/envelope.ts";
import type { FailureType } from "../../protocol/failure.ts";
import type { ProgramEnvironment } from "../../protocol/messages.ts";
import { fail, type Outcome } from "../outcome.ts";
import type { ResumedCalls } from "./resumed-calls.ts";
import type { SuspendedRun } from "./suspended-run.ts";
import type { Moment } from "./suspension.ts";

/** The same for every program, so that output does not depend on the machine. */
const TIME_ZONE = "UTC";

/** Failures of a run that its program did not cause. */
const NOT_ITS_OWN: ReadonlySet<FailureType> = new Set([
  "Cancelled",
  "SandboxUnavailable",
  "Busy",
  "InternalError",
]);

/** The environment of a program. A resumed program first sees its recorded environment again, and then the present one. */
export function environmentOf(earlier: SuspendedRun | undefined): ProgramEnvironment {
  if (earlier === undefined) return { seed: randomBytes(32).toString("hex"), time_zone: TIME_ZONE };
  const { environment, trace, startedAt } = earlier;
  const { started_ms, clock, events } = trace ?? { started_ms: startedAt, clock: "", events: "" };
  return { ...environment, replay: { started_ms, clock, events, resumes: true } };
}

/** The failure of a resumed program that did not repeat what it had done. */
export function divergenceOf(
  outcome: Outcome,
  calls: Pick<ResumedCalls, "stopped" | "missing">,
): Outcome | undefined {
  const message = calls.stopped ?? (isToBeTriedAgain(outcome) ? undefined : calls.missing);
  return message === undefined ? undefined : { ...outcome, ...fail("ReplayDiverged", message) };
}

/** Whether the run failed for a reason that its program did not cause. */
export function isToBeTriedAgain({ verdict }: Outcome): boolean {
  return !verdict.ok && NOT_ITS_OWN.has(verdict.error.type);
}

/** The metrics of a run, including the time before it was suspended. */
export function addUp(metrics: Metrics | undefined, earlierMs = 0): Metrics {
  const { duration_ms, ...counts } = metrics ?? { duration_ms: 0, tool_calls: 0, tool_result_bytes: 0 };
  return { duration_ms: Math.round(duration_ms + earlierMs), ...counts };
}

/** The calls, the trace and the time of a run that is suspended again, including those before its first suspension. */
export function continued(
  { calls, trace, insideMs }: Moment,
  earlier: SuspendedRun | undefined,
  durationMs: number,
): Pick<SuspendedRun, "calls" | "trace" | "spent"> {
  const spent = { durationMs, insideMs: insideMs + (earlier?.spent.insideMs ?? 0) };
  return { calls, trace: trace ?? earlier?.trace, spent };
}
