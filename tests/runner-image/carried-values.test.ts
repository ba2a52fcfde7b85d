import { describe, expect, it } from "vitest";
import { missingFor, runInProcess } from "./runner-process.ts";

describe.skipIf(missingFor("python") !== "")(`the value of a Python program${missingFor("python")}`, () => {
  it("may hold exceptions, which are said in full", async () => {
    const { claim } = await runInProcess(
      "python",
      `import asyncio

async def fail(error):
    raise error

caused = ValueError("no")
caused.__cause__ = KeyError("x")
failures = [caused, ToolError("gone", server="s", tool="t"), ExceptionGroup("many", [OSError("a")])]
result = await asyncio.gather(*map(fail, failures), return_exceptions=True)`,
    );
    expect(claim).toMatchObject({
      data: [
        { name: "ValueError", message: "no", cause: { name: "KeyError", message: "'x'" } },
        { name: "ToolError", message: "gone", server: "s", tool: "t", retryable: false },
        { name: "ExceptionGroup", message: "many", errors: [{ name: "OSError", message: "a" }] },
      ],
    });
  });

  it.each([
    ['{"mean": [float("nan")]}', "result['mean'][0] is nan, which JSON cannot carry: use None, or str(x)"],
    ['float("-inf")', "result is -inf, which JSON cannot carry"],
    ["(x for x in [1])", "result is a generator, which JSON cannot carry: use list(x)"],
  ])("that is %s is not serialisable, and the message says where", async (value, message) => {
    const { claim } = await runInProcess("python", `result = ${value}`);
    expect(claim).toMatchObject({
      ok: false,
      error: { type: "ResultNotSerializable", message: expect.stringContaining(message) },
    });
  });
});

describe("the arguments of a call", () => {
  it.each<["javascript" | "python", string, string]>([
    [
      "javascript",
      'try { await callTool("mcp__a__b", { n: [NaN] }) } catch (error) { globalThis.result = error.message }',
      "arguments.n[0] is NaN",
    ],
    [
      "javascript",
      'try { await callTool("mcp__a__b", { m: new Map() }) } catch (error) { globalThis.result = error.message }',
      "arguments.m is a Map, which JSON cannot carry: use Object.fromEntries(x)",
    ],
    [
      "python",
      'try:\n    await call_tool("mcp__a__b", {"n": [float("nan")]})\nexcept ToolError as error:\n    result = error.message',
      "arguments['n'][0] is nan",
    ],
  ])(
    "in %s are refused where JSON would lose a value, and no call is made",
    async (language, code, message) => {
      if (missingFor(language) !== "") return;
      const asked: unknown[] = [];
      const { claim } = await runInProcess(language, code, { answer: async (call) => asked.push(call) });
      expect(claim).toMatchObject({
        ok: true,
        data: expect.stringContaining(`'mcp__a__b' was not called: its arguments cannot be sent: ${message}`),
      });
      expect(asked).toEqual([]);
    },
  );

  it("say errors in full", async () => {
    const asked: unknown[] = [];
    await runInProcess("javascript", 'await callTool("mcp__a__b", { why: new Error("no") });', {
      answer: async (call) => asked.push(call.arguments),
    });
    expect(asked).toEqual([{ why: { name: "Error", message: "no" } }]);
  });
});
