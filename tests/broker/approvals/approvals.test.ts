import { describe, expect, it } from "vitest";
import {
  type ApprovalAnswer,
  type Approver,
  complete,
  countsProven,
  Grants,
  isProven,
  LATER,
  NOT_PROVEN,
  questionDigest,
  RunApprovals,
  type RunApprovalsOptions,
  UNASKED,
} from "../../../broker/approvals/approvals.ts";
import { type PlannedCall, planOf } from "../../../broker/approvals/plan.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";

const tool = { namespacedName: "mcp__desk__send", definitionDigest: "sha256:1" } as Parameters<
  RunApprovals["approve"]
>[0];
const { signal } = new AbortController();

/** The approvals of a run whose questions are answered in this order, and what was asked. */
function answeredBy(...answers: ApprovalAnswer[]) {
  const asked: unknown[] = [];
  const approvals = new RunApprovals("run-1", {
    ask: async (request) => {
      asked.push(request.arguments);
      return answers.shift() ?? UNASKED;
    },
  });
  return { approvals, asked };
}

describe("the approvals of a run", () => {
  it("ask about each call, until the tool is approved for the run", async () => {
    const { approvals, asked } = answeredBy(
      { decision: "once", by: "ann" },
      { decision: "run", by: "bob" },
      { decision: "denied", by: "eve" },
    );
    const decided = [];
    for (const args of [1, 2, 3]) decided.push(await approvals.approve(tool, args, signal));
    expect(decided).toMatchObject([
      { decision: "approved-once", by: "ann" },
      { decision: "approved-for-run", by: "bob" },
      { decision: "approved-for-run", by: "bob" },
    ]);
    expect(asked).toEqual([1, 2]);
    expect(approvals.state).toBe("APPROVED");
  });

  it("ask about a call of which a check asks, whatever was approved for the run", async () => {
    const { approvals, asked } = answeredBy({ decision: "run", by: "ann", atMost: 3 }, UNASKED);
    await approvals.approve(tool, 1, signal);
    const isOfCheck = true;
    expect(await approvals.approve(tool, 2, signal, { isOfCheck })).toMatchObject({ decision: "denied" });
    for (const args of [3, 4])
      expect(await approvals.approve(tool, args, signal)).toMatchObject({ decision: "approved-for-run" });
    expect(asked).toEqual([1, 2]);
  });

  it("put one request of a server to the client's model at a time, and none while a person is asked", async () => {
    const settled = () => new Promise((resolve) => setImmediate(resolve));
    const open: string[] = [];
    const answers = Array.from({ length: 3 }, () => Promise.withResolvers<never>());
    const put = (what: string) => {
      open.push(what);
      return (answers[open.length - 1] as PromiseWithResolvers<never>).promise;
    };
    const sampled = { kind: "unsampled", why: "no" } as const;
    const approvals = new RunApprovals("run-1", {
      ask: () => put("call"),
      sample: ({ server }) => put(server),
    });
    const requests = ["a", "b"].map((server) =>
      approvals.sample({ server, tool: "t", sampling: { messages: [], maxTokens: 1 } }, signal),
    );
    const asked = approvals.approve(tool, {}, signal);
    await settled();
    expect(open).toEqual(["a"]);
    answers[0]?.resolve(sampled as never);
    await requests[0];
    await settled();
    expect(open).toEqual(["a", "b"]);
    answers[1]?.resolve(sampled as never);
    expect(await requests[1]).toEqual(sampled);
    await settled();
    expect(open).toEqual(["a", "b", "call"]);
    answers[2]?.resolve({ decision: "once", by: "ann" } as never);
    expect((await asked).decision).toBe("approved-once");
  });

  it("say when a tool comes again", async () => {
    const again: unknown[] = [];
    const approvals = new RunApprovals("run-1", {
      ask: async ({ tool, isAgain }) => {
        again.push([tool, isAgain]);
        return { decision: "once", by: "ann" };
      },
    });
    const other = { ...tool, namespacedName: "mcp__desk__drop" };
    for (const each of [tool, other, tool]) await approvals.approve(each, {}, signal);
    expect(again).toEqual([
      ["mcp__desk__send", false],
      ["mcp__desk__drop", false],
      ["mcp__desk__send", true],
    ]);
  });

  it("ask again for a tool whose definition is another", async () => {
    const { approvals } = answeredBy({ decision: "run", by: "ann" }, { decision: "denied", by: "ann" });
    await approvals.approve(tool, {}, signal);
    const changed = { ...tool, definitionDigest: "sha256:2" };
    expect(await approvals.approve(changed, {}, signal)).toMatchObject({ decision: "denied" });
    expect(approvals.state).toBe("DENIED");
  });

  it("tell a denial from there being nobody to ask, for every approver", async () => {
    const { approvals } = answeredBy({ decision: "denied", by: "nobody" }, UNASKED);
    expect((await approvals.approve(tool, {}, signal)).isUnasked ?? false).toBe(false);
    expect(await approvals.approve(tool, {}, signal)).toEqual({
      decision: "denied",
      by: "nobody",
      isUnasked: true,
    });
  });

  it("are not required before the first question, and denied for good by one denial", async () => {
    const { approvals } = answeredBy(
      { decision: "once", by: "ann" },
      { decision: "denied", by: "ann" },
      { decision: "once", by: "ann" },
    );
    const states: string[] = [approvals.state];
    for (let i = 0; i < 3; i++) {
      await approvals.approve(tool, {}, signal);
      states.push(approvals.state);
    }
    expect(states).toEqual(["NOT_REQUIRED", "APPROVED", "DENIED", "DENIED"]);
  });

  it.each<[ApprovalAnswer, string]>([
    [{ decision: "once", by: "ann" }, "once"],
    [{ decision: "run", by: "ann" }, "run"],
    [
      { decision: "run", by: "ann", except: { path: "/tmp/*", mode: "*" } },
      "run; like it but for path, mode",
    ],
    [{ decision: "run", by: "ann", atMost: 3 }, "run; at most 3"],
  ])("are noted with what was approved, and no value of an argument: %j", async (answer, scope) => {
    const noted: unknown[] = [];
    const events = { onApproval: (answered: unknown) => void noted.push(answered) };
    const approvals = new RunApprovals("run-1", { ask: async () => answer }, events);
    await approvals.approve(tool, { path: "/tmp/a" }, signal);
    expect(noted).toMatchObject([{ decision: "approved", scope, approver: "ann" }]);
  });

  it("hold for as many calls as were approved, and for the arguments that were", async () => {
    const { approvals, asked } = answeredBy(
      { decision: "run", by: "ann", atMost: 2, except: { path: "/tmp/*" } },
      { decision: "denied", by: "ann" },
      { decision: "denied", by: "ann" },
    );
    const decided = [];
    for (const path of ["/tmp/a", "/etc/b", "/tmp/c", "/tmp/d"])
      decided.push((await approvals.approve(tool, { path }, signal)).decision);
    expect(decided).toEqual(["approved-for-run", "denied", "approved-for-run", "denied"]);
    expect(asked).toEqual([{ path: "/tmp/a" }, { path: "/etc/b" }, { path: "/tmp/d" }]);
    expect(approvals.soFar).toMatchObject({ state: "DENIED", grants: [{ left: 0, by: "ann" }] });
  });

  it("hold for no other tool", async () => {
    const { approvals } = answeredBy({ decision: "run", by: "ann" }, { decision: "denied", by: "ann" });
    await approvals.approve(tool, {}, signal);
    const other = { ...tool, namespacedName: "mcp__desk__drop" };
    expect((await approvals.approve(other, {}, signal)).decision).toBe("denied");
  });

  it("are those of before where a run is resumed, whose own copy they stay", async () => {
    const { approvals: before } = answeredBy({ decision: "run", by: "ann", atMost: 3 });
    await before.approve(tool, {}, signal);
    const earlier = before.soFar;
    const resumed = () => new RunApprovals("run-1", { ask: async () => UNASKED }, {}, { earlier });
    for (let i = 0; i < 2; i++) {
      const approvals = resumed();
      expect(approvals.state).toBe("APPROVED");
      const decided = [];
      for (let call = 0; call < 3; call++) decided.push((await approvals.approve(tool, {}, signal)).decision);
      expect(decided).toEqual(["approved-for-run", "approved-for-run", "denied"]);
    }
    expect(earlier.grants).toMatchObject([{ left: 2 }]);
  });

  it("tell a person why they are asked, where values come from, and what the server says of its tool", async () => {
    const asked: unknown[] = [];
    const approvals = new RunApprovals("run-1", {
      ask: async (request) => {
        asked.push(request);
        return UNASKED;
      },
    });
    const described = { ...tool, server: "desk", description: "Sends." };
    await approvals.approve(described, undefined, signal, { reason: "rule 1" });
    expect(asked).toEqual([
      {
        runId: "run-1",
        tool: "mcp__desk__send",
        definitionDigest: "sha256:1",
        arguments: undefined,
        argumentsDigest: expect.stringMatching(/^sha256:/),
        isAgain: false,
        reason: "rule 1",
        claims: { server: "desk", description: "Sends.", annotations: undefined },
      },
    ]);
  });

  it("count the calls that wait, and ask one question at a time", async () => {
    const open: (() => void)[] = [];
    const approvals = new RunApprovals("run-1", {
      ask: () => new Promise((resolve) => open.push(() => resolve({ decision: "once", by: "ann" }))),
    });
    const both = [1, 2].map((args) => approvals.approve(tool, args, signal));
    await expect.poll(() => [approvals.waiting, open.length]).toEqual([2, 1]);
    open[0]?.();
    await both[0];
    await expect.poll(() => [approvals.waiting, open.length]).toEqual([1, 2]);
    open[1]?.();
    await both[1];
    expect(approvals.waiting).toBe(0);
  });

  it("go on with the next question when one could not be asked", async () => {
    const answers = [Promise.reject(new Error("gone")), Promise.resolve(UNASKED)];
    const approvals = new RunApprovals("run-1", { ask: () => answers.shift() ?? Promise.resolve(UNASKED) });
    await expect(approvals.approve(tool, 1, signal)).rejects.toThrow("gone");
    expect((await approvals.approve(tool, 2, signal)).decision).toBe("denied");
    expect(approvals.waiting).toBe(0);
  });
});

