import { expect, test } from "vitest";
import { describeSandboxed } from "../in-sandbox.ts";
import { useRealSandboxes } from "../real-sandboxes.ts";

const TOOLS = {
  echo: (args: Record<string, unknown>) => args,
  add: ({ a, b }: Record<string, unknown>) => ({ sum: Number(a) + Number(b) }),
  fail: () => {
    throw new Error("no such desk");
  },
};

describeSandboxed("programs in Python", () => {
  const sandboxed = useRealSandboxes(TOOLS);
  const run = (code: string, data: unknown = {}) => sandboxed(code, { language: "python", data });

  test("call tools in every way that there is, and see their data", async () => {
    const { result, console } = await run(
      [
        "import asyncio, servers.desk",
        "from servers import desk",
        "from servers.desk import echo, add as plus",
        "first = await plus(a=1, b=2)",
        "others = await asyncio.gather(*[mcp__desk__add({'a': i, 'b': 1}) for i in range(3)])",
        "print('Grüße', first)",
        "outcome = await desk.fail.result()",
        "try:",
        "    await call_tool('mcp__desk__fail')",
        "except ToolError as error:",
        "    failed = [error.server, error.tool, str(error), error.retryable]",
        "result = [first, others, await servers.desk.echo({'x': 1}, from_=data), outcome['ok'], failed]",
      ].join("\n"),
      { given: [1, null] },
    );
    expect(console.out).toBe("Grüße {'sum': 3}\n");
    expect(result).toMatchObject({
      ok: true,
      data: [
        { sum: 3 },
        [{ sum: 1 }, { sum: 2 }, { sum: 3 }],
        { x: 1, from: { given: [1, null] } },
        false,
        ["", "mcp__desk__fail", expect.stringContaining("no such desk"), false],
      ],
    });
  });
});
