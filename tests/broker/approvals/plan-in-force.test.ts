import { describe, expect, it } from "vitest";
import { planAnswer, readChosen } from "../../../broker/approvals/approval-scope.ts";
import {
  type ApprovalRequest,
  type ApprovalsSoFar,
  questionDigest,
  RunApprovals,
} from "../../../broker/approvals/approvals.ts";
import { type PlannedCall, planOf, withArguments, withoutOpen } from "../../../broker/approvals/plan.ts";
import { type Ending, PlanInForce } from "../../../broker/approvals/plan-in-force.ts";
import type { Tool } from "../../../catalog/tool.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";

function call(tool: string, args: unknown, more: Partial<PlannedCall> = {}): PlannedCall {
  const { open = [], undecided = [] } = more;
  return {
    ...{ tool, server: "s", definitionDigest: "d", arguments: args, asks: true, after: 0 },
    ...more,
    ...{ open, undecided, argumentsDigest: digestOf(withoutOpen(args, { open, undecided }) ?? null) },
  };
}

const inForce = (calls: PlannedCall[], approved: number[], used: number[] = []) =>
  new PlanInForce({ plan: planOf(calls), approved, used, ended: [], by: "ann" });

const made = (tool: string, args: unknown, more: { asks?: boolean; rule?: string } = {}) => ({
  ...{ tool, definitionDigest: "d", arguments: args, asks: true, ...more },
});

