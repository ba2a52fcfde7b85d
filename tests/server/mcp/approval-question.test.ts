import { describe, expect, it } from "vitest";
import { buildApprovalForm, parseApprovalAnswer } from "../../../server/mcp/questions/approval-question.ts";

const REQUEST = {
  runId: "r",
  tool: "mcp__files__write",
  definitionDigest: "d",
  arguments: { path: "/tmp/a", content: `begin ${"x".repeat(3_000)}` },
  argumentsDigest: "e",
};

describe("the form of an approval", () => {
  it("has no field the first time, so that accepting it allows this call alone", () => {
    expect(buildApprovalForm(REQUEST).requestedSchema).toEqual({ type: "object", properties: {} });
    expect(parseApprovalAnswer({ action: "accept" }).decision).toBe("once");
    expect(parseApprovalAnswer({ action: "accept", content: {} }).decision).toBe("once");
  });

  it("offers all calls of the tool when it comes again, and allows this one when nothing is chosen", () => {
    const { decision } = buildApprovalForm({ ...REQUEST, isAgain: true }).requestedSchema.properties;
    expect(decision).toMatchObject({ default: "once" });
    expect(decision?.oneOf.map((choice) => choice.const)).toEqual(["once", "run", "no"]);
    for (const choice of ["once", "run"])
      expect(parseApprovalAnswer({ action: "accept", content: { decision: choice } }).decision).toBe(choice);
  });

  it("shows all of a call below its first lines", () => {
    const lines = buildApprovalForm(REQUEST).message.split("\n");
    expect(lines.slice(0, 2)).toEqual(["Allow mcp__files__write with 2 arguments?", 'path: "/tmp/a"']);
    expect(lines.slice(3, 7)).toEqual([
      "",
      "A program wants to call mcp__files__write with",
      "{",
      '  "path": "/tmp/a",',
    ]);
  });

  it.each([
    undefined,
    "accept",
    { action: "decline" },
    { action: "cancel" },
    { content: { decision: "once" } },
    { action: "accept", content: { decision: "no" } },
    { action: "accept", content: { decision: true } },
    { action: "accept", content: null },
    { action: "accept", content: "once" },
  ])("is denied by %j", (answer) => {
    expect(parseApprovalAnswer(answer)).toEqual({ decision: "denied", by: "elicitation" });
  });
});
