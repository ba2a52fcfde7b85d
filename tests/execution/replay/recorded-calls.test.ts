import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { ObservedCall } from "../../../execution/call-log.ts";
import { compareCallOrder, compareToRecord } from "../../../execution/replay/compare-calls.ts";
import { type RecordedCall, RecordedCalls } from "../../../execution/replay/recorded-calls.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";
import type { Envelope } from "../../../protocol/envelope.ts";

function recorded(seq: number, tool: string, args: unknown, data: unknown, rest: Partial<RecordedCall> = {}) {
  const call: RecordedCall = {
    seq,
    tool,
    argumentsDigest: digestOf(args),
    decision: "allowed",
    bytes: 3,
    arguments: async () => args,
    outcome: async () => ({ ok: true, data }),
    ...rest,
  };
  return call;
}

function replay(calls: RecordedCall[], redact: (value: unknown) => unknown = (value) => value) {
  const unknown: string[] = [];
  const dispatcher = new RecordedCalls(calls, redact, (message) => unknown.push(message));
  const stop = new AbortController();
  const call = async (tool: string, args: unknown) => {
    const outcome = await dispatcher.dispatch({ tool, arguments: args }, { signal: stop.signal });
    return outcome.ok ? outcome.data : outcome.error.message;
  };
  return { call, unknown, dispatcher, stop };
}

describe("calls answered from a record", () => {
  it("match by tool and arguments, whatever their order and that of their members", async () => {
    const { call, unknown, dispatcher } = replay([
      recorded(1, "mcp__a__x", { p: 1, q: 2 }, "first"),
      recorded(2, "mcp__a__y", { p: 1 }, "other tool"),
      recorded(3, "mcp__a__x", { p: 2 }, "other arguments"),
    ]);
    expect(await call("mcp__a__x", { p: 2 })).toBe("other arguments");
    expect(await call("mcp__a__x", { q: 2, p: 1 })).toBe("first");
    expect(dispatcher.missing.map(({ seq }) => seq)).toEqual([2]);
    expect(await call("mcp__a__y", { p: 1 })).toBe("other tool");
    expect(unknown).toEqual([]);
    expect(dispatcher.missing).toEqual([]);
  });

  it("that are alike get their answers in the order of the record", async () => {
    const { call } = replay([1, 2, 3].map((seq) => recorded(seq, "mcp__a__next", {}, seq)));
    expect([
      await call("mcp__a__next", {}),
      await call("mcp__a__next", {}),
      await call("mcp__a__next", {}),
    ]).toEqual([1, 2, 3]);
  });

  it("that are not in the record are told, with what was expected", async () => {
    const { call, unknown } = replay([
      recorded(1, "mcp__a__x", { p: 1 }, 1),
      recorded(2, "mcp__a__y", {}, 1),
    ]);
    void call("mcp__a__y", { p: 3 });
    void call("mcp__a__z", {});
    await turn();
    const prefix = "the program made a call that is not in the record: expected";
    expect(unknown).toEqual([
      `${prefix} call 2: mcp__a__y({}); got mcp__a__y({"p":3})`,
      `${prefix} call 1: mcp__a__x({"p":1}); got mcp__a__z({})`,
    ]);
    const { call: callNothing, unknown: told } = replay([]);
    void callNothing("mcp__a__z", {});
    await turn();
    expect(told).toEqual([`${prefix} no further call; got mcp__a__z({})`]);
  });

  it("fail as they failed", async () => {
    const error = { type: "ToolError" as const, server: "a", tool: "x", message: "no", retryable: true };
    const { call } = replay([
      recorded(1, "mcp__a__x", {}, 1, { outcome: async () => ({ ok: false, error }) }),
    ]);
    expect(await call("mcp__a__x", {})).toBe("no");
  });

  it("are looked up without the secrets that were taken out of the record", async () => {
    const redact = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll("hunter2", "[REDACTED]"));
    const { call, unknown } = replay([recorded(1, "mcp__a__x", { key: "[REDACTED]" }, "found")], redact);
    expect(await call("mcp__a__x", { key: "hunter2" })).toBe("found");
    expect(unknown).toEqual([]);
  });

  it.each([
    ["were never answered", "mcp__a__x", /^late$/],
    ["are not in the record", "mcp__a__y", /is not in the record/],
  ])("that %s are not answered before the run ends", async (_, tool, message) => {
    const error = { type: "ToolError" as const, server: "a", tool: "x", message: "late", retryable: false };
    const { call, stop } = replay([
      recorded(1, "mcp__a__x", {}, 1, {
        decision: "unanswered",
        outcome: async () => ({ ok: false, error }),
      }),
    ]);
    const answer = call(tool, {});
    expect(await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 30, "silence"))])).toBe(
      "silence",
    );
    stop.abort();
    expect(await answer).toMatch(message);
  });

  it("say what was approved and denied of them", async () => {
    const { call, dispatcher } = replay([
      recorded(1, "mcp__a__x", {}, 1),
      recorded(2, "mcp__a__y", {}, 1, { decision: "approved-for-run" }),
      recorded(3, "mcp__a__z", {}, 1, { decision: "denied" }),
      recorded(4, "mcp__a__y", {}, 1, { decision: "approved-once" }),
    ]);
    const states = [];
    for (const tool of ["mcp__a__x", "mcp__a__y", "mcp__a__z", "mcp__a__y"]) {
      await call(tool, {});
      states.push(dispatcher.approvalState);
    }
    expect(states).toEqual(["NOT_REQUIRED", "APPROVED", "DENIED", "DENIED"]);
  });
});

