import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { AuditedCall, AuditedEnding } from "../../../archive/audit/audit-line.ts";
import type { CallToArchive, RunToArchive } from "../../../archive/build-record.ts";
import type { ObservedCall } from "../../../execution/call-log.ts";
import { ArchivingRecorder, type RecorderOptions } from "../../../execution/record/record-runs.ts";
import type { RunReport } from "../../../execution/record/run-recorder.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";
import type { Envelope } from "../../../protocol/envelope.ts";
import { Redactor } from "../../../secrets/redaction.ts";

const SECRET = "correct-horse-battery-staple";
const RUN = { runId: randomUUID(), traceId: "ab".repeat(16), inputDigest: digestOf("input") };

interface Kept {
  calls: CallToArchive[];
  runs: RunToArchive[];
  discarded: number;
  auditedCalls: AuditedCall[];
  auditedRuns: AuditedEnding[];
  /** Decisions and approvals. */
  others: object[];
}

/** What a recorder hands over to an archive and an audit log of which parts may be broken. */
function record(
  broken: Partial<Record<"begin" | "addCall" | "finish" | "discard" | "call" | "run", Error>> = {},
  context: RecorderOptions["context"] = { principal: "local", source: "run" },
  more: Partial<RecorderOptions> = {},
) {
  const kept: Kept = { calls: [], runs: [], discarded: 0, auditedCalls: [], auditedRuns: [], others: [] };
  const unless = (part: keyof typeof broken) => {
    if (broken[part] !== undefined) throw broken[part];
  };
  const options: RecorderOptions = {
    archive: {
      begin() {
        unless("begin");
        return {
          async addCall(call) {
            unless("addCall");
            kept.calls.push(call);
          },
          async finish(run) {
            unless("finish");
            kept.runs.push(run);
            return { ok: true, recordDigest: "sha256:0" };
          },
          discard() {
            kept.discarded++;
            unless("discard");
          },
        };
      },
    },
    audit: {
      call(_, call) {
        unless("call");
        kept.auditedCalls.push(call);
      },
      calling: async () => undefined,
      written: async () => {},
      decision(_, decided) {
        kept.others.push(decided);
      },
      approval(_, answered) {
        kept.others.push(answered);
      },
      run(_, ending) {
        unless("run");
        kept.auditedRuns.push(ending);
      },
    },
    redactor: new Redactor([SECRET]),
    tools: new Map(),
    servers: new Map(),
    context,
    versions: { ptc: "1.0.0", node: "24.0.0" },
    clock: { wallMs: () => 1_000 },
    ...more,
  };
  return { kept, recording: new ArchivingRecorder(options).begin(RUN) };
}

function call(change: Partial<ObservedCall> = {}): ObservedCall {
  return {
    seq: 1,
    tool: "mcp__files__read",
    arguments: { path: "a" },
    raw: false,
    startedMs: 1,
    durationMs: 2,
    outcome: { ok: true, data: "text", raw: undefined, decision: "allowed", bytes: 4 },
    ...change,
  };
}

function report(change: Partial<RunReport> = {}): RunReport {
  const metrics = { duration_ms: 1, tool_calls: 1, tool_result_bytes: 4 };
  const envelope: Envelope = {
    run_id: RUN.runId,
    trace_id: RUN.traceId,
    tool_name: "execute_program",
    tool_version: "1.0.0",
    input_digest: RUN.inputDigest,
    output_digest: digestOf("output"),
    sandbox_image: null,
    duration_ms: 3,
    approval_state: "NOT_REQUIRED",
    result: { ok: true, data: 1, metrics },
  };
  return {
    program: { code: "result = 1", data: {}, language: "typescript", fileName: "program.ts" },
    envelope,
    consoleText: "",
    stderrText: "",
    emitted: [],
    wholeResultJson: undefined,
    redactions: 0,
    bundle: "bundle",
    modules: new Map(),
    knownModules: ["files"],
    environment: { seed: "0".repeat(64) },
    trace: undefined,
    limits: { timeoutMs: 1, maxOutputBytes: 1, maxStderrBytes: 1, maxParallelCalls: 1, maxToolCalls: 1 },
    typecheck: "off",
    ...change,
  };
}

