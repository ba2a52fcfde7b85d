import { duplexPair } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { RunApprovals, UNASKED } from "../../broker/approvals/approvals.ts";
import type { CallDispatcher, CallOutcome } from "../../broker/dispatcher.ts";
import type { ObservedCall } from "../../execution/call-log.ts";
import { RunnerOutput } from "../../execution/output/runner-output.ts";
import { type OwnPlace, Planning } from "../../execution/planning.ts";
import type { InsideRun } from "../../execution/program-inside.ts";
import type { OpenRun } from "../../execution/run.ts";
import { runInside } from "../../execution/run-inside.ts";
import type { Suspension } from "../../execution/suspension/suspension.ts";
import { TimeLimit } from "../../execution/time-limit.ts";
import { encodeConsoleEntry } from "../../protocol/console-stream.ts";
import { encodeFrame, FrameDecoder } from "../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES, PROTOCOL_VERSION } from "../../protocol/limits.ts";

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

/** The state of a program that could be rehearsed in its own sandbox. */
const MOMENT = {
  trace: { started_ms: 0, clock: "", events: "", complete: true },
  insideMs: 0,
  isTraced: true,
};
const CLOCK = { monotonicMs: () => 0 };

/** A sandbox whose runner has said hello, and the other end of its channel. */
function greetingSandbox({
  kill = async () => {},
  clear = async () => {},
  lingerMs,
  exited = new Promise(() => {}),
}: {
  kill?: () => Promise<void>;
  clear?: () => Promise<void>;
  lingerMs?: number | undefined;
  exited?: Promise<{ code: number }>;
}) {
  const [channel, inside] = duplexPair();
  const send = (message: object) => inside.write(encodeFrame(message, 4_096));
  send({ type: "hello", protocol: PROTOCOL_VERSION, language: "javascript", runtime: "v24" });
  const sandbox = {
    id: "1",
    image: "sha256:0",
    channel,
    lingerMs,
    exited,
    kill,
    clear,
    dispose: async () => {},
  };
  return { sandbox, inside, send };
}

