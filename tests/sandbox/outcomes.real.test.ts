import { expect, test } from "vitest";
import { renderEnvelope } from "../../execution/seal.ts";
import { Envelope } from "../../protocol/envelope.ts";
import { describeSandboxed } from "./in-sandbox.ts";
import { type Ran, useRealSandboxes } from "./real-sandboxes.ts";

const MIN_OUTPUT_BYTES = 2_048;

function errorOf({ result }: Ran): { type: string; message: string } {
  if (result.ok) throw new Error(`the program did not fail: ${JSON.stringify(result.data)}`);
  return result.error;
}

describeSandboxed("the value of a program", () => {
  const run = useRealSandboxes({
    echo: (args) => args,
    big: ({ bytes }) => ({ text: "x".repeat(Number(bytes)) }),
    getDocument: ({ documentId }) => ({ content: `text of ${documentId}` }),
  });

  test.each([
    [
      "a result",
      "console.log('noise'); globalThis.result = { a: [1, null, 'x'], b: undefined };",
      { a: [1, null, "x"] },
    ],
    ["a result that is null", "console.log('noise'); globalThis.result = null;", null],
    ["a result that is false", "globalThis.result = false;", false],
    ["a result that is a promise", "globalThis.result = Promise.resolve(7);", 7],
    ["a date", "globalThis.result = new Date(0);", "1970-01-01T00:00:00.000Z"],
    ["the last console line, if it is JSON", "console.log('text'); console.log('{\"a\": 1}');", { a: 1 }],
    [
      "else all console text",
      "console.log('one'); console.error('log'); console.log('two', 2);",
      "one\ntwo 2",
    ],
    ["nothing", "", ""],
    ["what a timer sets", "setTimeout(() => { globalThis.result = 5; }, 50);", 5],
    [
      "what un-awaited work sets",
      "async function main() { await callTool('mcp__desk__echo', {}); globalThis.result = 6; }\nmain();",
      6,
    ],
  ])("is %s", async (_, code, data) => {
    expect((await run(code)).result).toMatchObject({ ok: true, data });
  });

  test.each([
    ["result", "console.log(1); globalThis.result = 2;"],
    ["line", "console.log(JSON.stringify({ a: 1 }));"],
    ["console", "console.log('text');"],
  ])("is told with where it comes from: %s", async (from, code) => {
    expect((await run(code)).resultFrom).toBe(from);
  });

  test.each([
    ["a BigInt", "1n", /^result is a BigInt/],
    ["a BigInt deep inside", "{ rows: [{ id: 1n }] }", /^result\.rows\[0\]\.id is a BigInt/],
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
    for (const code of [
      `console.log(${text}.repeat(20_000));`,
      `globalThis.result = ${text}.repeat(data.count);`,
      `throw new Error(${text}.repeat(20_000));`,
    ]) {
      for (const maxOutputBytes of [MIN_OUTPUT_BYTES, 65_536]) {
        const ran = await run(code, {
          data: { count: Math.floor(maxOutputBytes / 9) },
          limits: { maxOutputBytes },
        });
        const line = `${renderEnvelope(ran.envelope)}\n`;
        expect(Buffer.byteLength(line)).toBeLessThanOrEqual(maxOutputBytes);
        expect(line.indexOf("\n")).toBe(line.length - 1);
        expect(Envelope.safeParse(JSON.parse(line)).success).toBe(true);
      }
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

describeSandboxed("the failure of a program", () => {
  const run = useRealSandboxes({
    fail: () => {
      throw new Error("out of order");
    },
    ok: () => ({ done: true }),
  });

  test("names what was thrown, and where in the user's own file", async () => {
    const ran = await run(
      "interface Row { n: number }\nfunction inner(row: Row): never {\n  throw new TypeError('bad ' + row.n);\n}\ninner({ n: 1 });\n",
      { language: "typescript" },
    );
    expect(errorOf(ran)).toMatchObject({
      type: "ScriptError",
      message: "TypeError: bad 1\n    at inner (program.js:3:9)\n    at program.js:5:1",
    });
  });

  const CALL = `import { fail } from "./servers/desk/index.js";
function tool() { throw new TypeError("inner"); }
async function call(make: () => unknown) {
  await null;
  try { await make(); } catch (error) { return error; }
}
class Own extends Error { override name = "Own"; }
`;

  test.each([
    ["an error of its own", "tool", "TypeError: inner\n    at tool (program.js:2:25)"],
    ["an error of a class of its own", "() => { throw new Own('x'); }", "Own: x\n    at program.js:9:20"],
    [
      "the error of a tool",
      "async () => { await fail({}); }",
      "ToolError: 'mcp__desk__fail' failed inside ptc: out of order\n    at program.js:9:26",
    ],
    [
      "an error of Node's",
      "() => Buffer.alloc('x' as any)",
      "TypeError [ERR_INVALID_ARG_TYPE]: The \"size\" argument must be of type number. Received type string ('x')\n    at program.js:9:19",
    ],
    [
      "an error that came from outside",
      "() => require('node:fs/promises').readFile('/nowhere')",
      "Error: ENOENT: no such file or directory, open '/nowhere'",
    ],
    [
      "an error with a cause",
      "() => { throw new Error('outer', { cause: new Own('y') }); }",
      "Error: outer\n    at program.js:9:20",
    ],
    [
      "what ptc's own functions throw",
      "() => parallel([1 as any])",
      "TypeError: parallel: item 0 is not a function; pass () => getX(args), not getX(args)\n    at program.js:9:12",
    ],
    [
      "an abort",
      "() => AbortSignal.abort().throwIfAborted()",
      "AbortError: This operation was aborted\n    at program.js:9:24",
    ],
    [
      "what captures a stack",
      "() => { const o = {}; Error.captureStackTrace(o); throw o; }",
      "Error\n    at program.js:9:34",
    ],
  ])("shows the program only its own frames of %s", async (_, make, head) => {
    const code = `${CALL}const error: any = await call(
     ${make},
);
console.log(error, error.cause);
globalThis.result = error.stack;`;
    const { result, console: printed } = await run(code, { language: "typescript" });
    const frames = ["", "call (program.js:5:15)", "program.js:8:20"].join("\n    at ");
    const stack = make.includes("nowhere") ? frames.replace("5:15", "5:9") : frames;
    expect(result).toMatchObject({ ok: true, data: `${head}${stack}` });
    expect(printed.out).not.toMatch(/runner\.mjs|node:|program:|file:|generated:/);
  });

  test("leaves stacks to a program that prints its own", async () => {
    const code = `
const before = Error.prepareStackTrace;
Error.prepareStackTrace = (error, sites) => sites.map((site) => typeof site.getLineNumber());
const own = new Error("x").stack;
Error.prepareStackTrace = before;
const { stack } = new Error("y");
Error.prepareStackTrace = undefined;
const node = new Error("z").stack;
globalThis.result = { own: own[0], stack, node };`;
    expect((await run(code)).result).toMatchObject({
      ok: true,
      data: {
        own: "number",
        stack: "Error: y\n    at program.js:6:19",
        node: expect.stringMatching(/^Error: z\n {4}at .*program\.js:8:14/),
      },
    });
  });

  test.each([
    ["a rejection that nobody handles", "Promise.reject(new RangeError('lost'));", /^RangeError: lost/],
    ["an error in a timer", "setTimeout(() => { throw new Error('late'); }, 10);", /^Error: late/],
    ["a string", "throw 'plain';", /threw 'plain', which is not an Error/],
    ["null", "throw null;", /threw null/],
    ["undefined", "throw undefined;", /threw undefined/],
    ["an object", "throw { code: 5 };", /code: 5/],
    ["a symbol", "throw Symbol('s');", /Symbol\(s\)/],
    [
      "a result that throws when it is looked at",
      "globalThis.result = new Proxy({}, { get() { throw new Error('trap'); } });",
      /^Error: trap/,
    ],
    [
      "a proxy with throwing traps",
      "const trap = () => { throw new Error('trap'); }; throw new Proxy(new Error('x'), { get: trap, getPrototypeOf: trap, has: trap, ownKeys: trap, getOwnPropertyDescriptor: trap });",
      /./,
    ],
    [
      "an error whose message throws",
      "const e = new Error('x'); Object.defineProperty(e, 'message', { get() { throw new Error('trap'); } }); throw e;",
      /./,
    ],
    ["an error whose name is no text", "throw Object.assign(new Error('x'), { name: Symbol('n') });", /./],
    [
      "an error whose stack is no text",
      "throw Object.assign(new Error('whole'), { stack: { toString() { throw 1; } } });",
      /^Error: whole/,
    ],
    [
      "an error that says it is another",
      "throw Object.assign(new Error('x'), { name: 'Timeout', type: 'Timeout', retryable: true });",
      /^Timeout: x/,
    ],
    ["a promise that never settles", "await new Promise(() => {});", /can never settle/],
    [
      "an await without end in a function",
      "async function main() { await new Promise(() => {}); }\nawait main();",
      /can never settle/,
    ],
  ])("with %s is a ScriptError", async (_, code, message) => {
    const { type, message: told } = errorOf(await run(code));
    expect(type).toBe("ScriptError");
    expect(told).toMatch(message);
  });

  test.each([
    [
      "awaited after another call",
      "const late = fail({}); await ok({}); try { await late; } catch (error) { globalThis.result = error.name; }",
      "ToolError",
    ],
    [
      "taken after a while, in a function that nobody awaits",
      `async function main() {
         const late = fail({});
         await new Promise((resolve) => setTimeout(resolve, 100));
         globalThis.result = await late.catch((error) => error.name);
       }
       main();`,
      "ToolError",
    ],
    [
      "heard of by a listener of the program's own",
      "process.on('unhandledRejection', (reason) => { globalThis.result = reason.message; }); Promise.reject(new Error('heard'));",
      "heard",
    ],
  ])("is not a rejection that is %s", async (_, code, data) => {
    const { result } = await run(`import { fail, ok } from "./servers/desk/index.js";\n${code}`);
    expect(result).toMatchObject({ ok: true, data });
  });

  test("is not an error that a listener of the program's own takes", async () => {
    const { result } = await run(
      "process.on('uncaughtException', (error) => { globalThis.result = error.message; }); setTimeout(() => { throw new Error('heard'); }, 10);",
    );
    expect(result).toMatchObject({ ok: true, data: "heard" });
  });

  test("is the first rejection that nobody takes, whatever the program has come to", async () => {
    const ran = await run(
      `import { ok } from "./servers/desk/index.js";
       const taken = Promise.reject(new Error("taken"));
       Promise.reject(new RangeError("first"));
       Promise.reject(new Error("second"));
       await ok({});
       await taken.catch(() => {});
       globalThis.result = 1;`,
    );
    expect(errorOf(ran)).toMatchObject({
      type: "ScriptError",
      message: expect.stringMatching(/^RangeError: first/),
    });
  });

  test("stays bounded however long its message", async () => {
    const { message } = errorOf(await run("throw new Error('m'.repeat(1_000_000));"));
    expect(message.length).toBeLessThan(5_000);
    expect(message).toContain("(truncated)");
  });
});