describe("a run that is answered only once it is archived", () => {
  const FIRST = { archivesBeforeAnswer: true };

  test("is archived and audited, once, before its answer goes out", async () => {
    const { kept, recording } = record({}, undefined, FIRST);
    expect(await recording.beforeAnswer?.(report())).toEqual({ problem: undefined });
    expect([kept.runs.length, kept.auditedRuns.length]).toEqual([1, 1]);
    expect(await recording.end(report())).toBeUndefined();
    expect([kept.runs.length, kept.auditedRuns.length]).toEqual([1, 1]);
  });

  test("is answered with the reason why it is not archived", async () => {
    const { recording } = record({ finish: new Error("broken") }, undefined, FIRST);
    expect(await recording.beforeAnswer?.(report())).toEqual({ problem: expect.stringContaining("broken") });
  });

  test("is answered all the same where its archive does not answer", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const silent = {
      ...{ addCall: async () => {}, discard() {} },
      finish: () => new Promise<never>(() => {}),
    };
    const { recording } = record({}, undefined, { ...FIRST, archive: { begin: () => silent } });
    const answered = recording.beforeAnswer?.(report());
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await answered).toEqual({ problem: expect.stringContaining("not archived yet") });
  });
});

test("a run that is archived after its answer is only audited before", async () => {
  const { kept, recording } = record();
  expect(await recording.beforeAnswer?.(report())).toBeUndefined();
  expect([kept.runs.length, kept.auditedRuns.length]).toEqual([0, 1]);
});

/** A value that no JSON is made of. */
function unwritable(): object {
  return {
    toJSON() {
      throw new Error("it is no JSON");
    },
  };
}

describe("a value that cannot be written", () => {
  const cases: [string, Partial<ObservedCall>][] = [
    ["infinite arguments", { arguments: { n: Number.POSITIVE_INFINITY } }],
    ["arguments that are no JSON", { arguments: { f: () => 1 } }],
    ["arguments that cannot be read", { arguments: hostile() }],
    [
      "a result that is no JSON",
      { outcome: { ...call().outcome, ok: true, data: unwritable(), raw: undefined } },
    ],
    [
      "a result that cannot be read",
      { outcome: { ...call().outcome, ok: true, data: hostile(), raw: undefined } },
    ],
  ];

  test.each(cases)("%s: is missing alone, and the record says so", async (_, change) => {
    const { kept, recording } = record();
    await recording.onCall?.(call(change));
    await recording.onCall?.(call({ seq: 2 }));
    expect(await recording.end(report())).toBeUndefined();
    const [first, second] = kept.calls;
    expect(first).toMatchObject({
      argumentsJson: "null",
      facts: { unkept: expect.stringMatching(/cannot be written/) },
    });
    expect(second?.facts).not.toHaveProperty("unkept");
    expect(second?.outcomeJson).toBe('{"ok":true,"data":"text"}');
    expect(kept.auditedCalls.map(({ argumentsDigest }) => argumentsDigest)).toEqual([
      "unknown",
      digestOf({ path: "a" }),
    ]);
    expect(kept).toMatchObject({ runs: [{}], auditedRuns: [{ outcome: "ok", calls: 2 }], discarded: 0 });
  });

  test("no arguments at all are null", async () => {
    const { kept, recording } = record();
    await recording.onCall?.(call({ arguments: undefined }));
    expect(kept.calls[0]).toMatchObject({ argumentsJson: "null" });
    expect(kept.calls[0]?.facts).not.toHaveProperty("unkept");
  });

  test("data of a program: the run is not archived, is told, and is audited", async () => {
    const { kept, recording } = record();
    const problem = await recording.end(report({ program: { ...report().program, data: hostile() } }));
    expect(problem).toMatch(new RegExp(`^run ${RUN.runId} could not be recorded: not today$`));
    expect(kept).toMatchObject({ runs: [], discarded: 1, auditedRuns: [{ outcome: "ok" }] });
  });
});

