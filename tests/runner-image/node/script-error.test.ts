import { describe, expect, it } from "vitest";
import { describeThrown, userFrames } from "../../../runner-image/node/describe-thrown.ts";
import { fillToolError, ToolError } from "../../../runner-image/node/functions/tools.ts";

const STACK = `TypeError: boom
    at inner (file:///workspace/program:report.ts:3:9)
    at async Promise.all (index 0)
    at async load (program:report.ts:7:3)
    at callTool (file:///opt/ptc/runner.mjs:1:2345)
    at new Thing (program:my report (1).ts:9:2)
    at program:report.ts:12:1
    at <anonymous> (program:report.ts:13:2)
    at async <anonymous> (file:///workspace/program:report.ts:14:3)
    at node:internal/process/task_queues:105:5`;
const FRAMES = [
  "inner (report.ts:3:9)",
  "load (report.ts:7:3)",
  "new Thing (my report (1).ts:9:2)",
  "report.ts:12:1",
  "report.ts:13:2",
  "report.ts:14:3",
];

describe("what a program threw", () => {
  it("shows the user's own frames and no others", () => {
    expect(userFrames(STACK)).toEqual(FRAMES);
  });

  it("is named with its message and place", () => {
    const error = Object.assign(new TypeError("boom"), { stack: STACK });
    const message = ["TypeError: boom", ...FRAMES].join("\n    at ");
    expect(describeThrown(error)).toMatchObject({ type: "ScriptError", message });
  });

  it.each(["ToolError", "ApprovalDenied"] as const)(
    "keeps that a call ended in %s, and whether to retry",
    (type) => {
      const from = { type, server: "s", tool: "t", message: "no", retryable: true };
      const error = fillToolError(new ToolError(), from);
      expect(describeThrown(error)).toMatchObject({ type, message: "no", retryable: true });
      expect(error).toMatchObject({ name: "ToolError", server: "s", tool: "t", retryable: true });
    },
  );

  it.each<[string, unknown, string]>([
    ["a string", "oops", "the program threw 'oops', which is not an Error"],
    ["nothing", undefined, "the program threw undefined"],
    ["an error without a message", Object.assign(new RangeError(), { stack: "" }), "RangeError"],
    ["a proxy that throws at every touch", hostileProxy(), "cannot be described"],
    [
      "an error with a hostile stack",
      Object.defineProperty(new Error("x"), "stack", { get: throwing }),
      "cannot be described",
    ],
  ])("may be %s", (_name, thrown, message) => {
    expect(describeThrown(thrown)).toMatchObject({
      type: "ScriptError",
      message: expect.stringContaining(message),
    });
  });

  it("is cut to what an envelope carries", () => {
    expect(describeThrown(new Error("x".repeat(100_000))).message.length).toBeLessThan(5_000);
  });
});

function throwing(): never {
  throw new Error("trap");
}

function hostileProxy(): unknown {
  return new Proxy(
    {},
    { get: throwing, getPrototypeOf: throwing, ownKeys: throwing, getOwnPropertyDescriptor: throwing },
  );
}