describe("a plan that somebody has answered", () => {
  it.each<[string, ReturnType<typeof made>, object]>([
    ["an approved call", made("a", { x: 1 }), { kind: "approved", number: 1 }],
    ["a call that was not chosen", made("b", {}), { kind: "denied", number: 2 }],
    ["a call that is decided later", made("c", { at: "now" }), { kind: "by-itself", number: 3 }],
    ["a call that needs no approval", made("d", {}, { asks: false }), { kind: "unasked", number: 4 }],
    [
      "a call that now needs an approval",
      made("d", {}),
      { kind: "unplanned", differs: "the plan has it as a call that needs no approval" },
    ],
    [
      "another argument",
      made("a", { x: 2 }),
      { kind: "unplanned", differs: "it differs from call 1 of the approved plan in x" },
    ],
    [
      "one more argument",
      made("a", { x: 1, y: 1 }),
      { kind: "unplanned", differs: "it differs from call 1 of the approved plan in y" },
    ],
    [
      "another tool",
      made("e", {}),
      { kind: "unplanned", differs: "the approved plan has no such call, or no further one" },
    ],
    [
      "another definition",
      { ...made("a", { x: 1 }), definitionDigest: "other" },
      { kind: "unplanned", differs: "its server has changed the tool since the plan was approved" },
    ],
    [
      "another rule",
      made("a", { x: 1 }, { rule: "approvals.ask" }),
      { kind: "unplanned", differs: "another rule asks about it than in the plan" },
    ],
  ])("says of %s what it is", async (_, asked, expected) => {
    const plan = inForce(
      [
        call("a", { x: 1 }),
        call("b", {}),
        call("c", { at: "<decided later>" }, { undecided: [["at"]] }),
        call("d", {}, { asks: false }),
      ],
      [1],
    );
    expect(await plan.match(asked)).toEqual(expected);
  });

  it("uses each call up, also over a suspension", async () => {
    const plan = inForce([call("a", {}), call("a", {})], [1, 2]);
    expect(await plan.match(made("a", {}))).toMatchObject({ kind: "approved", number: 1 });
    const resumed = new PlanInForce(plan.kept());
    expect(await resumed.match(made("a", {}))).toMatchObject({ kind: "approved", number: 2 });
    expect(await resumed.match(made("a", {}))).toMatchObject({ kind: "unplanned" });
  });

  it("goes on after a suspension with the call that is asked about by itself, and with those behind it", async () => {
    const tools = ["a", "b"].map((namespacedName) => ({
      ...{ namespacedName, definitionDigest: "d", server: "s", description: "", annotations: {} },
    })) as unknown as Tool[];
    const [a, b] = tools as [Tool, Tool];
    const plan = planOf([call("a", { x: 1 }, { undecided: [["x"]] }), call("b", {}, { after: 1 })]);
    const earlier = {
      ...{ state: "APPROVED" as const, grants: [] },
      plan: { plan, approved: [2], used: [], ended: [], by: "ann" },
    };
    const { signal } = new AbortController();
    let soFar: ApprovalsSoFar | undefined;
    let digest = "";
    const later = {
      ask: async (request: ApprovalRequest) => {
        digest = questionDigest(request);
        return { decision: "later", by: "nobody", ticket: "t" } as const;
      },
    };
    const first: RunApprovals = new RunApprovals(
      "r",
      later,
      {},
      {
        ...{ earlier },
        suspend: async () => {
          soFar = first.soFar;
          return { decision: "denied", by: "nobody" };
        },
      },
    );
    await first.approve(a, { x: 2 }, signal);
    const again: unknown[] = [];
    const second = new RunApprovals(
      "r",
      {
        ask: async (request) => {
          again.push(request);
          return { decision: "denied", by: "nobody" };
        },
      },
      {},
      { earlier: soFar, answered: { digest, answer: { decision: "once", by: "bob" } } },
    );
    const answer = await second.approve(a, { x: 2 }, signal);
    expect(answer).toMatchObject({ decision: "approved-once", by: "bob", planned: 1 });
    second.ended(answer.planned, { answer: {} });
    expect(await second.approve(b, {}, signal)).toMatchObject({ by: "ann", planned: 2 });
    expect(again).toEqual([]);
  });

  it("makes a call that failed once more where the plan has it so, also over a suspension", async () => {
    const plan = inForce([call("a", {}, { again: 1 })], [1]);
    expect(await plan.match(made("a", {}))).toMatchObject({ kind: "approved" });
    expect(await plan.match(made("a", {}))).toMatchObject({ kind: "unplanned" });
    plan.end(1, "failed");
    const resumed = new PlanInForce(plan.kept());
    expect(await resumed.match(made("a", {}))).toMatchObject({ kind: "approved", number: 1 });
    resumed.end(1, "failed");
    const last = new PlanInForce(resumed.kept());
    expect(await last.match(made("a", {}))).toMatchObject({ kind: "unplanned" });
  });

  it.each<[string, PlannedCall, number[], Ending]>([
    ["that succeeded", call("a", {}, { again: 1 }), [1], { answer: {} }],
    ["of which nobody knows whether it was made", call("a", {}, { again: 1 }), [1], "unclear"],
    ["that the plan does not have so", call("a", {}), [1], "failed"],
    ["that was denied", call("a", {}, { again: 1 }), [], "failed"],
  ])("asks again about a call %s", async (_, planned, approved, ending) => {
    const plan = inForce([planned], approved);
    await plan.match(made("a", {}));
    plan.end(1, ending);
    expect(await plan.match(made("a", {}))).toMatchObject({ kind: "unplanned" });
  });

  it.each<[string, Ending, string]>([
    ["it is so", { answer: { ok: true } }, "approved"],
    ["it is not", { answer: { ok: false } }, "unplanned"],
    ["the answer does not say", { answer: {} }, "unplanned"],
    ["the call failed", "failed", "unplanned"],
  ])("holds the real answer against what the plan takes for granted: %s", async (_, ending, kind) => {
    const when = [{ call: 1, path: ["ok"], is: true }];
    const plan = inForce([call("a", {}), call("b", {}, { after: 1, when })], [1, 2]);
    await plan.match(made("a", {}));
    plan.end(1, ending);
    const matched = await new PlanInForce(plan.kept()).match(made("b", {}));
    expect(matched.kind).toBe(kind);
    if (matched.kind === "unplanned")
      expect(matched.differs).toBe(
        "the plan has it only if ok of what call 1 answers is true, and that is not so",
      );
  });

  it("identifies a plan by what it takes for granted, and by how often calls are made again", () => {
    const digests = [
      call("b", {}),
      call("b", {}, { when: [{ call: 1, path: ["ok"], is: true }] }),
      call("b", {}, { when: [{ call: 1, path: ["ok"], is: false }] }),
      call("b", {}, { again: 1 }),
    ].map((second) => planOf([call("a", {}), second]).digest);
    expect(new Set(digests).size).toBe(4);
  });

  it("takes two equal calls at once for two planned calls", async () => {
    const plan = inForce([call("a", {}), call("a", {})], [1, 2]);
    const matched = await Promise.all([1, 2, 3].map(() => plan.match(made("a", {}))));
    expect(matched.map(({ kind }) => kind)).toEqual(["approved", "approved", "unplanned"]);
  });

  it("takes a value that an earlier call answers only if it is the one of the real answer", async () => {
    const open = [{ path: ["text"], parts: ["#", { call: 1, path: ["issue", "number"] }] }];
    const calls = [call("create", {}), call("comment", { text: "#<...>" }, { open })];
    const answered = (data: unknown) => {
      const plan = inForce(calls, [1, 2], [1]);
      plan.end(1, data === undefined ? "failed" : { answer: data });
      return plan.match(made("comment", { text: "#7" }));
    };
    expect(await answered({ issue: { number: 7 } })).toMatchObject({ kind: "approved" });
    for (const data of [{ issue: { number: 8 } }, { issue: { number: [7] } }, { number: 7 }, undefined, null])
      expect(await answered(data)).toMatchObject({ kind: "unplanned" });
    expect(await inForce(calls, [1, 2], [1]).match(made("comment", { text: "#7" }))).toMatchObject({
      kind: "unplanned",
    });
  });

  it("takes no call before those that come before it", async () => {
    const plan = inForce([call("a", {}), call("b", {}, { after: 1 })], [1, 2]);
    expect(await plan.match(made("b", {}))).toEqual({
      ...{ kind: "unplanned", differs: "a call that the plan has before it has not been made" },
    });
  });
});