describe("a reviewer", () => {
  const REVIEWER = "interceptors.reviewer";
  const BY_PERSON: ApprovalAnswer = { decision: "denied", by: "ann" };
  const planned = (args: unknown, more: Partial<PlannedCall> = {}): PlannedCall => ({
    ...{ tool: tool.namespacedName, server: "desk", definitionDigest: tool.definitionDigest, after: 0 },
    ...{ arguments: args, argumentsDigest: digestOf(args), asks: true, open: [], undecided: [], ...more },
  });

  /** Which of these calls, one after another, the reviewer may answer. A person answers the others, and the reviewer allows. */
  async function reviewed(
    all: readonly unknown[],
    {
      reviewer = (args: unknown) => (args === all[0] ? undefined : REVIEWER),
      ...options
    }: RunApprovalsOptions & { reviewer?: (args: unknown) => string | undefined } = {},
    byPerson: ApprovalAnswer = BY_PERSON,
  ) {
    const named: boolean[] = [];
    const approvals = new RunApprovals(
      "run-1",
      {
        ask: async () => {
          named.push(false);
          return byPerson;
        },
        review: async (_, by) => {
          named.push(true);
          return { kind: "answered", answer: { decision: "once", by } };
        },
      },
      {},
      options,
    );
    for (const args of all) await approvals.approve(tool, args, signal, { reviewer: reviewer(args) });
    return { named, approvals };
  }

  it("is asked before a plan is made, and a plan is made of what it leaves to a person", async () => {
    const happened: unknown[] = [];
    const approvals = new RunApprovals(
      "run-1",
      {
        ask: async ({ arguments: args, reason, plan }) => {
          happened.push(["asked", args, reason, plan?.calls.length]);
          return { decision: "once", by: "ann" };
        },
        review: async ({ arguments: args }, by) => {
          happened.push(["reviewed", args]);
          return args === 1
            ? { kind: "answered", answer: { decision: "once", by } }
            : { kind: "left", by, why: "who is bob?" };
        },
      },
      {},
      {
        plan: async ({ arguments: args, reason }) => {
          happened.push(["planned", args, reason]);
          return planOf([planned(args)]);
        },
      },
    );
    for (const args of [1, 2])
      await approvals.approve(tool, args, signal, { reviewer: REVIEWER, reason: "r" });
    const reason = `r; ${REVIEWER} leaves it to a person: who is bob?`;
    expect(happened).toEqual([
      ["reviewed", 1],
      ["reviewed", 2],
      ["planned", 2, reason],
      ["asked", 2, reason, 1],
    ]);
  });

  it("is named to the person for whom the run is suspended, and in the audit log, and is not asked again", async () => {
    let digest = "";
    const waiting: unknown[] = [];
    const noted: unknown[] = [];
    const review = async (_: unknown, by: string) => ({ kind: "left", by, why: "who is bob?" }) as const;
    const first = new RunApprovals(
      "run-1",
      { ask: async () => LATER, review },
      { onDecision: (decided) => void noted.push(decided) },
      {
        suspend: async (request) => {
          digest = questionDigest(request);
          waiting.push(request.reason);
          return UNASKED;
        },
      },
    );
    await first.approve(tool, 1, signal, { reviewer: REVIEWER });
    expect(waiting).toEqual([`${REVIEWER} leaves it to a person: who is bob?`]);
    const left = { tool: tool.namespacedName, decision: "ask", rule: REVIEWER, reason: "who is bob?" };
    expect(noted).toMatchObject([left]);
    const resumed = new RunApprovals(
      "run-1",
      { ask: async () => BY_PERSON, review: () => Promise.reject(new Error("it was asked again")) },
      {},
      { answered: { digest, answer: { decision: "once", by: "ann" } } },
    );
    expect(await resumed.approve(tool, 1, signal, { reviewer: REVIEWER })).toMatchObject({ by: "ann" });
  });

  it("answers no call that a person has denied, also over a suspension and in a conversation", async () => {
    const denied = { to: "bob" };
    const other = { to: "cem" };
    const { named, approvals } = await reviewed([denied, denied, other]);
    expect(named).toEqual([false, false, true]);
    const again = { reviewer: () => REVIEWER };
    const resumed = { ...again, earlier: structuredClone(approvals.soFar) };
    expect((await reviewed([denied, other], resumed)).named).toEqual([false, true]);
    const shared = new Grants();
    await reviewed([denied], { shared });
    expect((await reviewed([denied, other], { ...again, shared })).named).toEqual([false, true]);
  });

  it("answers again where it has denied the call itself, or nobody was there to be asked", async () => {
    const args = { to: "bob" };
    const approvals = new RunApprovals("run-1", {
      ask: async () => BY_PERSON,
      review: async (_, by) => ({ kind: "answered", answer: { decision: "denied", by } }),
    });
    for (let i = 0; i < 2; i++)
      expect(await approvals.approve(tool, args, signal, { reviewer: REVIEWER })).toMatchObject({
        by: REVIEWER,
      });
    const unasked = new Grants();
    await reviewed([args], { shared: unasked }, UNASKED);
    const { named } = await reviewed([args], { shared: unasked, reviewer: () => REVIEWER });
    expect(named).toEqual([true]);
  });

  it.each<[string, { calls: PlannedCall[]; approved: number[]; kept?: number[] }, unknown[]]>([
    ["the plan does not have", { calls: [planned(1)], approved: [1] }, [1, 2]],
    ["was denied there", { calls: [planned(1), planned(2)], approved: [1] }, [1, 2, 2]],
    ["was denied there once the plan is over", { calls: [planned(1), planned(2)], approved: [1] }, [1, 3, 2]],
    ["is kept there", { calls: [planned(1), planned(2)], approved: [1], kept: [2] }, [1, 2]],
    [
      "was denied there before its values were known",
      { calls: [planned(1), planned({ to: "<>" }, { undecided: [["to"]] })], approved: [1] },
      [1, 3, { to: "bob" }],
    ],
  ])("leaves to a person who has answered a plan what %s", async (_, { calls, approved, kept }, all) => {
    let plans = 0;
    const { named } = await reviewed(
      all,
      { plan: async () => (plans++ === 0 ? planOf(calls) : undefined) },
      { decision: "once", by: "ann", calls: approved, kept },
    );
    expect(named).not.toContain(true);
  });
});

