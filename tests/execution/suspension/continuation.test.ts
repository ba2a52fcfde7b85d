import { describe, expect, it } from "vitest";
import type { Outcome } from "../../../execution/outcome.ts";
import {
  addUp,
  continued,
  divergenceOf,
  environmentOf,
  isToBeTriedAgain,
} from "../../../execution/suspension/continuation.ts";
import type { SuspendedRun } from "../../../execution/suspension/suspended-run.ts";
import type { FailureType } from "../../../protocol/failure.ts";

const failed = (type: FailureType) =>
  ({ verdict: { ok: false, error: { type, message: "m" } } }) as unknown as Outcome;
const done = { verdict: { ok: true } } as unknown as Outcome;
const trace = { started_ms: 5, clock: "c", events: "e", complete: true };

function suspended(more: Partial<SuspendedRun> = {}): SuspendedRun {
  const environment = { seed: "ab", time_zone: "UTC" };
  return { environment, startedAt: 7, spent: { durationMs: 10, insideMs: 3 }, ...more } as SuspendedRun;
}

describe("the environment of a program", () => {
  it("is another for each run, in the same time zone", () => {
    const [one, other] = [environmentOf(undefined), environmentOf(undefined)];
    expect(one).toEqual({ seed: expect.stringMatching(/^[0-9a-f]{64}$/), time_zone: "UTC" });
    expect(one.seed).not.toBe(other.seed);
  });

  it("is the same where it is resumed, with what it has seen so far", () => {
    expect(environmentOf(suspended({ trace }))).toEqual({
      seed: "ab",
      time_zone: "UTC",
      replay: { started_ms: 5, clock: "c", events: "e", resumes: true },
    });
    expect(environmentOf(suspended())).toMatchObject({
      replay: { started_ms: 7, clock: "", events: "", resumes: true },
    });
  });
});

it.each<[FailureType, boolean]>([
  ["Cancelled", true],
  ["SandboxUnavailable", true],
  ["Busy", true],
  ["InternalError", true],
  ["ScriptError", false],
  ["ToolError", false],
  ["Timeout", false],
])("a run that failed with %s is tried again: %s", (type, isAgain) => {
  expect(isToBeTriedAgain(failed(type))).toBe(isAgain);
  expect(isToBeTriedAgain(done)).toBe(false);
  // A run that did not come to its calls for no fault of its program has not diverged.
  const missing = divergenceOf(failed(type), { stopped: undefined, missing: "call 1 was not made" });
  expect(missing === undefined).toBe(isAgain);
  expect(divergenceOf(failed(type), { stopped: "call 1 is another", missing: undefined })).toMatchObject({
    verdict: { ok: false, error: { type: "ReplayDiverged", message: "call 1 is another" } },
  });
});

it("a run that repeated all that it had done has not diverged", () => {
  expect(divergenceOf(done, { stopped: undefined, missing: undefined })).toBeUndefined();
  expect(divergenceOf(done, { stopped: undefined, missing: "m" })).toMatchObject({
    verdict: { ok: false, error: { type: "ReplayDiverged", message: "m" } },
  });
});

it("the time before a suspension counts, also before several", () => {
  expect(addUp(undefined)).toEqual({ duration_ms: 0, tool_calls: 0, tool_result_bytes: 0 });
  expect(addUp({ duration_ms: 1.4, tool_calls: 2, tool_result_bytes: 3 }, 10.2)).toEqual({
    duration_ms: 12,
    tool_calls: 2,
    tool_result_bytes: 3,
  });
  const moment = { calls: [], trace: undefined, insideMs: 4 };
  expect(continued(moment, undefined, 20)).toEqual({
    calls: [],
    trace: undefined,
    spent: { durationMs: 20, insideMs: 4 },
  });
  expect(continued(moment, suspended({ trace }), 20)).toMatchObject({
    trace,
    spent: { durationMs: 20, insideMs: 7 },
  });
  const newer = { ...trace, events: "ef" };
  expect(continued({ ...moment, trace: newer }, suspended({ trace }), 20).trace).toBe(newer);
});
