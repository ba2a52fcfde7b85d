import type { Redactor } from "../secrets/redaction.ts";
import type { CallObserver, ObservedCall } from "./call-log.ts";

/**
 * Redacts names and arguments of calls for an observer that shows them to people or models. Outcomes are passed on
 * unchanged: the dispatcher has already redacted the messages of failures.
 */
export function redactObserver({ onCall, onCallStarted }: CallObserver, redactor: Redactor): CallObserver {
  return {
    ...(onCallStarted && {
      onCallStarted: ({ seq, tool }) => onCallStarted({ seq, tool: redactor.redactText(tool).value }),
    }),
    ...(onCall && { onCall: (call) => onCall(redactCall(call, redactor)) }),
  };
}

function redactCall(call: ObservedCall, redactor: Redactor): ObservedCall {
  return {
    ...call,
    tool: redactor.redactText(call.tool).value,
    arguments: redactor.redactValue(call.arguments).value,
  };
}