it.each<[string, number[] | undefined]>([
  ["all", [1, 3]],
  ["none", []],
  ["1", [1]],
  ["1, 3", [1, 3]],
  ["2", undefined],
  ["1-3", undefined],
  ["4", undefined],
  ["0", undefined],
  ["3-1", undefined],
  ["yes", undefined],
  ["1;3", undefined],
  ["", undefined],
])("the choice %j of a plan whose second call needs no approval is %j", (text, expected) => {
  expect(
    readChosen(text, planOf([call("a", {}), call("b", {}, { asks: false }), call("c", {})]))?.calls,
  ).toEqual(expected);
});

const LATE = {
  read: 1,
  tool: "search",
  after: 1,
  path: ["mails", 0, "text"],
  shape: [{ digits: 6 }],
  nth: 1,
  type: "string" as const,
};
const latePlan = () =>
  planOf(
    [
      call("ask", {}),
      call("enter", { code: "<...>" }, { after: 1, open: [{ path: ["code"], parts: [LATE] }] }),
    ],
    undefined,
    [
      {
        tool: "search",
        definitionDigest: "d",
        argumentsDigest: digestOf({ query: "code" }),
        open: [],
        after: 1,
      },
    ],
  );

describe("a value that a late read brings", () => {
  const search = { tool: "search", definitionDigest: "d", arguments: { query: "code" } };
  const answers = (text: string) => ({ mails: [{ text }] });
  const asked = async (read: typeof search, answer: unknown, { code = "123456", ended = true } = {}) => {
    const plan = new PlanInForce({ plan: latePlan(), approved: [1, 2], used: [1], ended: [], by: "ann" });
    if (ended) plan.end(1, { answer: {} });
    await plan.read(read, answer);
    return (await new PlanInForce(plan.kept()).match(made("enter", { code }))).kind;
  };

  it("counts if it is the piece of that form at that place of that read's answer", async () => {
    expect(await asked(search, answers("Your code is 123456."))).toBe("approved");
  });

  it.each<[string, Promise<string>]>([
    ["another value", asked(search, answers("Your code is 123457."))],
    ["another tool", asked({ ...search, tool: "other" }, answers("123456"))],
    ["another definition", asked({ ...search, definitionDigest: "e" }, answers("123456"))],
    ["other arguments of the read", asked({ ...search, arguments: { query: "x" } }, answers("123456"))],
    ["another place", asked(search, { mails: [{ title: "123456", text: "" }] })],
    ["a place before others", asked(search, answers("654321 123456"))],
    ["another form", asked(search, answers("1234567 123456a"))],
    ["another length", asked(search, answers("12345"), { code: "12345" })],
    ["another type", asked(search, answers("123456"), { code: 123456 as unknown as string })],
    ["a read before the change", asked(search, answers("123456"), { ended: false })],
    ["no read", asked({ ...search, tool: "none" }, {})],
  ])("does not count with %s", async (_, kind) => {
    expect(await kind).toBe("unplanned");
  });

  it("is the one that the last such read brought", async () => {
    const plan = new PlanInForce({ plan: latePlan(), approved: [1, 2], used: [1], ended: [], by: "ann" });
    plan.end(1, { answer: {} });
    await plan.read(search, answers("nothing yet"));
    await plan.read(search, answers("111111"));
    expect(await plan.match(made("enter", { code: "111111" }))).toMatchObject({ kind: "approved" });
  });

  it("can be kept for a question of its own", async () => {
    const chosen = readChosen("1 2?", latePlan());
    expect(chosen).toEqual({ calls: [1], kept: [2] });
    expect(readChosen("all?", latePlan())).toEqual({ calls: [1], kept: [2] });
    expect(readChosen("1?", latePlan())).toBeUndefined();
    expect(planAnswer(latePlan(), { calls: [1, 2], kept: [2] })).toEqual({
      ...{ decision: "once", calls: [1], kept: [2] },
    });
    const plan = new PlanInForce({
      ...{ plan: latePlan(), approved: [1], kept: [2], used: [1], ended: [[1, {}]], by: "ann" },
    });
    await plan.read(search, answers("123456"));
    expect(await plan.match(made("enter", { code: "123456" }))).toEqual({ kind: "by-itself", number: 2 });
  });

  it("makes another plan where it would come from elsewhere", () => {
    const { calls, reads = [] } = latePlan();
    const elsewhere = reads.map((read) => ({ ...read, tool: "other" }));
    expect(planOf(calls, undefined, elsewhere).digest).not.toBe(latePlan().digest);
  });
});

