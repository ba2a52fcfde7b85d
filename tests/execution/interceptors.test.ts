import { describe, expect, it, vi } from "vitest";
import { type ApprovalRequest, type Approver, RunApprovals } from "../../broker/approvals/approvals.ts";
import {
  interceptQuestions,
  provenOnly,
  type QuestionInterceptor,
  redactQuestions,
} from "../../broker/approvals/question-interceptors.ts";
import {
  announceFirstCall,
  type CallInterceptor,
  interceptCalls,
  limitExtracts,
  offerLogins,
  passTraceOn,
} from "../../broker/call-interceptors.ts";
import type { CallingRun, CallOutcome } from "../../broker/dispatcher.ts";
import type { ElicitationRequest } from "../../broker/elicitation/elicitation.ts";
import { CallLog } from "../../execution/call-log.ts";
import {
  callInterceptors,
  questionInterceptors,
  type RunSurroundings,
} from "../../execution/interceptors.ts";
import { shareQuestions } from "../../execution/pending/shared-questions.ts";
import { PendingError } from "../../execution/pending/tickets.ts";
import { reportRun } from "../../execution/runs/report-run.ts";
import { KeptCalls } from "../../execution/suspension/kept-calls.ts";
import { ResumedCalls } from "../../execution/suspension/resumed-calls.ts";
import type { SuspendedRun } from "../../execution/suspension/suspended-run.ts";
import { pauseWhileAsked, TimeLimit } from "../../execution/time-limit.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { openTelemetry } from "../../telemetry/open-telemetry.ts";

const CLOCK = { monotonicMs: () => 0 };
const OK: CallOutcome = { ok: true, data: 1, raw: {}, bytes: 1, decision: "allowed" };
const CALL = { tool: "mcp__desk__echo", arguments: { text: "hi" } };
const SECRET = "s3cr3t-of-a-server";
const { signal } = new AbortController();
const context = { principal: "local", source: "run" } as const;

/** One run, reported to a collector that is not there. */
async function tracedRun() {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
  const telemetry = await openTelemetry(env, { version: "0", onWarning: () => {} });
  if (telemetry === undefined) throw new Error("nothing is told");
  const facts = { runId: "run-1", language: "typescript", parent: undefined, describeTool: () => undefined };
  return telemetry.beginRun({ ...facts, context });
}

const resumedRun = (calls: SuspendedRun["calls"], onStop = () => {}) =>
  new ResumedCalls({ run: { calls } as SuspendedRun, goLive: async () => undefined }, onStop);

/** The call that a suspended run had made. */
const KEPT = {
  ...{ tool: CALL.tool, argumentsDigest: digestOf(CALL.arguments), raw: false },
  ...{ startedMs: 1, durationMs: 2, outcome: OK },
};

async function afterKeptCalls(): Promise<CallInterceptor> {
  const { aroundCalls } = resumedRun([KEPT]);
  await aroundCalls(() => Promise.reject(new Error("it is answered by what is kept")))(CALL, {
    signal,
  } as CallingRun);
  return aroundCalls;
}

const CALL_INTERCEPTORS: [name: string, open: () => CallInterceptor | Promise<CallInterceptor>][] = [
  ["the log of calls", () => new CallLog([], CLOCK).aroundCalls],
  ["what keeps calls for a suspension", () => new KeptCalls(() => 0).aroundCalls],
  ["a resumed run that has made its calls again", afterKeptCalls],
  ["the passing on of a trace", () => passTraceOn({ traceparent: "00-1-2-01" })],
  ["the announcement of the first call", () => announceFirstCall(async () => {})],
  ["the offer of logins", () => offerLogins(() => Promise.reject(new Error("no login is needed")))],
  ["the limit of extract", () => limitExtracts(1, 0)],
  ["telemetry", async () => (await tracedRun()).aroundCalls],
];

