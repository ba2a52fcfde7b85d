import { expect, it } from "vitest";
import { RunApprovals, UNASKED } from "../../broker/approvals/approvals.ts";
import { interceptCalls } from "../../broker/call-interceptors.ts";
import type { CallDispatcher, CallOutcome, RequestedCall } from "../../broker/dispatcher.ts";
import { LastingCalls } from "../../execution/lasting-calls.ts";
import { KeptCalls } from "../../execution/suspension/kept-calls.ts";

const RUN = {
  approvals: new RunApprovals("run", { ask: async () => UNASKED }),
  signal: new AbortController().signal,
};
const CALL: RequestedCall = { tool: "mcp__a__pay", arguments: { order: 1 } };
const OK: CallOutcome = { ok: true, data: 1, raw: {}, bytes: 1, decision: "allowed" };
const FAILED: CallOutcome = {
  ok: false,
  error: { type: "ToolError", server: "a", tool: "pay", message: "it is gone", retryable: false },
  bytes: 0,
  decision: "allowed",
};

/** Calls of a first sandbox that wait for their answers. */
function waiting() {
  const made: PromiseWithResolvers<CallOutcome>[] = [];
  const kept = new KeptCalls(() => 0);
  const dispatch: CallDispatcher["dispatch"] = () => {
    const call = Promise.withResolvers<CallOutcome>();
    made.push(call);
    return call.promise;
  };
  const calls = new LastingCalls(interceptCalls({ dispatch }, [kept.aroundCalls]));
  const rehearsed: RequestedCall[] = [];
  const rehearse = () =>
    calls.rehearse({
      dispatch: async (call) => {
        rehearsed.push(call);
        return OK;
      },
    });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { calls, made, kept: () => kept.list() ?? [], rehearse, rehearsed, settled };
}

it.each([
  ["before its rehearsal", true],
  ["during its rehearsal", false],
])(
  "a call that fails after the stop of its program and %s is made once, and the run has its answer",
  async (_, isBefore) => {
    const { calls, made, kept, rehearse, rehearsed, settled } = waiting();
    const first = calls.first.dispatch(CALL, RUN);
    calls.stop();
    const moment = kept();
    if (!isBefore) rehearse();
    await settled();
    made[0]?.resolve(FAILED);
    await settled();
    if (isBefore) rehearse();
    calls.goOn();
    expect(await first).toBe(isBefore ? FAILED : OK);
    expect(rehearsed).toHaveLength(isBefore ? 0 : 1);
    const { dispatcher } = calls.beginAgain(moment, () => {});
    const again = dispatcher.dispatch(CALL, RUN);
    await settled();
    expect(made).toHaveLength(1);
    expect(await again).toEqual(FAILED);
    // The same call once more is another one.
    void dispatcher.dispatch(CALL, RUN);
    await settled();
    expect(made).toHaveLength(2);
  },
);

it("a call that had its answer when its program stopped is made again if the run makes it once more", async () => {
  const { calls, made, kept, rehearse, settled } = waiting();
  const first = calls.first.dispatch(CALL, RUN);
  made[0]?.resolve(OK);
  await first;
  await settled();
  calls.stop();
  const moment = kept();
  rehearse();
  const { dispatcher } = calls.beginAgain(moment, () => {});
  expect(await dispatcher.dispatch(CALL, RUN)).toMatchObject(OK);
  void dispatcher.dispatch(CALL, RUN);
  await settled();
  expect(made).toHaveLength(2);
});
