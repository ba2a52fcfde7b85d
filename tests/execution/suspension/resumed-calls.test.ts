import { expect, it } from "vitest";
import type { CallingRun, CallOutcome, RequestedCall } from "../../../broker/dispatcher.ts";
import type { KeptCall } from "../../../execution/suspension/kept-calls.ts";
import { ResumedCalls } from "../../../execution/suspension/resumed-calls.ts";
import type { SuspendedRun } from "../../../execution/suspension/suspended-run.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";

const OK: CallOutcome = { ok: true, data: 1, raw: {}, decision: "allowed", bytes: 3 };

const kept = (tool: string, args: unknown, outcome?: CallOutcome): KeptCall => ({
  ...{ tool, argumentsDigest: digestOf(args), raw: false, startedMs: 10, durationMs: 15 },
  ...(outcome && { outcome }),
});

const ANSWERED = kept("mcp__a__x", { p: 1 }, OK);
const UNANSWERED = kept("mcp__a__ask", {});

/** A run that was suspended at a question, and what its program does now. */
function resumed({ calls = [ANSWERED, UNANSWERED], why }: { calls?: KeptCall[]; why?: string } = {}) {
  const seen: string[] = [];
  const run = new AbortController();
  const resumedCalls = new ResumedCalls(
    {
      run: { calls } as Pick<SuspendedRun, "calls"> as SuspendedRun,
      goLive: async () => {
        seen.push("live");
        return why;
      },
    },
    () => {
      seen.push("stopped");
      run.abort();
    },
  );
  const dispatch = resumedCalls.aroundCalls(async ({ tool }) => {
    seen.push(tool);
    return OK;
  });
  const call = (tool: string, args?: unknown, more: Partial<RequestedCall> = {}) =>
    dispatch({ tool, arguments: args, ...more }, { signal: run.signal } as CallingRun).catch(
      ({ message }: Error) => message,
    );
  return { resumedCalls, seen, call, run };
}

const missing = (position: number, tool: string) =>
  `the program did not make call ${position} again: expected ${tool}; got no such call`;
const other = (position: number, expected: string, got: string) =>
  `the program made another call ${position} than before it was suspended: expected ${expected}; got ${got}`;

it("a resumed program gets the answers that were kept, and goes live once it has made each kept call again", async () => {
  const { resumedCalls, seen, call } = resumed();
  expect(resumedCalls.missing).toBe(missing(1, "mcp__a__x"));
  expect(await call("mcp__a__x", { p: 1 })).toEqual({ ...OK, earlier: { startedMs: 10, durationMs: 15 } });
  expect([resumedCalls.missing, resumedCalls.isLive, seen]).toEqual([missing(2, "mcp__a__ask"), false, []]);
  expect(await call("mcp__a__ask", {})).toBe(OK);
  expect([resumedCalls.missing, resumedCalls.stopped, resumedCalls.isLive]).toEqual([
    undefined,
    undefined,
    true,
  ]);
  expect(await call("mcp__a__y")).toBe(OK);
  expect(seen).toEqual(["live", "mcp__a__ask", "mcp__a__y"]);
});

it.each<[what: string, tool: string, args: unknown, more: Partial<RequestedCall>, got: string]>([
  ["another tool", "mcp__a__y", { p: 1 }, {}, "mcp__a__y"],
  ["other arguments", "mcp__a__x", { p: 2 }, {}, "other arguments"],
  ["no arguments", "mcp__a__x", undefined, {}, "other arguments"],
  ["the whole result", "mcp__a__x", { p: 1 }, { raw: true }, "other arguments"],
])(
  "a resumed program that makes another call is stopped, and nothing is called: %s",
  async (_, tool, args, more, got) => {
    const { resumedCalls, seen, call } = resumed();
    expect(await call(tool, args, more)).toBe("the run is over");
    expect(await call("mcp__a__x", { p: 1 })).toBe("the run is over");
    expect(resumedCalls.stopped).toBe(other(1, "mcp__a__x", got));
    expect([resumedCalls.isLive, seen]).toEqual([false, ["stopped"]]);
  },
);

it("a call that waits for the other kept ones is not made where the program then makes another", async () => {
  const { resumedCalls, seen, call } = resumed({ calls: [UNANSWERED, ANSWERED] });
  const waiting = call("mcp__a__ask", {});
  expect(await call("mcp__a__y")).toBe("the run is over");
  expect(await waiting).toBe("the run is over");
  expect([resumedCalls.stopped, seen]).toEqual([other(2, "mcp__a__x", "mcp__a__y"), ["stopped"]]);
});

it("a resumed run that cannot go live is stopped with the reason, having called nothing", async () => {
  const { resumedCalls, seen, call } = resumed({ why: "it is resumed elsewhere" });
  await call("mcp__a__x", { p: 1 });
  expect(await Promise.all([call("mcp__a__ask", {}), call("mcp__a__y")])).toEqual([
    "the run is over",
    "the run is over",
  ]);
  expect([resumedCalls.stopped, seen]).toEqual(["it is resumed elsewhere", ["live", "stopped"]]);
});
