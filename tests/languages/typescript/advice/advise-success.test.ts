import { describe, expect, it } from "vitest";
import { adviseOnSuccess } from "../../../../languages/typescript/advice/advise-success.ts";

const NO_MODULES = { modules: () => ["github"], load: async () => undefined };

function advise(
  code: string,
  consoleText = "",
  hasResult = false,
  language = "typescript",
): Promise<string[]> {
  const program = { code, data: {}, language, fileName: "a.ts" };
  const isEmpty = !hasResult && consoleText === "";
  return adviseOnSuccess(program, { ok: true, consoleText, isEmpty }, NO_MODULES);
}

describe("a program without a result and without output", () => {
  it.each([
    ["const files = [1];\nfiles;", "globalThis.result = files"],
    ["const a: number[] = [1]; ({ a, n: a.length })", "globalThis.result = { a, n: a.length }"],
    ["await callTool('x', {});", 'globalThis.result = await callTool("x", {})'],
    ["async function main() { return 1; }\nmain();", "globalThis.result = await main()"],
    ["async function main() { return 1; }", "main is never called; write globalThis.result = await main()"],
    [
      "const files = [1];\nexport default files;",
      "what a program exports is dropped; write globalThis.result = files",
    ],
    ["export default async () => 1;", "call the function and set globalThis.result"],
    ["export default async function main() { return 1; }", "call the function and set globalThis.result"],
    ["const result = await callTool('x', {});", "write globalThis.result = result"],
    ["export const files = [1];", "what a program exports is dropped"],
    ["const x = 1;", "write globalThis.result = x, or print it"],
    ["let a = 1, b = a + 1;", "write globalThis.result = b, or print it"],
    ["module.exports = 1;", "a program is an ES module, and module.exports is dropped"],
    ["module.exports.files = 1;", "a program is an ES module, and module.exports is dropped"],
    ["exports.files = 1;", "a program is an ES module, and module.exports is dropped"],
  ])("that is %j is told how to give its value", async (code, advice) => {
    expect(await advise(code)).toEqual([expect.stringContaining(advice)]);
    expect(await advise(code)).toEqual([
      expect.stringContaining("nothing was printed and no result is set: "),
    ]);
  });

  it.each([
    "",
    "'use strict';",
    "[1].forEach((x) => x);",
    "const a: number[] = []; a.push(1);",
    "let n = 0; n++;",
    "if (true) { 1; }",
    "not a program",
  ])("that is %j is told in general how a program gives something back", async (code) => {
    expect(await advise(code)).toEqual([
      "nothing was printed and no result is set: write globalThis.result = ... for what is to come back, or print it",
    ]);
  });

  it("that has a result or output means that", async () => {
    expect(await advise("const files = [1];\nfiles;", "hello\n")).toEqual([]);
    expect(await advise("globalThis.result = 1;\nfiles;", "", true)).toEqual([]);
  });
});

describe("a program that printed", () => {
  it.each([
    ["console.log(f())", "Promise { <pending> }\n", "await the call first"],
    ["console.log(`${f()}`)", "[object Promise]\n", "await the call first"],
    [
      "const x = mcp__a__b({});\nconsole.log(JSON.stringify(x));",
      "{}\n",
      "'x' is a promise, which JSON writes as {}",
    ],
    [
      "try { await fetch(u); } catch (e) { console.log(e.message); }",
      "fetch failed\n",
      "a program has no network",
    ],
  ])("%s is told of what is not there", async (code, text, advice) => {
    expect((await advise(code, text)).join()).toContain(advice);
  });

  it.each(["const x = await mcp__a__b({});", "const x = mcp__a__b({}); await x;", "const x = f();"])(
    "an object that is empty is believed: %s",
    async (code) => {
      expect(await advise(`${code}\nconsole.log(JSON.stringify(x));`, "{}\n")).toEqual([]);
    },
  );
});