describe.each(CALL_INTERCEPTORS)("%s", (_, open) => {
  const run = { approvals: new RunApprovals("run-1", { ask: vi.fn() }), signal, bytes: 7 };

  it("passes on a call that is not its business, once, and the outcome as it came", async () => {
    const seen: [object, CallingRun][] = [];
    const { dispatch } = interceptCalls(
      {
        async dispatch(call, of) {
          seen.push([call, of]);
          return OK;
        },
      },
      [await open()],
    );
    expect(await dispatch(CALL, run)).toBe(OK);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.[0]).toBe(CALL);
    expect(seen[0]?.[1]).toMatchObject({ approvals: run.approvals, bytes: 7 });
    expect(seen[0]?.[1].signal).toBe(signal);
  });

  it("keeps no call waiting for another", async () => {
    const gates: (() => void)[] = [];
    const { dispatch } = interceptCalls(
      { dispatch: () => new Promise((resolve) => gates.push(() => resolve(OK))) },
      [await open()],
    );
    const [first, second] = [dispatch(CALL, run), dispatch(CALL, run)];
    await vi.waitFor(() => expect(gates).toHaveLength(2));
    gates[1]?.();
    expect(await second).toBe(OK);
    gates[0]?.();
    expect(await first).toBe(OK);
  });

  it("passes a fault of the host on", async () => {
    const fault = new Error("planted");
    const { dispatch } = interceptCalls({ dispatch: () => Promise.reject(fault) }, [await open()]);
    await expect(dispatch(CALL, run)).rejects.toBe(fault);
  });
});

const REQUEST: ApprovalRequest = {
  runId: "run-1",
  tool: CALL.tool,
  definitionDigest: "d",
  arguments: CALL.arguments,
  argumentsDigest: "a",
};
const ELICITED: ElicitationRequest = {
  mode: "form",
  message: "which?",
  fields: [],
  server: "desk",
  tool: CALL.tool,
  runId: "run-1",
};
const TYPED = { decision: "once", by: "ann", proof: { way: "terminal" } } as const;

const report = () => reportRun(() => {}, { runId: "run-1", context }, new Redactor([]));
const unshared = () => Promise.reject(new PendingError("there is no store"));

const QUESTION_INTERCEPTORS: [
  name: string,
  open: () => QuestionInterceptor | Promise<QuestionInterceptor>,
][] = [
  ["the pause of a program", () => pauseWhileAsked(new TimeLimit(1_000, CLOCK))],
  ["the redaction of questions", () => redactQuestions((args) => args)],
  ["telemetry of questions", async () => (await tracedRun()).aroundQuestions],
  ["the events of a run", () => report().aroundQuestions],
  [
    "the sharing of questions",
    () => shareQuestions({ context, program: { fileName: "p.ts" }, open: unshared }),
  ],
  ["the demand of a proof", () => provenOnly("terminal")],
];

describe.each(QUESTION_INTERCEPTORS)("%s", (_, open) => {
  const approver = {
    provesBy: "terminal" as const,
    ask: vi.fn(async () => TYPED),
    elicit: vi.fn(async () => ({ action: "decline" }) as const),
    canVisit: () => true,
    answeredElsewhere: vi.fn(),
  };

  it("passes questions and answers on as they are", async () => {
    const asked = interceptQuestions(approver, [await open()]);
    expect(await asked.ask(REQUEST, signal)).toBe(TYPED);
    expect(approver.ask.mock.lastCall).toMatchObject([REQUEST, {}]);
    expect(await asked.elicit(ELICITED, signal)).toEqual({ action: "decline" });
    expect(approver.elicit.mock.lastCall).toEqual([ELICITED, signal]);
  });

  it("lets by what is no question", async () => {
    const asked = interceptQuestions(approver, [await open()]);
    expect([asked.canVisit(), asked.provesBy]).toEqual([true, "terminal"]);
    asked.answeredElsewhere(REQUEST, TYPED);
    expect(approver.answeredElsewhere).toHaveBeenLastCalledWith(REQUEST, TYPED);
    const mute = interceptQuestions({ ask: approver.ask }, [await open()]);
    expect([mute.canVisit(), mute.provesBy]).toEqual([false, undefined]);
    expect(await mute.elicit(ELICITED, signal)).toEqual({ action: "unasked" });
  });

  it("passes a fault of the approver on", async () => {
    const fault = new Error("planted");
    const broken: Approver = {
      provesBy: "terminal",
      ask: () => Promise.reject(fault),
      elicit: () => Promise.reject(fault),
    };
    const asked = interceptQuestions(broken, [await open()]);
    await expect(asked.ask(REQUEST, signal)).rejects.toBe(fault);
    await expect(asked.elicit(ELICITED, signal)).rejects.toBe(fault);
  });
});

/** Notes its name when a call, or a question, passes it. */
function noting(order: string[]) {
  const calls =
    (name: string): CallInterceptor =>
    (next) =>
    (call, run) => {
      order.push(`${name}${run.seq === undefined ? "" : ` ${run.seq}`}`);
      return next(call, run);
    };
  const questions =
    (name: string): QuestionInterceptor =>
    (next) => ({
      async ask(request, during) {
        order.push(`${name} ${JSON.stringify(request.arguments)}`);
        const answer = await next.ask(request, during);
        order.push(`${name} ${answer.decision}`);
        return answer;
      },
    });
  return { calls, questions };
}

