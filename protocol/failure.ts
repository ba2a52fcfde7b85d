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

/** Why a run failed, in one message for a person or a model. Never contains a stack trace of ptc or an internal cause. */
export const Failure = z.strictObject({
  type: FailureType,
  message: z.string(),
  retryable: z.boolean(),
});
export type Failure = z.infer<typeof Failure>;

/** The types of failure after which an unchanged retry may succeed. Each `ToolError` states this for its own call. */
const RETRYABLE: ReadonlySet<FailureType> = new Set(["SandboxUnavailable", "Busy"]);

/** Builds a failure with a bounded message. `retryable` defaults to the value for its type. */
export function buildFailure(type: FailureType, message: string, retryable = RETRYABLE.has(type)): Failure {
  return { type, message: boundMessage(message), retryable };
}

/** Truncates a message to `maxChars`, by default the longest that an envelope carries. */
export function boundMessage(message: string, maxChars = MAX_ERROR_MESSAGE_CHARS): string {
  return message.length <= maxChars ? message : `${message.slice(0, maxChars)}${TRUNCATION_MARK}`;
}
