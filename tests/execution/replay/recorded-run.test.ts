import { describe, expect, it } from "vitest";
import type { ArchivedRun } from "../../../archive/archived-run.ts";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../../codegen/typescript/typescript-printer.ts";
import { toReplayable } from "../../../execution/replay/recorded-run.ts";

const OPTIONS = {
  timeout_ms: 1_000,
  max_output_bytes: 65_536,
  max_stderr_bytes: 65_536,
  max_parallel_calls: 10,
  max_tool_calls: 1_000,
  typecheck: "error",
};
const ENVIRONMENT = { seed: "0".repeat(64), time_zone: "UTC" };

/** As much of an archived run as a replay reads. */
function archived(
  change: {
    options?: object;
    environment?: object;
    language?: string;
    decision?: string;
    modules?: [string, string][];
    errorType?: string;
  } = {},
) {
  const call = {
    seq: 0,
    tool: "mcp__a__b",
    arguments: "sha256:0",
    decision: change.decision ?? "allowed",
    result_bytes: 1,
  };
  const record = {
    options: { ...OPTIONS, ...change.options },
    language: change.language ?? "typescript",
    file_name: "program.ts",
    started_at: 1,
    calls: [call],
  };
  const error = { type: change.errorType, server: "a", tool: "b", message: "no", retryable: false };
  return {
    record,
    code: "",
    data: {},
    files: [],
    consoleText: "",
    environment: { ...ENVIRONMENT, ...change.environment },
    modules: new Map(change.modules),
    argumentsOf: async () => ({}),
    outcomeOf: async () => ({ ok: false, error }),
  } as unknown as ArchivedRun;
}

describe("a record that is to be replayed", () => {
  it("is replayed under the limits it ran under, its calls counted from 1", () => {
    const { limits, run } = toReplayable(archived(), PRINTER) ?? {};
    expect(limits).toMatchObject({ timeoutMs: 1_000, maxToolCalls: 1_000 });
    expect(run?.calls.map(({ seq, decision }) => [seq, decision])).toEqual([[1, "allowed"]]);
  });

  it("keeps from its program the tools that were kept from it then, and those alone", async () => {
    const text =
      'export const a = tool<A, any>("mcp__x__a\\"b"); // not available\nexport const c = tool<C, any>("mcp__x__c");\n';
    const { modules } = toReplayable(archived({ modules: [["x", text]] }), PRINTER) ?? {};
    expect(modules?.modules()).toEqual(["x"]);
    const { tools = [], ...texts } = (await modules?.load("x")) ?? {};
    expect(tools.map(({ namespacedName, isAvailable }) => [namespacedName, isAvailable])).toEqual([
      ['mcp__x__a"b', false],
      ["mcp__x__c", true],
    ]);
    expect(texts).toEqual({ text, archived: text });
    expect(await modules?.load("y")).toBeUndefined();
  });

  it.each([
    ["ToolError", "ToolError"],
    ["ApprovalDenied", "ApprovalDenied"],
    ["SomethingElse", "ToolError"],
  ])("gives programs no errors but those that there are: for %s, %s", async (errorType, type) => {
    const outcome = await toReplayable(archived({ errorType }), PRINTER)?.run.calls[0]?.outcome();
    expect(outcome).toEqual({
      ok: false,
      error: { type, server: "a", tool: "b", message: "no", retryable: false },
    });
  });

  it.each([
    [{ options: { max_output_bytes: 1e15 } }],
    [{ options: { timeout_ms: 1e12 } }],
    [{ options: { max_tool_calls: 0 } }],
    [{ options: { typecheck: "maybe" } }],
    [{ environment: { seed: "short" } }],
    [{ language: "cobol" }],
    [{ decision: "whatever" }],
  ])("is not one that ptc made when it asks for %j", (change) => {
    expect(toReplayable(archived(change), PRINTER)).toBeUndefined();
  });
});
