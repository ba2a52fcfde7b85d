import { EXTRACT_NAME, EXTRACT_SERVER, EXTRACT_TOOL } from "../protocol/tool-names.ts";
import type { CallDispatcher } from "./dispatcher.ts";

/**
 * Answers calls as another dispatcher does, but refuses those of the model past the number that a run may make.
 *
 * @param made how many the run has made before, where it is one that is taken up again.
 */
export function limitExtracts(inner: CallDispatcher, maxCalls: number, made: number): CallDispatcher {
  let calls = made;
  return {
    async dispatch(call, run) {
      if (call.tool !== EXTRACT_NAME) return inner.dispatch(call, run);
      calls++;
      if (calls <= maxCalls) return inner.dispatch(call, run);
      const message = `'${EXTRACT_NAME}' was not called: a run may make ${maxCalls} calls of extract; give it several texts at once`;
      return {
        ok: false,
        error: {
          type: "ToolError",
          server: EXTRACT_SERVER,
          tool: EXTRACT_TOOL,
          message,
          retryable: false,
        },
        decision: "forbidden",
        rule: `extract.max_calls: ${maxCalls}`,
        bytes: 0,
      };
    },
  };
}
