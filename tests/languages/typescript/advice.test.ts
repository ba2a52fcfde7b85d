import { beforeAll, describe, expect, it } from "vitest";
import type { ModuleSource } from "../../../languages/module-source.ts";
import { adviseOnFailure, adviseOnSuccess } from "../../../languages/typescript/advice.ts";
import { buildFailure, type FailureType } from "../../../protocol/failure.ts";
import { checkedModules } from "./type-check/sample-modules.ts";

let modules: ModuleSource;
beforeAll(async () => {
  modules = await checkedModules();
});

function adviseFailed(type: FailureType, message: string, code = ""): Promise<string[]> {
  const program = { code, data: {}, language: "typescript", fileName: "a.ts" };
  return adviseOnFailure(buildFailure(type, message), program, modules);
}

const IMPORT = 'import { listDirectory } from "./servers/filesystem/index.js"';
const AT = "\n    at a.ts:1:1";

describe("a program that failed", () => {
  it.each<[string, string, string]>([
    [
      "TypeError: fetch failed",
      "\nawait fetch(url);",
      "line 2: a program has no network: call a tool of a server",
    ],
    ["Error: getaddrinfo EAI_AGAIN example.com", "", "(servers: filesystem, github, my_notes, odd)"],
    ["Error: connect ENETUNREACH 1.2.3.4:80 - Local (0.0.0.0:0)", "", "a program has no network"],
    [`Error: connect ECONNREFUSED 127.0.0.1:80${AT}`, "", "localhost is the sandbox itself"],
    [`ReferenceError: listDirectory is not defined${AT}`, "", `write ${IMPORT}`],
    [`ReferenceError: list_directory is not defined${AT}`, "", `write ${IMPORT}`],
    [`ReferenceError: listDir is not defined${AT}`, "", `did you mean 'listDirectory'? write ${IMPORT}`],
    [
      `ReferenceError: listDirectory is not defined${AT}`,
      'import * as fs from "./servers/filesystem/index.js";',
      "write fs.listDirectory(...)",
    ],
    [
      `ReferenceError: filesystem is not defined${AT}`,
      "",
      'write import * as filesystem from "./servers/filesystem',
    ],
    [`ReferenceError: tools is not defined${AT}`, "", "tools are functions of modules: write import * as"],
    [`ReferenceError: module is not defined${AT}`, "", "write `globalThis.result = ...`"],
    [`ReferenceError: print is not defined${AT}`, "", "write `console.log(...)`"],
    [
      "Error: Cannot find module './servers/filesystem/index.js'\nRequire stack:",
      "",
      'write import * as filesystem from "./servers/filesystem/index.js"',
    ],
    ["Error: Cannot find module 'lodash'\nRequire stack:", "", "there are no packages in the sandbox"],
    [
      "Error: Cannot find module './servers/filesistem/index.js'\nRequire stack:",
      "",
      "use the modules of Node.js and of servers",
    ],
    [
      `Error: ENOENT: no such file or directory, open '/home/me/a.csv'${AT}`,
      'readFileSync("/home/me/a.csv")',
      "a program does not see the files of the host: pass what it needs as data",
    ],
    [
      `Error: EROFS: read-only file system, open '/etc/a'${AT}`,
      'writeFileSync("/etc/a", "")',
      "a program may write in /workspace only",
    ],
    [`Error: spawnSync /bin/sh ENOENT${AT}`, "", "there are no other programs in the sandbox"],
    [`Error: unable to open database file${AT}`, "", "a program does not see the files of the host"],
    [
      `TypeError: Cannot read properties of undefined (reading 'length')${AT}`,
      "data.items.length",
      "no data was passed in, so `data` is empty",
    ],
    [
      `TypeError: Cannot read properties of undefined (reading 'text')${AT}`,
      "(await mcp__github__whoami({})).content.text",
      "a tool's function returns its data itself, not an MCP result",
    ],
  ])("with %j is told what to do", async (message, code, advice) => {
    expect((await adviseFailed("ScriptError", message, code)).join("\n")).toContain(advice);
  });

  const SERVERS = " (servers: filesystem, github, my_notes, odd)";
  const NO_NETWORK = `a program has no network: call a tool of a server instead${SERVERS}`;
  const NO_PROGRAMS = `there are no other programs in the sandbox, and no shell: use Node.js, or call a tool of a server${SERVERS}`;
  const NO_FILES =
    "a program does not see the files of the host: pass what it needs as data (the argument `data`, or --data), or read it with a tool of a server";
  const NO_WRITING =
    "a program may write in /workspace only, which is gone when it ends: to keep something, set globalThis.result or call a tool of a server";
  const NO_PACKAGES =
    "there are no packages in the sandbox, and a program is one file: use the modules of Node.js and of servers";

  it.each<[error: string, code: string, advice: string]>([
    ["fetch failed", "", NO_NETWORK],
    ["getaddrinfo ENOTFOUND a.example", "", NO_NETWORK],
    ["queryA ENOTFOUND a.example", "", NO_NETWORK],
    ["queryMx ECONNREFUSED a.example", "", NO_NETWORK],
    ["connect ENETUNREACH 1.2.3.4:80", "", NO_NETWORK],
    ["send ENETUNREACH 1.2.3.4:53", "", NO_NETWORK],
    ["bind EACCES 0.0.0.0:80", "", NO_NETWORK],
    ["listen EACCES: permission denied 0.0.0.0:80", "", NO_NETWORK],
    ["spawn git ENOENT", "", NO_PROGRAMS],
    ["spawnSync git ENOENT", "", NO_PROGRAMS],
    ["Command failed: git status", "", NO_PROGRAMS],
    ["Cannot find module 'lodash'", "", NO_PACKAGES],
    ["Cannot find package 'lodash' imported from /program.mjs", "", NO_PACKAGES],
    ["ENOENT: no such file or directory, open '/home/a'", "", NO_FILES],
    ["ENOENT: no such file or directory, open '/home/a'", "await writeFile(path, text)", NO_WRITING],
    ["ENOENT: no such file or directory, open '/workspace/a/b'", "await writeFile(path, text)", NO_FILES],
    ["EROFS: read-only file system, mkdir '/srv/a'", "mkdirSync('/srv/a')", NO_WRITING],
    ["EACCES: permission denied, open '/etc/shadow'", "", NO_FILES],
    ["EPERM: operation not permitted, rename '/a' -> '/b'", "fs.renameSync('/a', '/b')", NO_WRITING],
    ["unable to open database file", "", NO_FILES],
  ])(
    "with '%s' of Node.js is told what the sandbox lacks, and not where a server says so",
    async (error, code, advice) => {
      for (const name of ["", "Error: ", "SystemError: "])
        expect(await adviseFailed("ScriptError", `${name}${error}${AT}`, code)).toEqual([advice]);
      for (const said of [`Error: it said: ${error}`, `Error: '${error}'`, `Error: no\n${error}`])
        expect(await adviseFailed("ScriptError", `${said}${AT}`, code)).toEqual([]);
    },
  );

  it("is told that there are no credentials where it reads one, whatever else went wrong", async () => {
    const code = "const { a } = process.env; await mcp__github__whoami({ key: process.env.GITHUB_TOKEN });";
    expect(
      await adviseFailed("ToolError", "'mcp__github__whoami' was not called: arguments.key is missing", code),
    ).toEqual([
      expect.stringMatching(
        /^process\.env\.GITHUB_TOKEN is not set in the sandbox: a program has no credentials/,
      ),
    ]);
    expect(await adviseFailed("ToolError", "x", "if (process.env.DEBUG) console.log(1);")).toEqual([]);
  });

  it("is told which tool it may have meant, and never one that it may not call", async () => {
    const unavailable = (name: string) =>
      adviseFailed("ToolError", `'${name}' is not available in execute_program${AT}`);
    expect(await unavailable("github.whoAmI")).toEqual([
      `there is no tool 'github.whoAmI'; did you mean callTool("mcp__github__whoami", args)?`,
    ]);
    expect(await unavailable("drop_repo")).toEqual([]);
    expect(await unavailable("mcp__github__whoami")).toEqual([]);
  });

  it("is told how a call gets more time", async () => {
    const message =
      "'mcp__github__whoami' failed: server 'github' did not answer within 30 s; it may still be at work";
    expect((await adviseFailed("ToolError", message)).join()).toContain("`call_timeout_seconds`");
  });

  it("is not told of its own limits for an error that a server quotes, or that it made up", async () => {
    expect(
      await adviseFailed("ToolError", "'mcp__github__whoami' failed: connect ECONNREFUSED 127.0.0.1:80"),
    ).toEqual([]);
    expect(await adviseFailed("ScriptError", `Error: no answer: fetch failed${AT}`)).toEqual([]);
    expect(await adviseFailed("ScriptError", `Error: ${"x".repeat(3_000)}`)).toEqual([]);
    const unknownTool = `ReferenceError: mcp__github__search_codes is not defined${AT}`;
    expect(await adviseFailed("ScriptError", unknownTool)).toEqual([]);
  });
});

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
    ["const x = { a: 1 };\nx.a;", "globalThis.result = x.a"],
    ["const n = 1;\n[n, n];", "globalThis.result = [n, n]"],
    ["const n = 1;\n`n ${n}`;", "globalThis.result = `n ${n}`"],
    ["const n = 1;\nn + 1;", "globalThis.result = n + 1"],
    ["const n = 1;\nn ? 2 : 3;", "globalThis.result = n ? 2 : 3"],
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
  ])("%s learns what is not there", async (code, text, advice) => {
    expect((await advise(code, text)).join()).toContain(advice);
  });

  it.each(["const x = await mcp__a__b({});", "const x = mcp__a__b({}); await x;", "const x = f();"])(
    "an object that is empty is believed: %s",
    async (code) => {
      expect(await advise(`${code}\nconsole.log(JSON.stringify(x));`, "{}\n")).toEqual([]);
    },
  );
});
