import { expect, it } from "vitest";
import type { CallingRun, CallOutcome, RequestedCall } from "../../../broker/dispatcher.ts";
import { KeptCalls } from "../../../execution/suspension/kept-calls.ts";
import { ResumedCalls } from "../../../execution/suspension/resumed-calls.ts";
import type { SuspendedRun } from "../../../execution/suspension/suspended-run.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";

const OK: CallOutcome = { ok: true, data: 1, raw: { content: [] }, decision: "allowed", bytes: 3 };
const NEVER = new Promise<never>(() => {});

/** Makes a call of so many bytes that is answered so. */
const watch = (kept: KeptCalls, call: RequestedCall, bytes: number, answer: () => Promise<CallOutcome>) =>
  kept.aroundCalls(answer)(call, { bytes } as CallingRun);

/** What holds calls, by a clock that a test sets. */
function open() {
  const clock = { nowMs: 0 };
  return { kept: new KeptCalls(() => clock.nowMs), clock };
}

it("the calls of a run that may be suspended keep when they began and how long they took", async () => {
  const { kept, clock } = open();
  clock.nowMs = 10;
  await watch(kept, { tool: "mcp__a__x", arguments: { p: 1 } }, 1, async () => {
    clock.nowMs = 25;
    return OK;
  });
  clock.nowMs = 40;
  void watch(kept, { tool: "mcp__a__ask", arguments: {}, raw: true }, 1, () => NEVER);
  clock.nowMs = 90;
  expect(kept.list()).toEqual([
    {
      tool: "mcp__a__x",
      argumentsDigest: digestOf({ p: 1 }),
      raw: false,
      startedMs: 10,
      durationMs: 15,
      outcome: { ...OK, raw: undefined },
    },
    { tool: "mcp__a__ask", argumentsDigest: digestOf({}), raw: true, startedMs: 40, durationMs: 0 },
  ]);
});

it("a call that a resumed run makes again has the times that it had, also when the run is suspended again", async () => {
  const { kept, clock } = open();
  clock.nowMs = 10;
  await watch(kept, { tool: "mcp__a__x", arguments: {} }, 1, async () => {
    clock.nowMs = 25;
    return OK;
  });
  const [first] = kept.list() ?? [];
  const run = { calls: [first] } as Pick<SuspendedRun, "calls"> as SuspendedRun;
  const resumed = new ResumedCalls({ run, goLive: () => NEVER }, () => {});
  const again = open();
  again.clock.nowMs = 500;
  const call = { tool: "mcp__a__x", arguments: {} };
  const signal = new AbortController().signal;
  const outcome = await watch(again.kept, call, 1, () =>
    resumed.aroundCalls(() => NEVER)(call, { signal } as CallingRun),
  );
  expect(outcome).toMatchObject({ data: 1, earlier: { startedMs: 10, durationMs: 15 } });
  expect(again.kept.list()).toMatchObject([{ startedMs: 10, durationMs: 15 }]);
});

it("calls that are too large are not kept at all", async () => {
  const { kept } = open();
  await watch(kept, { tool: "mcp__a__x", arguments: {} }, 32 * 1024 * 1024 - 3, async () => OK);
  expect(kept.list()).toHaveLength(1);
  await watch(kept, { tool: "mcp__a__x", arguments: {} }, 1, async () => OK);
  expect(kept.list()).toBeUndefined();
});
