import { describe, expect, it } from "vitest";
import type { CallDispatcher, CallingRun } from "../../broker/dispatcher.ts";
import { limitExtracts } from "../../broker/limit-extracts.ts";

const ANSWERS: CallDispatcher = {
  dispatch: async () => ({ ok: true, data: 1, raw: {}, decision: "allowed", bytes: 1 }),
};
const RUN = {} as CallingRun;

describe("the calls of extract in one run", () => {
  it("are refused past their number, and no others", async () => {
    const limited = limitExtracts(ANSWERS, 3, 1);
    const call = async (tool: string) => (await limited.dispatch({ tool, arguments: {} }, RUN)).ok;
    const model = "mcp__ptc__extract";
    expect([await call(model), await call("mcp__a__b"), await call(model), await call(model)]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(await call("mcp__a__b")).toBe(true);
    expect(await limited.dispatch({ tool: model, arguments: {} }, RUN)).toMatchObject({
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