/** A program that calls are answered to by `dispatch`. */
function programWith(
  dispatch: CallDispatcher["dispatch"],
  signal: AbortSignal,
  calls: ObservedCall[] = [],
): InsideRun {
  const timeLimit = new TimeLimit(LIMITS.timeoutMs, CLOCK);
  const run: OpenRun = {
    approvals: new RunApprovals("run", { ask: async () => UNASKED }),
    observers: [{ onCall: (call) => void calls.push(call) }],
    recording: undefined,
    suspension: undefined,
    signal,
    faulted: new AbortController().signal,
    elapsedMs: () => 0,
  };
  return {
    scope: { program: { data: {} }, dispatcher: { dispatch }, limits: LIMITS, clock: CLOCK },
    run,
    prepared: { bundle: "", runner: "javascript", idioms: { output: "say", value: "answer" } },
    environment: { seed: "" },
    timeLimit,
    output: new RunnerOutput(LIMITS, 4_096, () => {}),
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
    const { sandbox, inside, send } = greetingSandbox({
      async kill() {
        if (closes) sandbox.channel.destroy();
        else answer(OK);
        await new Promise((resolve) => setImmediate(resolve));
      },
    });
    inside.once("data", () => send({ type: "call", id: 0, tool: "mcp__a__x", arguments: {} }));
    const dispatch: CallDispatcher["dispatch"] = (_call, { signal }) =>
      new Promise((resolve) => {
        answer = resolve;
        signal.addEventListener("abort", () => resolve(ABORTED));
        cancel.abort();
      });
    const { verdict, runtime } = await runInside(sandbox, programWith(dispatch, cancel.signal, calls));
    expect(verdict).toMatchObject({ ok: false, error: { type: "Cancelled" } });
    expect(runtime).toBe("v24");
    expect(calls.map(({ outcome }) => outcome.decision)).toEqual(["unanswered"]);
  });

  it("whose engine is lost after it has begun fails as that, is not to be tried again unseen, and keeps its calls", async () => {
    const lost = Promise.withResolvers<{ code: number }>();
    const calls: ObservedCall[] = [];
    const { sandbox, inside, send } = greetingSandbox({
      exited: lost.promise,
      kill: () => Promise.reject(new Error("the engine does not answer")),
    });
    inside.once("data", () => send({ type: "call", id: 0, tool: "mcp__a__x", arguments: {} }));
    const dispatch: CallDispatcher["dispatch"] = async () => {
      setImmediate(() => lost.reject(new Error("the node is down")));
      return OK;
    };
    const { verdict, metrics } = await runInside(
      sandbox,
      programWith(dispatch, new AbortController().signal, calls),
    );
    expect(verdict).toMatchObject({
      ok: false,
      error: { type: "InternalError", message: "the node is down", retryable: false },
    });
    expect([metrics?.tool_calls, calls.length]).toEqual([1, 1]);
  });

  it("has the trace and the blocks that were still unread when its sandbox had ended, and makes no call any more", async () => {
    const ended = Promise.withResolvers<{ code: number }>();
    const { sandbox, inside, send } = greetingSandbox({ exited: ended.promise });
    const trace = { started_ms: 1, clock: "", events: "", complete: true };
    const block = { type: "text", text: "said" };
    inside.once("data", () => {
      ended.resolve({ code: 0 });
      setTimeout(() => {
        send({ type: "call", id: 0, tool: "mcp__a__x", arguments: {} });
        send({ type: "emit", block });
        send({ type: "trace", trace });
        setTimeout(() => inside.end(), 10);
      }, 10);
    });
    const dispatch = vi.fn(async () => OK);
    const program = programWith(dispatch, new AbortController().signal);
    expect(await runInside(sandbox, program)).toMatchObject({ trace, emitted: [block] });
    expect(dispatch).not.toHaveBeenCalled();
  });

  it.each([
    ["what it wrote before", async (write: () => void) => write(), "said\n"],
    ["no more where its sandbox ends before that is there", () => new Promise<void>(() => {}), ""],
  ])("that is suspended shows %s", async (_, clearing, shown) => {
    const ended = Promise.withResolvers<{ code: number }>();
    const inside = programWith(async () => OK, new AbortController().signal);
    const write = () => inside.output.onStderr(encodeConsoleEntry({ stream: "out", text: "said\n" }));
    const { sandbox } = greetingSandbox({
      exited: ended.promise,
      clear() {
        if (shown === "") ended.resolve({ code: 137 });
        return clearing(write);
      },
    });
    const suspended = { ticket: "t", tool: "mcp__a__x", expiresAt: 0 };
    const suspension = { begin() {}, suspended: Promise.resolve(suspended) } as unknown as Suspension;
    const running = runInside(sandbox, { ...inside, run: { ...inside.run, suspension } });
    expect((await running).suspended).toBe(suspended);
    expect(inside.output.consoleText).toBe(shown);
  });

  it("that is cancelled does not go on in rehearsal while it ends, and its run is not waited for", async () => {
    const cancel = new AbortController();
    const moment = { ...MOMENT, calls: [] };
    let own: OwnPlace | undefined;
    const could: (boolean | undefined)[] = [];
    const { sandbox, inside, send } = greetingSandbox({
      kill: async () => void could.push(own?.canRehearse(moment)),
    });
    inside.once("data", () => send({ type: "call", id: 0, tool: "mcp__a__x", arguments: {} }));
    const planning = new Planning();
    planning.begin = (_, place) => {
      own = place;
    };
    const dispatch: CallDispatcher["dispatch"] = () => {
      could.push(own?.canRehearse(moment));
      cancel.abort();
      // As late as it can: the ending is settled, and nobody has heard of it.
      void own?.rehearse(
        { dispatcher: { dispatch: async () => OK }, surroundings: {}, observers: [] },
        AbortSignal.abort(),
      );
      return new Promise(() => {});
    };
    const program = programWith(dispatch, cancel.signal);
    const elsewhere = { leave() {}, acquire: async () => ({ ok: false as const, message: "there is none" }) };
    const { verdict } = await runInside(sandbox, {
      ...program,
      elsewhere,
      run: { ...program.run, planning },
    });
    expect(verdict).toMatchObject({ ok: false, error: { type: "Cancelled" } });
    expect(could.slice(0, 2)).toEqual([true, false]);
    await expect(own?.ready).rejects.toThrow("the run is over");
  });

  it.each([[undefined], [40]])(
    "is told that it may linger for %s ms, as its sandbox may",
    async (lingerMs) => {
      const cancel = new AbortController();
      const { sandbox, inside } = greetingSandbox({ lingerMs });
      const sent = new Promise<Buffer>((resolve) => inside.once("data", resolve));
      const running = runInside(
        sandbox,
        programWith(async () => OK, cancel.signal),
      );
      const [program] = new FrameDecoder(65_536).push(await sent);
      expect(JSON.parse(String(program)).linger_ms).toBe(lingerMs);
      cancel.abort();
      await running;
    },
  );
});

it("a program that is too large to send fails as one, and says by how much", async () => {
  const { sandbox } = greetingSandbox({});
  const inside = programWith(async () => OK, new AbortController().signal);
  const { prepared } = inside;
  const large = "x".repeat(MAX_REPLY_FRAME_BYTES);
  const { verdict } = await runInside(sandbox, { ...inside, prepared: { ...prepared, bundle: large } });
  expect(verdict).toMatchObject({
    ok: false,
    error: {
      type: "BundleError",
      message: expect.stringMatching(
        /^the program, its data and its files are too large to send: a message of \d+ bytes exceeds the limit of \d+$/,
      ),
    },
  });
});
