import type { CallError } from "../../protocol/messages.ts";

/** What a failed tool call throws. Scripts catch it as the global `ToolError`. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  server = "";
  tool = "";
  retryable = false;
  /** What the tool answered, where the call was made and its answer contradicts what the tool promises. */
  declare data?: unknown;
}

/** The wire type of each error, kept off the object: `ApprovalDenied` ends a run differently from `ToolError`. */
const wireTypes = new WeakMap<ToolError, CallError["type"]>();

/** Fills an error that was created where the script made its call, so that its stack names that line. */
export function fillToolError(error: ToolError, from: CallError, data?: unknown): ToolError {
  error.message = from.message;
  error.server = from.server;
  error.tool = from.tool;
  error.retryable = from.retryable;
  // Not enumerable, so that a printed error does not show all of it.
  if (data !== undefined) Object.defineProperty(error, "data", { value: data, configurable: true });
  wireTypes.set(error, from.type);
  return error;
}

export function wireTypeOf(error: ToolError): CallError["type"] {
  return wireTypes.get(error) ?? "ToolError";
}
