import { duplexPair } from "node:stream";
import { describe, expect, it } from "vitest";
import { RunApprovals, UNASKED } from "../../broker/approvals/approvals.ts";
import type { CallOutcome } from "../../broker/dispatcher.ts";
import type { ObservedCall } from "../../execution/call-log.ts";
import { RunnerOutput } from "../../execution/output/runner-output.ts";
import { runInside } from "../../execution/run-inside.ts";
import { TimeLimit } from "../../execution/time-limit.ts";
import { PROTOCOL_VERSION } from "../../protocol/limits.ts";
import { encodeFrame } from "../../protocol/wire/frames.ts";

const LIMITS = {
  timeoutMs: 60_000,
  maxOutputBytes: 4_096,
  maxStderrBytes: 4_096,
  maxParallelCalls: 10,
  maxToolCalls: 10,
};
const OK: CallOutcome = { ok: true, data: 1, raw: {}, bytes: 1, decision: "allowed" };
const ABORTED: CallOutcome = {
  ok: false,
  error: { type: "ToolError", server: "a", tool: "x", message: "the call is cancelled", retryable: false },
  bytes: 0,
  decision: "allowed",
};

/** A sandbox whose program makes one call, and whose end takes as long as `dying` says. */
function sandboxWithOneCall(dying: () => Promise<void>) {
  const [channel, inside] = duplexPair();
  const send = (message: object) => inside.write(encodeFrame(message, 4_096));
  send({ type: "hello", protocol: PROTOCOL_VERSION, language: "javascript", runtime: "v24" });
  inside.once("data", () => send({ type: "call", id: 0, tool: "mcp__a__x", arguments: {} }));
  return {
    id: "1",
    image: "sha256:0",
    channel,
    exited: new Promise<{ code: number }>(() => {}),
    kill: dying,
    dispose: async () => {},
  };
}

describe("a program inside", () => {
  it.each([
    ["answered while its sandbox dies", false],
    ["aborted because its sandbox died", true],
  ])("had a call under way when it was cut, even if that is %s", async (_, closes) => {
    const cancel = new AbortController();
    const calls: ObservedCall[] = [];
    let answer = (_: CallOutcome) => {};
    const sandbox = sandboxWithOneCall(async () => {
      if (closes) sandbox.channel.destroy();
      else answer(OK);
      await new Promise((resolve) => setImmediate(resolve));
    });
    const clock = { monotonicMs: () => 0 };
    const { verdict, runtime } = await runInside(sandbox, {
      bundle: "",
      runner: "javascript",
      ways: { output: "say", value: "answer" },
      data: {},
      environment: { seed: "" },
      limits: LIMITS,
      timeLimit: new TimeLimit(LIMITS.timeoutMs, clock),
      dispatcher: {
        dispatch: (_call, { signal }) =>
          new Promise((resolve) => {
            answer = resolve;
            signal.addEventListener("abort", () => resolve(ABORTED));
            cancel.abort();
          }),
      },
      approvals: new RunApprovals("run", { ask: async () => UNASKED }),
      observers: [{ onCall: (call) => void calls.push(call) }],
      output: new RunnerOutput(LIMITS, 4_096, () => {}),
      clock,
      signal: cancel.signal,
    });
    expect(verdict).toMatchObject({ ok: false, error: { type: "Cancelled" } });
    expect(runtime).toBe("v24");
    expect(calls.map(({ outcome }) => outcome.decision)).toEqual(["unanswered"]);
  });
});
