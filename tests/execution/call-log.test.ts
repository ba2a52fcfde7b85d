import { describe, expect, it } from "vitest";
import type { CallingRun, CallOutcome, RequestedCall } from "../../broker/dispatcher.ts";
import { CallLog, type ObservedCall } from "../../execution/call-log.ts";

const CALL = { tool: "mcp__a__x", arguments: {} };
const OK: CallOutcome = { ok: true, data: 1, raw: {}, bytes: 1, decision: "allowed" };

const failed = (type: "ToolError" | "ApprovalDenied", decision: "allowed" | "denied"): CallOutcome => ({
  ...{ ok: false, bytes: 0, decision },
  error: { type, server: "a", tool: "x", message: "no", retryable: false },
});

const { signal } = new AbortController();

/** Makes a call that is answered so. */
const watch = (
  log: CallLog,
  call: RequestedCall,
  during: AbortSignal,
  answer: (seq: number) => Promise<CallOutcome>,
) => log.aroundCalls((_, { seq = 0 }) => answer(seq))(call, { signal: during } as CallingRun);

function open() {
  let now = 0;
  const started: number[] = [];
  const ended: ObservedCall[] = [];
  const log = new CallLog(
    [{ onCallStarted: ({ seq }) => started.push(seq), onCall: (call) => void ended.push(call) }],
    { monotonicMs: () => now },
  );
  const pass = (ms: number) => {
    now += ms;
  };
  return { log, started, ended, pass };
}

describe("the calls of a run", () => {
  it("are told to every observer, whatever another makes of them", async () => {
    const told: number[] = [];
    const observers = [
      {
        onCall() {
          throw new Error("thrown");
        },
      },
      { onCall: () => Promise.reject(new Error("rejected")) },
      { onCall: ({ seq }: ObservedCall) => void told.push(seq) },
    ];
    const log = new CallLog(observers, { monotonicMs: () => 0 });
    for (let i = 0; i < 3; i++) await watch(log, CALL, signal, async () => OK);
    await log.end();
    expect(told).toEqual([1, 2, 3]);
  });

  it("are told when they start and when they end, with their times", async () => {
    const { log, started, ended, pass } = open();
    pass(5);
    await watch(log, { tool: "mcp__a__x", arguments: { p: 1 }, raw: true }, signal, async () => {
      pass(10);
      return OK;
    });
    await log.end();
    expect(started).toEqual([1]);
    const times = { startedMs: 5, durationMs: 10 };
    expect(ended).toEqual([
      { seq: 1, tool: "mcp__a__x", arguments: { p: 1 }, raw: true, ...times, outcome: OK },
    ]);
  });

  it("that were answered before their run was suspended are told with the times that they had then", async () => {
    const { log, ended, pass } = open();
    pass(5);
    const earlier = { startedMs: 1, durationMs: 2 };
    await watch(log, CALL, signal, async () => ({ ...OK, earlier }));
    await log.end();
    expect(ended).toMatchObject([earlier]);
  });

  it("that are open when the run ends are told once, as unanswered", async () => {
    const { log, ended } = open();
    let answer = (_: CallOutcome) => {};
    const watched = watch(log, CALL, signal, () => new Promise((resolve) => (answer = resolve)));
    await log.end();
    answer(OK);
    await watched;
    expect(ended.map(({ seq, outcome }) => [seq, outcome.decision])).toEqual([[1, "unanswered"]]);
    await log.end();
    expect(ended).toHaveLength(1);
  });

  it("that are aborted with their run were not answered, whatever they came to", async () => {
    const { log, ended } = open();
    const stop = new AbortController();
    await watch(log, CALL, stop.signal, async () => {
      stop.abort();
      return failed("ToolError", "allowed");
    });
    expect(ended).toEqual([]);
    await log.end();
    expect(ended.map(({ seq, outcome }) => [seq, outcome.decision])).toEqual([[1, "unanswered"]]);
  });

  it("know of a denial as soon as the program does", async () => {
    const { log } = open();
    await watch(log, CALL, signal, async () => OK);
    expect(log.denied).toBe(false);
    await watch(log, CALL, signal, async () => failed("ApprovalDenied", "denied"));
    expect(log.denied).toBe(true);
  });

  it("are answered before their observer is done, until it is many calls behind", async () => {
    const waiting: (() => void)[] = [];
    const onCall = () => new Promise<void>((resolve) => waiting.push(resolve));
    const log = new CallLog([{ onCall }], { monotonicMs: () => 0 });
    const { signal } = new AbortController();
    let answered = 0;
    for (let i = 0; i < 30; i++)
      void watch(log, { tool: "x", arguments: {} }, signal, async () => OK).then(() => answered++);
    await expect.poll(() => answered).toBe(16);
    const ended = log.end();
    while (answered < 30) {
      waiting.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (let i = 0; i < 60; i++) {
      waiting.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await ended;
  });
});

describe("warnings about answers", () => {
  async function lines(warnings: readonly (readonly [tool: string, warning: string])[]): Promise<string[]> {
    const { log } = open();
    for (const [tool, warning] of warnings)
      await watch(log, { tool, arguments: {} }, signal, async () => ({ ...OK, warning }));
    await log.end();
    return log.warnings;
  }

  it("are told once for each kind, however many answers they are of", async () => {
    const calls = Array.from(
      { length: 300 },
      (_, i) => ["mcp__a__x", `'x' ...: structuredContent[${i}].n must be number, not "${i}"`] as const,
    );
    expect(await lines([...calls, ["mcp__a__y", "'y' is late"]])).toEqual([
      `'x' ...: structuredContent[0].n must be number, not "0" (and so 299 more)`,
      "'y' is late",
    ]);
  });

  it("are bounded in number and in length, and what is left out is counted", async () => {
    const many = Array.from({ length: 100 }, (_, i) => [`t${i % 40}`, `k${i} ${"x".repeat(9_000)}`] as const);
    const told = await lines(many);
    expect(told).toHaveLength(21);
    expect(told.at(-1)).toBe("80 more answers contradict their outputSchema");
    expect(Math.max(...told.map(({ length }) => length))).toBeLessThan(700);
  });
});
