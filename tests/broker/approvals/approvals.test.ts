import { describe, expect, it } from "vitest";
import { type ApprovalAnswer, RunApprovals, UNASKED } from "../../../broker/approvals/approvals.ts";

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
});