describe("a question that is answered later", () => {
  const LATER_BY_TICKET: ApprovalAnswer = { ...LATER, ticket: "t1", why: "nobody answered" };

  function suspended(suspend: RunApprovalsOptions["suspend"], answer = LATER_BY_TICKET) {
    const noted: unknown[] = [];
    const events = {
      onApproval: ({ decision, approver }: { decision: string; approver: string }) =>
        void noted.push([decision, approver]),
    };
    const approvals = new RunApprovals("run-1", { ask: async () => answer }, events, { suspend });
    return { approvals, noted };
  }

  it("suspends the run under its ticket, and what comes instead counts where that is not possible", async () => {
    const tickets: unknown[] = [];
    const { approvals, noted } = suspended(async (_request, ticket) => {
      tickets.push(ticket);
      return { decision: "denied", by: "nobody", why: "the disk is full" };
    });
    expect(await approvals.approve(tool, {}, signal)).toMatchObject({
      decision: "denied",
      why: "the disk is full",
    });
    expect(tickets).toEqual(["t1"]);
    expect(noted).toEqual([
      ["suspended", "nobody"],
      ["denied", "nobody"],
    ]);
  });

  it("is denied where no run can be suspended, or this one has ended, with the reason where there is one", async () => {
    expect(await suspended(undefined).approvals.approve(tool, {}, signal)).toEqual({
      ...UNASKED,
      why: "nobody answered",
    });
    expect(await suspended(undefined, LATER).approvals.approve(tool, {}, signal)).toEqual(UNASKED);
    const suspend = async () => Promise.reject(new Error("asked to suspend"));
    const ended = await suspended(suspend).approvals.approve(tool, {}, AbortSignal.abort());
    expect(ended).toMatchObject({ decision: "denied", isUnasked: true });
  });

  it("is answered, once, by what was answered while the run was suspended", async () => {
    let digest = "";
    const first = new RunApprovals("run-1", {
      ask: async (request) => {
        digest = questionDigest(request);
        return UNASKED;
      },
    });
    await first.approve(tool, { a: 1 }, signal);
    const approvals = new RunApprovals(
      "run-1",
      { ask: async () => ({ decision: "denied", by: "bob" }) },
      {},
      { answered: { digest, answer: { decision: "once", by: "ann" } } },
    );
    const decided = [];
    for (const a of [2, 1, 1]) decided.push((await approvals.approve(tool, { a }, signal)).by);
    expect(decided).toEqual(["bob", "ann", "bob"]);
  });

  it("leaves questions of servers unanswered, which do not hold it up", async () => {
    let goOn = (_: ApprovalAnswer) => {};
    const given = new Promise<ApprovalAnswer>((resolve) => {
      goOn = resolve;
    });
    const elicited: unknown[] = [];
    const approvals = new RunApprovals(
      "run-1",
      {
        ask: async () => LATER,
        elicit: async (request) => {
          elicited.push(request);
          return { action: "decline" };
        },
      },
      {},
      { suspend: () => given },
    );
    const asked = { server: "desk" } as Parameters<RunApprovals["elicit"]>[0];
    const approval = approvals.approve(tool, {}, signal);
    const behind = approvals.elicit(asked, signal);
    expect(await behind).toMatchObject({ action: "unasked" });
    expect(await approvals.elicit(asked, signal)).toMatchObject({ action: "unasked" });
    goOn(UNASKED);
    await approval;
    expect(elicited).toEqual([]);
    expect(await approvals.elicit(asked, signal)).toEqual({ action: "decline" });
    expect(elicited).toEqual([{ server: "desk", runId: "run-1" }]);
    expect(await approvals.elicit(asked, AbortSignal.abort())).toMatchObject({ action: "unasked" });
    expect(elicited).toHaveLength(1);
  });
});