it("an answer to a plan is about its first call as well, and about none that it cannot approve", () => {
  const plan = planOf([call("a", {}), call("b", {}, { asks: false }), call("c", {})]);
  expect(planAnswer(plan, { calls: [1, 2, 3] })).toEqual({ decision: "once", calls: [1, 3] });
  expect(planAnswer(plan, { calls: [3] })).toEqual({ decision: "denied", calls: [3] });
});

/** A part of a read, of which a piece is the same whatever it answers. */
const lateSecret = {
  ...{ read: 1, tool: "mail", after: 1, path: ["text"], type: "string" as const },
  shape: ["secret-", { digits: 6 }],
};

it("a plan that a person sees has no secret in its arguments, nor in texts around open values", () => {
  const open = [{ path: ["text"], parts: ["key secret ", { call: 1, path: [] }] }];
  const late = [{ path: ["code"], parts: [lateSecret] }];
  const plan = planOf([
    call("a", {}),
    call("b", { text: "key secret <...>" }, { open }),
    call("c", { code: "<...>" }, { open: late }),
  ]);
  const shown = withArguments(plan, (value) => JSON.parse(JSON.stringify(value).replaceAll("secret", "***")));
  expect(JSON.stringify(shown)).not.toContain("secret");
  expect(shown.digest).toBe(plan.digest);
});