describe("what surrounds a run", () => {
  it("numbers a call before anything sees it, and tells the collector before the call is announced", async () => {
    const order: string[] = [];
    const { calls } = noting(order);
    const surroundings = {
      traced: { aroundCalls: calls("traced") },
      trace: { traceparent: "00-1-2-01" },
      beforeCalls: async () => void order.push("announced"),
      extracts: { maxCalls: 0, made: 0 },
    } as unknown as RunSurroundings;
    const log = new CallLog([{ onCallStarted: ({ seq }) => void order.push(`started ${seq}`) }], CLOCK);
    const { dispatch } = interceptCalls(
      {
        async dispatch(_, { meta }) {
          order.push(`dispatched ${JSON.stringify(meta)}`);
          return OK;
        },
      },
      callInterceptors(surroundings, { log }),
    );
    await dispatch(CALL, { signal } as CallingRun);
    expect(order).toEqual(["started 1", "traced 1", "announced", "dispatched undefined"]);
    const refused = await dispatch({ tool: "mcp__ptc__extract", arguments: {} }, { signal } as CallingRun);
    expect(refused).toMatchObject({ ok: false, decision: "forbidden" });
    expect(order.slice(4)).toEqual(["started 2", "traced 2"]);
  });

  it("keeps what a resumed run makes again from the collector and from the limits", async () => {
    const order: string[] = [];
    const surroundings = {
      traced: { aroundCalls: noting(order).calls("traced") },
    } as unknown as RunSurroundings;
    const { dispatch } = interceptCalls(
      { dispatch: async () => OK },
      callInterceptors(surroundings, { log: new CallLog([], CLOCK), resumed: resumedRun([KEPT]) }),
    );
    const again = await dispatch(CALL, { signal } as CallingRun);
    expect(again).toEqual({ ...OK, earlier: { startedMs: 1, durationMs: 2 } });
    expect(order).toEqual([]);
    await dispatch(CALL, { signal } as CallingRun);
    expect(order).toEqual(["traced 2"]);
  });

  it("takes secrets out of what a server says of its progress", async () => {
    const told: unknown[] = [];
    const { dispatch } = interceptCalls(
      {
        async dispatch(_, { onProgress }) {
          onProgress?.({ progress: 1, message: `at ${SECRET}` });
          return OK;
        },
      },
      callInterceptors(undefined, {
        log: new CallLog([], CLOCK),
        onProgress: (progress) => void told.push(progress),
        redactor: new Redactor([SECRET]),
      }),
    );
    await dispatch(CALL, { signal } as CallingRun);
    expect(JSON.stringify(told)).not.toContain(SECRET);
    expect(told).toMatchObject([{ progress: 1 }]);
  });

  it("shows no secret to anybody who sees a question, and takes no untyped answer for an approval", async () => {
    const order: string[] = [];
    const { questions } = noting(order);
    const surroundings = {
      traced: { aroundQuestions: questions("traced") },
      report: { aroundQuestions: questions("report") },
      shareQuestions: questions("shared"),
      requiredProof: "terminal",
    } as unknown as RunSurroundings;
    const limit = new TimeLimit(1_000, CLOCK);
    const opened = vi.spyOn(limit, "open").mockImplementation(() => void order.push("paused"));
    const around = questionInterceptors(surroundings, { timeLimit: limit, redact: () => "shown" });
    const asked = interceptQuestions(
      { provesBy: "terminal", ask: async () => ({ decision: "once", by: "ann" }) },
      around,
    );
    expect(await asked.ask({ ...REQUEST, arguments: SECRET }, signal)).toMatchObject({ decision: "denied" });
    expect(order).toEqual([
      ...["paused", 'traced "shown"', 'report "shown"', 'shared "shown"'],
      ...["shared denied", "report denied", "traced denied"],
    ]);
    expect(opened).toHaveBeenCalledOnce();
  });

  it("asks nobody who cannot type where approvals have to be typed", async () => {
    const ask = vi.fn();
    const around = questionInterceptors(
      { requiredProof: "terminal" },
      { timeLimit: undefined, redact: (args) => args },
    );
    const answer = await interceptQuestions({ ask }, around).ask(REQUEST, signal);
    expect(answer).toMatchObject({ decision: "later", why: expect.stringContaining("typed at a terminal") });
    expect(ask).not.toHaveBeenCalled();
  });
});
