import * as z from "zod/mini";
import { MAX_ERROR_MESSAGE_CHARS } from "./limits.ts";
import { TRUNCATION_MARK } from "./text-cap.ts";

/** The closed set of types of failure. */
export const FailureType = z.enum([
  "TypeCheckError",
  "BundleError",
  "ScriptError",
  "ToolError",
  "Timeout",
  "OutOfMemory",
  "OutputLimit",
  "ResultNotSerializable",
  "ContractViolation",
  "ApprovalDenied",
  "ApprovalPending",
  "SandboxUnavailable",
  "Busy",
  "Cancelled",
  "ReplayDiverged",
  "InternalError",
]);
export type FailureType = z.infer<typeof FailureType>;

/** Why a run failed: one message for a person or a model, never a stack of ours, never a cause. */
export const Failure = z.strictObject({
  type: FailureType,
  message: z.string(),
  retryable: z.boolean(),
});
export type Failure = z.infer<typeof Failure>;

/** The types worth trying again unchanged. A `ToolError` says so itself, call by call. */
const RETRYABLE: ReadonlySet<FailureType> = new Set(["SandboxUnavailable", "Busy"]);

/** Builds a failure, bounding its message. `retryable` defaults to what is true of the type. */
export function buildFailure(type: FailureType, message: string, retryable = RETRYABLE.has(type)): Failure {
  return { type, message: boundMessage(message), retryable };
}

/** Cuts a message to the longest that an envelope carries. */
export function boundMessage(message: string, maxChars = MAX_ERROR_MESSAGE_CHARS): string {
  return message.length <= maxChars ? message : `${message.slice(0, maxChars)}${TRUNCATION_MARK}`;
}
