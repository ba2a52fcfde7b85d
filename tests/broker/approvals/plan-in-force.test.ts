import { describe, expect, it } from "vitest";
import { planAnswer, readChosen } from "../../../broker/approvals/approval-scope.ts";
import { type PlannedCall, planOf, withArguments, withoutOpen } from "../../../broker/approvals/plan.ts";
import { PlanInForce } from "../../../broker/approvals/plan-in-force.ts";
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
    const resumed = new PlanInForce(plan.kept);
    expect(await resumed.match(made("a", {}))).toMatchObject({ kind: "approved", number: 2 });
    expect(await resumed.match(made("a", {}))).toMatchObject({ kind: "unplanned" });
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
      plan.end(1, data);
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
  expect(readChosen(text, planOf([call("a", {}), call("b", {}, { asks: false }), call("c", {})]))).toEqual(
    expected,
  );
});

it("an answer to a plan is about its first call as well, and about none that it cannot approve", () => {
  const plan = planOf([call("a", {}), call("b", {}, { asks: false }), call("c", {})]);
  expect(planAnswer(plan, [1, 2, 3])).toEqual({ decision: "once", calls: [1, 3] });
  expect(planAnswer(plan, [3])).toEqual({ decision: "denied", calls: [3] });
});

it("a plan that a person sees has no secret in its arguments, nor in texts around open values", () => {
  const open = [{ path: ["text"], parts: ["key secret ", { call: 1, path: [] }] }];
  const plan = planOf([call("a", {}), call("b", { text: "key secret <...>" }, { open })]);
  const shown = withArguments(plan, (value) => JSON.parse(JSON.stringify(value).replaceAll("secret", "***")));
  expect(JSON.stringify(shown)).not.toContain("secret");
  expect(shown.digest).toBe(plan.digest);
});