it.each(["once", "run"] as const)(
  "the event of an approval (%s) has the id of its passkey",
  async (decision) => {
    const noted: unknown[] = [];
    const proof = { way: "passkey", credential: "k" } as const;
    const approvals = new RunApprovals(
      "run-1",
      { ask: async () => ({ decision, by: "ann", proof }) },
      { onApproval: (answered) => void noted.push(answered) },
    );
    await approvals.approve(tool, {}, signal);
    expect(noted).toMatchObject([{ decision: "approved", approver: "ann", credential: "k" }]);
    expect(approvals.soFar.grants.map((grant) => grant.proof)).toEqual(decision === "run" ? [proof] : []);
  },
);

describe("an approver that can do nothing but ask", () => {
  const ask: Approver["ask"] = async () => UNASKED;

  it("is told of answers in vain, opens no address, and puts no question of a server to anybody", async () => {
    const approver = complete({ ask });
    const request = {} as Parameters<Approver["ask"]>[0];
    expect(() => approver.answeredElsewhere(request, undefined)).not.toThrow();
    expect([approver.provesBy, approver.canVisit()]).toEqual([undefined, false]);
    expect(await approver.elicit({} as Parameters<typeof approver.elicit>[0], signal)).toMatchObject({
      action: "unasked",
    });
    expect(await approver.ask(request, signal)).toBe(UNASKED);
  });

  it("passes on what another can do", async () => {
    const heard: unknown[] = [];
    const answeredElsewhere = (...said: unknown[]) => void heard.push(said);
    const approver = complete({ ask, answeredElsewhere, provesBy: "terminal" });
    const request = { runId: "run-1" } as Parameters<Approver["ask"]>[0];
    approver.answeredElsewhere(request, UNASKED);
    expect(heard).toEqual([[request, UNASKED]]);
    expect(approver.provesBy).toBe("terminal");
  });

  it("opens an address where it also puts questions, and says that it opens some", () => {
    const elicit = async () => ({ action: "decline" }) as const;
    expect(complete({ ask, canVisit: () => true }).canVisit()).toBe(false);
    expect(complete({ ask, elicit, canVisit: () => false }).canVisit()).toBe(false);
    expect(complete({ ask, elicit }).canVisit()).toBe(false);
    expect(complete({ ask, elicit, canVisit: () => true }).canVisit()).toBe(true);
    expect(new RunApprovals("run-1", { ask, elicit, canVisit: () => true }).canVisit).toBe(true);
  });
});

