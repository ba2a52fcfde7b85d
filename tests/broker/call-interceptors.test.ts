import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Approver, RunApprovals, UNASKED } from "../../broker/approvals/approvals.ts";
import { interceptCalls, limitExtracts, offerLogins } from "../../broker/call-interceptors.ts";
import type { CallingRun, CallOutcome } from "../../broker/dispatcher.ts";
import type { ElicitationAnswer, ElicitationRequest } from "../../broker/elicitation/elicitation.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";

const URL = "https://auth.example/go?state=x";
const REFUSED: CallOutcome = {
  ok: false,
  loginAt: "hub",
  error: { type: "ToolError", server: "hub", tool: "go", message: "it needs a login", retryable: false },
  decision: "unreachable",
  bytes: 0,
};
const DONE: CallOutcome = { ok: true, data: 1, raw: 1, decision: "allowed", bytes: 1 };

/** Calls of a server that needs a login, and a person who answers as told. */
function setUp(
  answer: ElicitationAnswer["action"],
  options: { canVisit?: boolean; fault?: UpstreamError; address?: string } = {},
) {
  const state = {
    isLoggedIn: false,
    calls: 0,
    begun: 0,
    cancelled: [] as string[],
    asked: [] as ElicitationRequest[],
  };
  const inner = {
    async dispatch() {
      state.calls++;
      return state.isLoggedIn ? DONE : REFUSED;
    },
  };
  const approver: Approver = {
    ask: async () => UNASKED,
    async elicit(elicitation) {
      state.asked.push(elicitation);
      return answer === "accept" ? { action: answer, values: {} } : { action: answer };
    },
    canVisit: () => options.canVisit ?? true,
  };
  const offering = offerLogins(
    async () => {
      state.begun++;
      if (options.fault !== undefined) throw options.fault;
      const done = turn().then(() => {
        state.isLoggedIn = answer === "accept";
      });
      return { url: URL, done, cancel: (reason) => void state.cancelled.push(reason) };
    },
    options.address === undefined ? undefined : async () => options.address,
  );
  const dispatcher = interceptCalls(inner, [offering]);
  const run = { approvals: new RunApprovals("run", approver), signal: new AbortController().signal };
  const call = () => dispatcher.dispatch({ tool: "mcp__hub__go", arguments: {} }, run);
  return { state, call };
}

describe("a call that needs a login", () => {
  it.each([{ canVisit: false }, { canVisit: true }])(
    "says where its person logs in who is not at this machine and has not done so: %j",
    async ({ canVisit }) => {
      const address = "https://ptc.example.com/mcp/logins/start?login=x";
      const { state, call } = setUp("decline", { canVisit, address });
      expect(await call()).toMatchObject({ ok: false, error: { message: expect.stringContaining(address) } });
      expect([state.calls, state.begun]).toEqual([1, canVisit ? 1 : 0]);
    },
  );

  it("is made again when the person has logged in, who is asked once for all calls", async () => {
    const { state, call } = setUp("accept");
    expect(await Promise.all([call(), call(), call()])).toEqual([DONE, DONE, DONE]);
    expect(state).toMatchObject({ calls: 6, begun: 1 });
    const asked = { mode: "url", url: URL, host: "auth.example", server: "hub", runId: "run" };
    expect(state.asked).toMatchObject([asked]);
    expect(await call()).toBe(DONE);
    expect(state.begun).toBe(1);
  });

  it.each(["decline", "cancel", "unasked"] as const)(
    "fails as before where the answer is %s, and is not asked about again",
    async (action) => {
      const { state, call } = setUp(action);
      expect(await call()).toBe(REFUSED);
      expect(await call()).toBe(REFUSED);
      expect(state).toMatchObject({ calls: 2, begun: 1 });
      expect(state.cancelled).toHaveLength(1);
    },
  );

  it("begins no login where the client shows no addresses", async () => {
    const { state, call } = setUp("accept", { canVisit: false });
    expect(await call()).toBe(REFUSED);
    expect(state).toMatchObject({ calls: 1, begun: 0, asked: [] });
  });

  it("fails as before where no login can be begun", async () => {
    const { state, call } = setUp("accept", { fault: new UpstreamError("handshake_failed", "no") });
    expect(await call()).toBe(REFUSED);
    expect(state.calls).toBe(1);
  });
});

describe("the calls of extract in one run", () => {
  it("are refused past their number, and no others", async () => {
    const limited = interceptCalls({ dispatch: async () => DONE }, [limitExtracts(3, 1)]);
    const call = async (tool: string) =>
      (await limited.dispatch({ tool, arguments: {} }, {} as CallingRun)).ok;
    const model = "mcp__ptc__extract";
    const made = [];
    for (const tool of [model, "mcp__a__b", model, model, "mcp__a__b"]) made.push(await call(tool));
    expect(made).toEqual([true, true, true, false, true]);
    expect(await limited.dispatch({ tool: model, arguments: {} }, {} as CallingRun)).toMatchObject({
      ok: false,
      decision: "forbidden",
      rule: "extract.max_calls: 3",
      error: {
        type: "ToolError",
        server: "ptc",
        tool: "extract",
        message: expect.stringContaining("a run may make 3 calls of extract"),
      },
    });
  });
});
