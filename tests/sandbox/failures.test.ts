import { describe, expect, test } from "vitest";
import { type Ran, useRunnerProcesses } from "./real-sandboxes.ts";

function errorOf({ result }: Ran): { type: string; message: string } {
  if (result.ok) throw new Error(`the program did not fail: ${JSON.stringify(result.data)}`);
  return result.error;
}

describe("the failure of a program", () => {
  const run = useRunnerProcesses({
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
      "ToolError: the call was made: 'mcp__desk__fail' answered, and ptc could not read the answer: out of order\n    at program.js:9:26",
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
