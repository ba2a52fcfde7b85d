import { expect, test } from "vitest";
import { describeSandboxed } from "../in-sandbox.ts";
import { type DeskTool, useRealSandboxes } from "../real-sandboxes.ts";

const TOOLS: Record<string, DeskTool> = {
  echo: (args) => args,
  add: ({ a, b }) => ({ sum: Number(a) + Number(b) }),
  "resources/read": ({ uri }) => ({ contents: [{ uri, blob: "iVBORw0KGgo=" }] }),
  fail: () => {
    throw new Error("no such desk");
  },
};

describeSandboxed("programs in Python", () => {
  const sandboxed = useRealSandboxes(TOOLS);
  const run = (code: string, data: unknown = {}) => sandboxed(code, { language: "python", data });

  test("call tools in every way that there is, see their data, emit, and end with a last line of JSON", async () => {
    const { result, console, emitted, resultFrom } = await run(
      [
        "import asyncio, json, servers.desk",
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
        "image = bytes_of(await desk.resources.read(uri='desk:///logo'))",
        "emit('a note')",
        "emit(image, mime_type='image/png')",
        "try:",
        "    emit(b'', 'image/png')",
        "except ValueError as error:",
        "    refused = str(error)",
        "echoed = await servers.desk.echo({'x': 1}, from_=data)",
        "print(json.dumps([first, others, echoed, outcome['ok'], failed, len(image), refused]))",
      ].join("\n"),
      { given: [1, null] },
    );
    expect(console.out).toMatch(/^Grüße \{'sum': 3\}\n\[.*\]\n$/);
    expect(resultFrom).toBe("line");
    expect(emitted).toEqual([
      { type: "text", text: "a note" },
      { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
    ]);
    expect(result).toMatchObject({
      ok: true,
      data: [
        { sum: 3 },
        [{ sum: 1 }, { sum: 2 }, { sum: 3 }],
        { x: 1, from: { given: [1, null] } },
        false,
        ["desk", "fail", expect.stringContaining("no such desk"), false],
        8,
        "emit: there are no bytes",
      ],
    });
  });

  test("without await block in calls, and share them among threads and processes", async () => {
    const { result, console } = await run(
      [
        "import multiprocessing, os, sys, threading, time",
        "from concurrent.futures import ThreadPoolExecutor",
        "from zoneinfo import ZoneInfo",
        "from datetime import datetime",
        "lock = threading.Lock()",
        "def plus(i):",
        "    with lock:",
        "        time.sleep(0.001)",
        "        return mcp__desk__add(a=i, b=1)['sum']",
        "def double(x):",
        "    return 2 * x",
        "with ThreadPoolExecutor(4) as pool:",
        "    pooled = list(pool.map(plus, range(6)))",
        "with multiprocessing.get_context('fork').Pool(2) as pool:",
        "    doubled = pool.map(double, [1, 2, 3])",
        "reader, writer = os.pipe()",
        "read = []",
        "thread = threading.Thread(target=lambda: read.append(os.read(reader, 9)))",
        "thread.start()",
        "time.sleep(0.01)",
        "os.write(writer, b'piped')",
        "thread.join()",
        "print('to the log', file=sys.stderr)",
        "offset = datetime(2026, 7, 1, tzinfo=ZoneInfo('Europe/Vienna')).isoformat()",
        "return [parallel([lambda i=i: plus(i) for i in range(4)], limit=2), pooled, doubled, read[0].decode(), offset]",
      ].join("\n"),
    );
    expect(result).toMatchObject({
      ok: true,
      data: [[1, 2, 3, 4], [1, 2, 3, 4, 5, 6], [2, 4, 6], "piped", "2026-07-01T00:00:00+02:00"],
    });
    expect(console).toEqual({ out: "", err: "to the log\n" });
  });

  test("run their own event loop beside await at the top level, and end with their last expression", async () => {
    const { result } = await run(
      [
        "import asyncio, sys",
        "async def one(n):",
        "    return (await mcp__desk__add(a=n, b=1))['sum']",
        "first = await one(1)",
        "second = asyncio.run(one(2))",
        "async with asyncio.TaskGroup() as group:",
        "    third = group.create_task(one(3))",
        "try:",
        "    async with asyncio.timeout(0.001):",
        "        await asyncio.sleep(60)",
        "except TimeoutError:",
        "    late = True",
        "script = await asyncio.create_subprocess_exec(sys.executable, '-c', 'print(5)', stdout=asyncio.subprocess.PIPE)",
        "output, _ = await script.communicate()",
        "[first, second, third.result(), late, int(output), await asyncio.to_thread(lambda: 6)]",
      ].join("\n"),
    );
    expect(result).toMatchObject({ ok: true, data: [2, 3, 4, true, 5, 6] });
  });

  test("end with a traceback of their own lines", async () => {
    const { result } = await run(
      ["import json", "def read(text):", "    return json.loads(text)", "", "print(read('{'))"].join("\n"),
    );
    expect(result).toMatchObject({
      ok: false,
      error: {
        type: "ScriptError",
        message: [
          "Traceback (most recent call last):",
          '  File "program.py", line 5, in <module>',
          "    print(read('{'))",
          "          ^^^^^^^^^",
          '  File "program.py", line 3, in read',
          "    return json.loads(text)",
          "           ^^^^^^^^^^^^^^^^",
          "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ].join("\n"),
      },
    });
  });

  test("that wait for nothing fail at once, as does a call that nobody awaits", async () => {
    const stuck = await run("import asyncio\nawait asyncio.get_running_loop().create_future()");
    expect(stuck.result).toMatchObject({
      ok: false,
      error: { type: "ScriptError", message: expect.stringContaining("can never happen") },
    });
    const lost = await run("mcp__desk__fail(a=1)\nasync def unused(): ...\nprint('on')");
    expect(lost.result).toMatchObject({
      ok: false,
      error: { type: "ToolError", message: expect.stringContaining("no such desk") },
    });
  });
});
