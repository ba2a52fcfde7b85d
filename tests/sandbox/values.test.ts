import { describe, expect, test } from "vitest";
import { renderEnvelope } from "../../execution/seal.ts";
import { Envelope } from "../../protocol/envelope.ts";
import { type Ran, useRunnerProcesses } from "./real-sandboxes.ts";

const MIN_OUTPUT_BYTES = 2_048;

function errorOf({ result }: Ran): { type: string; message: string } {
  if (result.ok) throw new Error(`the program did not fail: ${JSON.stringify(result.data)}`);
  return result.error;
}

describe("the value of a program", () => {
  const run = useRunnerProcesses({
    echo: (args) => args,
    big: ({ bytes }) => ({ text: "x".repeat(Number(bytes)) }),
    getDocument: ({ documentId }) => ({ content: `text of ${documentId}` }),
  });

  test.each([
    [
      "a result",
      "console.log('noise'); globalThis.result = { a: [1, null, 'x'], b: undefined };",
      { a: [1, null, "x"] },
      "result",
    ],
    ["a result that is null", "console.log('noise'); globalThis.result = null;", null],
    ["a result that is false", "globalThis.result = false;", false],
    ["a result that is a promise", "globalThis.result = Promise.resolve(7);", 7],
    ["a date", "globalThis.result = new Date(0);", "1970-01-01T00:00:00.000Z"],
    [
      "the last console line, if it is JSON",
      "console.log('text'); console.log('{\"a\": 1}');",
      { a: 1 },
      "line",
    ],
    [
      "else all console text",
      "console.log('one'); console.error('log'); console.log('two', 2);",
      "one\ntwo 2",
      "console",
    ],
    ["nothing", "", ""],
    ["what a timer sets", "setTimeout(() => { globalThis.result = 5; }, 50);", 5],
    [
      "what un-awaited work sets",
      "async function main() { await callTool('mcp__desk__echo', {}); globalThis.result = 6; }\nmain();",
      6,
    ],
  ])("is %s, and is told with where it comes from", async (_, code, data, from?: string) => {
    const { result, resultFrom } = await run(code);
    expect(result).toMatchObject({ ok: true, data });
    if (from !== undefined) expect(resultFrom).toBe(from);
  });

  test.each([
    ["too large a BigInt", "10n ** 309n", /^result is a BigInt/],
    ["one deep inside", "{ rows: [{ id: 10n ** 309n }] }", /^result\.rows\[0\]\.id is a BigInt/],
    ["a cycle", "(() => { const a = {}; a.b = { a }; return a; })()", /^result\.b\.a refers back/],
    ["a Map", "new Map([[1, 2]])", /^result is a Map/],
    ["a Set", "{ tags: new Set([1]) }", /^result\.tags is a Set/],
    ["a function", "() => 1", /^result is a function/],
    ["a symbol", "Symbol('x')", /^result is a symbol/],
    ["an object that refuses", "{ toJSON() { throw new Error('refused'); } }", /refused/],
    ["an object with a broken getter", "{ get broken() { throw new Error('refused'); } }", /refused/],
    ["nesting without end", "JSON.parse('['.repeat(1000) + ']'.repeat(1000))", /levels/],
  ])("cannot be %s", async (_, expression, message) => {
    const ran = await run(`globalThis.result = ${expression};`);
    expect(errorOf(ran)).toMatchObject({
      type: "ResultNotSerializable",
      message: expect.stringMatching(message),
    });
  });

  test("too large says how large, and how to return less", async () => {
    const ran = await run("globalThis.result = 'x'.repeat(10 * 1024 * 1024);");
    expect(errorOf(ran).type).toBe("OutputLimit");
    expect(errorOf(ran).message).toContain(String(10 * 1024 * 1024 + 2));
    expect(errorOf(ran).message).toMatch(/return less/);
  });

  test("can be made of tool results far larger than itself", async () => {
    const { result } = await run(
      "const { text } = await callTool('mcp__desk__big', { bytes: 10 * 1024 * 1024 }); globalThis.result = text.length;",
    );
    expect(result).toMatchObject({ ok: true, data: 10_485_760, metrics: { tool_calls: 1 } });
    expect(result.metrics.tool_result_bytes).toBeGreaterThan(10_485_760);
  });

  test("comes after a thousand calls that nobody awaited", async () => {
    const { result } = await run(
      `import { echo } from "./servers/desk/index.js";
       let answered = 0;
       for (let i = 0; i < 1000; i++) echo({ i }).then(() => { globalThis.result = ++answered; });`,
    );
    expect(result).toMatchObject({ ok: true, data: 1_000, metrics: { tool_calls: 1_000 } });
  });

  test.each([
    ["control characters", "'\\u0001'"],
    ["quotes and backslashes", "'\"\\\\'"],
    ["emoji", "'\u{1f600}'"],
    ["lone surrogates", "'\\ud83d'"],
    ["line separators", "'\\u2028\\n'"],
  ])("of %s never makes the line longer than its limit", async (_, text) => {
    for (const [code, maxOutputBytes] of [
      [`console.log(${text}.repeat(20_000));`, MIN_OUTPUT_BYTES],
      [`globalThis.result = ${text}.repeat(data.count);`, 65_536],
      [`throw new Error(${text}.repeat(20_000));`, MIN_OUTPUT_BYTES],
    ] as const) {
      const ran = await run(code, {
        data: { count: Math.floor(maxOutputBytes / 9) },
        limits: { maxOutputBytes },
      });
      const line = `${renderEnvelope(ran.envelope)}\n`;
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(maxOutputBytes);
      expect(line.indexOf("\n")).toBe(line.length - 1);
      expect(Envelope.safeParse(JSON.parse(line)).success).toBe(true);
    }
  });

  test("comes out of a main function that is not awaited, as documents are processed", async () => {
    const code = `
      import * as gdrive from "./servers/desk/index.js";

      async function main() {
        console.error("Fetching document…");
        const doc = await gdrive.getDocument({ documentId: data.id });
        const text = doc.structuredContent?.content ?? JSON.stringify(doc.content);
        const summary = summarize(text);
        globalThis.result = { summary };
      }

      main().catch((e) => {
        console.error(e?.stack ?? String(e));
        process.exitCode = 1;
      });
    `;
    const summarize = "function summarize(text) { return text.toUpperCase(); }";
    const done = await run(`${code} ${summarize}`, { data: { id: "abc123" } });
    expect(done.result).toMatchObject({ ok: true, data: { summary: '"TEXT OF ABC123"' } });
    expect(done.console).toEqual({ out: "", err: "Fetching document…\n" });
    const failed = await run(code);
    expect(errorOf(failed)).toMatchObject({
      type: "ScriptError",
      message: expect.stringContaining("exitCode"),
    });
    expect(failed.console.err).toContain("ReferenceError: summarize is not defined");
  });
});
