import { expect, test } from "vitest";
import { describeSandboxed } from "./in-sandbox.ts";
import { useRealSandboxes } from "./real-sandboxes.ts";

/** What other files try over the channel that this machine's engine has; here it goes over the attached stdin and stdout. */
const ATTACHED = { channel: "attached" } as const;

describeSandboxed("a program whose channel goes over the attached stdin and stdout", () => {
  const run = useRealSandboxes(
    {
      echo: (args) => args,
      never: () => new Promise(() => {}),
      big: ({ bytes }) => ({ text: "x".repeat(Number(bytes)) }),
    },
    ATTACHED,
  );

  test("has its value, its output and its calls", async () => {
    const { result, console } = await run(
      `import { echo } from "./servers/desk/index.js";
       console.log("out");
       console.error("err");
       globalThis.result = [await echo({ a: 1 }), process.argv.length, process.env.TZ];`,
    );
    expect(result).toMatchObject({ ok: true, data: [{ a: 1 }, 2, "UTC"], metrics: { tool_calls: 1 } });
    expect(console).toEqual({ out: "out\n", err: "err\n" });
  });

  test("in Python has them too, and sends and gets far more than either side holds", async () => {
    const { result, console, emitted } = await run(
      [
        "import sys",
        "from servers.desk import echo, big",
        "print('out')",
        "print('err', file=sys.stderr)",
        "emit({'type': 'text', 'text': 'emitted'})",
        "text = big(bytes=10 * 1024 * 1024)['text']",
        "back = echo(text=text[:8 * 1024 * 1024])['text']",
        "result = [echo(a=1), parallel([lambda i=i: echo(i=i)['i'] for i in range(20)]), len(text), len(back)]",
      ].join("\n"),
      { language: "python" },
    );
    const numbers = Array.from({ length: 20 }, (_, index) => index);
    expect(result).toMatchObject({
      ok: true,
      data: [{ a: 1 }, numbers, 10_485_760, 8_388_608],
      metrics: { tool_calls: 23 },
    });
    expect(console).toEqual({ out: "out\n", err: "err\n" });
    expect(emitted).toEqual([{ type: "text", text: "emitted" }]);
  });

  test("sends and gets far more than either side holds", async () => {
    const { result } = await run(
      `const { text } = await callTool("mcp__desk__big", { bytes: 10 * 1024 * 1024 });
       const back = await callTool("mcp__desk__echo", { text: text.slice(0, 8 * 1024 * 1024) });
       globalThis.result = [text.length, back.text.length];`,
    );
    expect(result).toMatchObject({ ok: true, data: [10_485_760, 8_388_608] });
  });

  test("makes a thousand calls that nobody awaits", async () => {
    const { result } = await run(
      `import { echo } from "./servers/desk/index.js";
       let answered = 0;
       for (let i = 0; i < 1000; i++) echo({ i }).then(() => { globalThis.result = ++answered; });`,
    );
    expect(result).toMatchObject({ ok: true, data: 1_000, metrics: { tool_calls: 1_000 } });
  });

  test("corrupts nothing but its own claim when it writes to stdout", async () => {
    const { result } = await run(
      `import { openSync, writeSync } from "node:fs";
       const stdout = openSync("/proc/" + process.pid + "/fd/1", "w");
       const frame = Buffer.from("d\\x00\\x00\\x00\\x04abcdw\\xff\\xff\\xff\\xffx", "latin1");
       globalThis.result = [];
       for (let i = 0; i < 100; i++) { writeSync(2, frame); await callTool("mcp__desk__echo", { i }); }
       writeSync(stdout, frame);`,
    );
    expect(result).toMatchObject({
      ok: false,
      error: { type: "ContractViolation" },
      metrics: { tool_calls: 100 },
    });
  });

  test.each([
    ["globalThis.result = 1; process.abort();", "ContractViolation"],
    ["process.kill(process.pid, 'SIGKILL'); setInterval(() => {}, 1000);", "ContractViolation"],
    ["for (;;) await callTool('mcp__desk__echo', {}).catch(() => {});", "Timeout"],
    ["for (;;) {}", "Timeout"],
    ["const held = []; for (;;) held.push(Buffer.alloc(32 * 1024 * 1024, 1));", "OutOfMemory"],
    [
      "import { openSync, writeSync } from 'node:fs'; const out = openSync('/proc/' + process.pid + '/fd/1', 'w'); for (;;) writeSync(out, 'x'.repeat(65536));",
      "ContractViolation",
    ],
    ["throw new RangeError('here');", "ScriptError"],
  ])("ends as with a socket: %s", async (code, type) => {
    const timeoutMs = type === "Timeout" ? 1_500 : 60_000;
    expect((await run(code, { limits: { timeoutMs } })).result).toMatchObject({ ok: false, error: { type } });
  });

  test("is heard while the host takes no more of its calls", async () => {
    const { result, console } = await run(
      `const text = "x".repeat(100_000);
       for (let i = 0; i < 600; i++) callTool("mcp__desk__never", { text }).catch(() => {});
       console.log("still heard");
       globalThis.result = "done";
       setTimeout(() => process.exit(0), 500);`,
      { limits: { timeoutMs: 60_000 } },
    );
    expect({ result, console }).toMatchObject({
      result: { ok: true, data: "done" },
      console: { out: "still heard\n" },
    });
  });
});