test("a record says which account ran it where, and through what, without secrets", async () => {
  const actor = { user: "ada", uid: 1000, host: `desk-${SECRET}` };
  const client = { name: `agent ${SECRET}`, version: "x".repeat(500) };
  const { kept, recording } = record({}, { principal: "local", source: "serve", actor, client });
  await recording.end(report());
  expect(kept.runs[0]?.facts).toMatchObject({
    principal: "local",
    actor: { user: "ada", uid: 1000, host: "desk-[REDACTED]" },
    client: { name: "agent [REDACTED]", version: "x".repeat(128) },
  });
});

test("a record says who a login says that somebody is, without secrets", async () => {
  const login = { name: `Ada ${SECRET}`, groups: ["leads", `g-${SECRET}`], clientId: "c-1" };
  const { kept, recording } = record({}, { principal: "https://l.test#ada", source: "serve", ...login });
  await recording.end(report());
  expect(kept.runs[0]?.facts).toMatchObject({
    principal: "https://l.test#ada",
    principal_name: "Ada [REDACTED]",
    groups: ["leads", "g-[REDACTED]"],
    client_id: "c-1",
  });
});

describe("what a record may not hold is bounded before it is handed over", () => {
  test("what a sandbox says that it runs in", async () => {
    const { kept, recording } = record();
    await recording.end(report({ runtime: `Python 3.11.2; ${SECRET}${"x".repeat(5_000)}` }));
    const { runtime } = kept.runs[0]?.facts.versions ?? {};
    expect(runtime).toMatch(/^Python 3\.11\.2; \[REDACTED\]x+$/);
    expect(runtime).toHaveLength(4_096);
  });

  test("times, counts and names", async () => {
    const { kept, recording } = record();
    await recording.onCall?.(
      call({
        tool: `mcp__x__${`${SECRET} `.repeat(18)}${"y".repeat(512)}`.slice(0, 512),
        startedMs: -1,
        durationMs: Number.NaN,
        outcome: {
          ok: false,
          error: {
            type: "ToolError",
            server: "s".repeat(600),
            tool: "t".repeat(600),
            message: "",
            retryable: false,
          },
          decision: "unavailable",
          bytes: Number.POSITIVE_INFINITY,
        },
      }),
    );
    await recording.end(report({ program: { ...report().program, fileName: "f".repeat(5_000) } }));
    const [{ facts, outcomeJson } = { facts: undefined, outcomeJson: "" }] = kept.calls;
    expect(facts).toMatchObject({ started_ms: 0, duration_ms: 0, result_bytes: 2 ** 32 });
    expect(facts?.tool.length).toBeLessThanOrEqual(512);
    expect(facts?.tool).not.toContain(SECRET);
    const { error } = JSON.parse(outcomeJson);
    expect([error.server.length, error.tool.length]).toEqual([512, 512]);
    expect(kept.runs[0]?.facts.file_name).toHaveLength(4_096);
  });
});

describe("a log that fails is told at the end, and takes the other one not with it", () => {
  test.each(["begin", "addCall", "finish"] as const)("the archive, when %s throws", async (part) => {
    const { kept, recording } = record({ [part]: new Error("broken"), discard: new Error("broken as well") });
    await recording.onCall?.(call());
    await recording.onCall?.(call({ seq: 2 }));
    expect(await recording.end(report())).toBe(`run ${RUN.runId} could not be recorded: broken`);
    expect(kept.auditedCalls).toHaveLength(2);
    expect(kept.auditedRuns).toMatchObject([{ outcome: "ok", calls: 2 }]);
    expect(kept.runs).toEqual([]);
  });

  test("the audit log", async () => {
    const { kept, recording } = record({ call: new Error("broken"), run: new Error("broken") });
    await recording.onCall?.(call());
    expect(await recording.end(report())).toMatch(/could not be recorded: broken/);
    expect(kept.calls).toHaveLength(1);
    expect(kept.runs).toHaveLength(1);
  });
});

/** An object that throws when it is looked at. */
function hostile(): object {
  return Object.defineProperty({}, "member", {
    enumerable: true,
    get() {
      throw new Error("not today");
    },
  });
}
