import { describe, expect, it } from "vitest";
import { describePlanned } from "../../../broker/approvals/approval-text.ts";
import { type Assumption, type PlannedCall, planOf } from "../../../broker/approvals/plan.ts";
import { withAssumptions } from "../../../execution/plan/make-plan.ts";

const call = (number: number): PlannedCall => ({
  ...{ tool: "mcp__desk__send", server: "desk", definitionDigest: "d", arguments: { number } },
  ...{ argumentsDigest: `a${number}`, open: [], undecided: [], asks: true, after: number - 1 },
});
const calls = [1, 2, 3].map(call);
/** The choices in the answer to a call. */
const choicesOf = (number: number, count: number, is: Assumption["is"] = true): Assumption[] =>
  Array.from({ length: count }, (_, index) => ({ call: number, path: [`flag${index}`], is }));

describe("a plan whose calls depend on choices of earlier answers", () => {
  const planWith = (choices: Assumption[]) =>
    withAssumptions(planOf(calls.slice(0, 1), "it branches"), planOf(calls), choices);

  it("has calls with as many conditions as a person can weigh", () => {
    const { calls: planned, more } = planWith([...choicesOf(1, 6), ...choicesOf(2, 4)]);
    expect(planned.map(({ when = [] }) => when.length)).toEqual([0, 6, 10]);
    expect(more).toContain("other than what the plan assumes");
  });

  it("ends before a call with more of them, and says so", () => {
    const { calls: planned, more } = planWith([...choicesOf(1, 6), ...choicesOf(2, 5)]);
    expect(planned.map(({ when = [] }) => when.length)).toEqual([0, 6]);
    expect(more).toBe("a further call depends on more than 10 values of what the calls before it answer");
  });

  it("is the plan without conditions where an answer has very many choices", () => {
    expect(planWith(choicesOf(1, 1_900))).toEqual(planOf(calls.slice(0, 1), "it branches"));
  });

  it("ends before a call whose conditions are too long to be shown", () => {
    const path = Array.from({ length: 8_000 }, (_, index) => `member${index}${"x".repeat(100)}`);
    expect(
      planWith([
        { call: 1, path: ["ok"], is: true },
        { call: 2, path, is: true },
      ]),
    ).toMatchObject({
      calls: [{}, { when: [{}] }],
      more: "all calls together are too large to be shown",
    });
  });
});

it("shows the beginning of a long choice, and of a long name, and how much is left out", () => {
  const when = [{ call: 1, path: ["n".repeat(300), "state"], is: "v".repeat(5_000) }];
  expect(describePlanned({ ...call(2), when })).toEqual([
    `only if ${"n".repeat(100)} ... (200 more characters).state of what call 1 answers is "${"v".repeat(100)}" ... (4900 more characters)`,
  ]);
});