describe("calls of another run", () => {
  const envelope = (digest: string) => ({ output_digest: digest }) as Envelope;
  const made = (seq: number, tool: string, args: unknown, data: unknown): ObservedCall => ({
    seq,
    tool,
    arguments: args,
    raw: false,
    startedMs: 0,
    durationMs: 0,
    outcome: { ok: true, data, raw: {}, bytes: 0, decision: "allowed" },
  });

  it("differ in what is missing, changed and added", async () => {
    const calls = [
      recorded(1, "mcp__a__same", {}, { n: 1 }),
      recorded(2, "mcp__a__changed", {}, { n: [1, 2] }),
      recorded(3, "mcp__a__missing", { p: 1 }, 1),
    ];
    const { differences, sameResult } = await compareToRecord(
      { calls, envelope: envelope("sha256:then") },
      [
        made(3, "mcp__a__added", {}, 1),
        made(1, "mcp__a__changed", {}, { n: [1, 3] }),
        made(2, "mcp__a__same", {}, { n: 1 }),
      ],
      envelope("sha256:now"),
    );
    expect(sameResult).toBe(false);
    expect(differences).toEqual([
      { kind: "changed", call: "mcp__a__changed({})", detail: ".data.n[1]: recorded 2, now 3" },
      { kind: "missing", call: 'mcp__a__missing({"p":1})' },
      { kind: "added", call: "mcp__a__added({})" },
    ]);
  });
});

describe("equal calls that are repeated, compared with the record", () => {
  const calls = (...data: unknown[]) =>
    data.map((each, index) => recorded(index + 1, "mcp__a__next", {}, each));
  const again = (...data: unknown[]) =>
    data.map(
      (each, index): ObservedCall => ({
        ...{ seq: index + 1, tool: "mcp__a__next", arguments: {}, raw: false, startedMs: 0, durationMs: 0 },
        outcome: { ok: true, data: each, raw: undefined, decision: "allowed", bytes: 1 },
      }),
    );
  const kinds = async (before: RecordedCall[], after: ObservedCall[]) => {
    const envelope = { output_digest: "sha256:1" } as Envelope;
    const { differences } = await compareToRecord({ calls: before, envelope }, after, envelope);
    return differences.map(({ kind, detail }) => (detail === undefined ? kind : `${kind} ${detail}`));
  };

  it("are the same where each comes to what it came to", async () => {
    expect(await kinds(calls("a", "b", "a"), again("a", "b", "a"))).toEqual([]);
    // Which ended first says nothing of which was made first.
    expect(await kinds(calls("a", "b", "c"), again("a", "b", "c").reverse())).toEqual([]);
  });

  it("are missing, added or changed one by one", async () => {
    expect(await kinds(calls("a", "b", "c"), again("a"))).toEqual(["missing", "missing"]);
    expect(await kinds(calls("a"), again("a", "b", "c"))).toEqual(["added", "added"]);
    expect(await kinds(calls("a", "b"), again("b", "a"))).toEqual([
      expect.stringMatching(/^changed .*recorded "a", now "b"$/),
      expect.stringMatching(/^changed .*recorded "b", now "a"$/),
    ]);
  });

  it("keep their number and their order where only the calls are compared", () => {
    const call = (p: number) => ({ tool: "mcp__a__x", arguments: { p } });
    expect(compareCallOrder([call(1), call(1), call(1)], [call(1), call(1), call(1)])).toEqual([]);
    expect(compareCallOrder([call(1), call(1), call(1)], [call(1)])).toEqual([
      '- mcp__a__x({"p":1})',
      '- mcp__a__x({"p":1})',
    ]);
    expect(compareCallOrder([call(1), call(2), call(1)], [call(1), call(1), call(1)])).toEqual([
      '- mcp__a__x({"p":2})',
      '+ mcp__a__x({"p":1})',
    ]);
  });

  it.each([
    ["fewer are made", 1_003, 1_001, ["1003 calls were recorded, and 1001 are made"]],
    ["more are made", 1_001, 1_003, ["1001 calls were recorded, and 1003 are made"]],
    ["only those that are made are more", 1_000, 1_001, ["1000 calls were recorded, and 1001 are made"]],
    ["a thousand are recorded, and one less is made", 1_000, 999, ["- mcp__a__x()"]],
    ["as many are made", 1_002, 1_002, []],
  ])("are only counted beyond the first thousand, where %s", (_, was, is, lines) => {
    const calls = (count: number) =>
      Array.from({ length: count }, () => ({ tool: "mcp__a__x", arguments: undefined }));
    expect(compareCallOrder(calls(was), calls(is))).toEqual(lines);
  });
});