it.each<[ApprovalAnswer, ApprovalAnswer]>([
  [
    { decision: "once", by: "ann", how: "a form" },
    { decision: "denied", by: "ann", how: "a form", why: NOT_PROVEN.terminal },
  ],
  [
    { decision: "run", by: "ann", proof: { way: "passkey", credential: "k" } },
    { decision: "denied", by: "ann", why: NOT_PROVEN.terminal },
  ],
  [
    { decision: "run", by: "ann", proof: { way: "terminal" } },
    { decision: "run", by: "ann", proof: { way: "terminal" } },
  ],
  [
    { decision: "denied", by: "ann" },
    { decision: "denied", by: "ann" },
  ],
  [LATER, LATER],
])("where approvals have to be typed, %j counts as %j", (answer, counted) => {
  expect(countsProven(answer, "terminal")).toEqual(counted);
  expect(countsProven(answer, "any")).toBe(answer);
});

it.each<[proof: ApprovalAnswer["proof"], any: boolean, terminal: boolean, passkey: boolean]>([
  [undefined, true, false, false],
  [{ way: "terminal" }, true, true, false],
  [{ way: "passkey", credential: "k" }, true, false, true],
])(
  "an approval with the proof %j counts as %s where any does, %s at a terminal, %s by passkey",
  (proof, ...counts) => {
    expect(
      (["any", "terminal", "passkey"] as const).map((required) => isProven({ proof }, required)),
    ).toEqual(counts);
  },
);
