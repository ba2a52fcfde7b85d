import type { CallOutcome } from "../broker/dispatcher.ts";
import type { Redactor } from "../secrets/redaction.ts";
import type { CallObserver, ObservedCall } from "./call-log.ts";

/**
 * Redacts names, arguments and messages of calls for an observer that shows them to people or models. Data of outcomes is passed
 * on unchanged.
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
    outcome: redactFailure(call.outcome, redactor),
  };
}

function redactFailure(outcome: CallOutcome, redactor: Redactor): CallOutcome {
  if (outcome.ok) {
    const { warning } = outcome;
    return warning === undefined ? outcome : { ...outcome, warning: redactor.redactText(warning).value };
  }
  const { error } = outcome;
  const message = redactor.redactText(error.message).value;
  return message === error.message ? outcome : { ...outcome, error: { ...error, message } };
}
