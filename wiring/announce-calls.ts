import type { CallDispatcher } from "../broker/dispatcher.ts";

/** Answers calls as another dispatcher does, all of them after `announce`. */
export function announceCalls(dispatcher: CallDispatcher, announce: () => Promise<void>): CallDispatcher {
  let announced: Promise<void> | undefined;
  return {
    async dispatch(call, run) {
      announced ??= announce();
      await announced;
      return dispatcher.dispatch(call, run);
    },
  };
}
