import { beforeAll, describe, expect, it } from "vitest";
import type { ModuleSource } from "../../../languages/module-source.ts";
import { advisePythonFailure, advisePythonSuccess } from "../../../languages/python/advice.ts";
import { buildFailure, type FailureType } from "../../../protocol/failure.ts";
import { sampleStubs } from "./type-check/sample-stubs.ts";

let modules: ModuleSource;
beforeAll(async () => {
  modules = await sampleStubs();
});

const program = (code: string, data: unknown = {}) => ({ code, data, language: "python", fileName: "a.py" });
const traced = (line: string) =>
  `Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    NameError: name 'json' is not defined\n${line}`;
const advise = (type: FailureType, message: string, code = "") =>
  advisePythonFailure(buildFailure(type, message), program(code), modules);

describe("a program in Python that failed", () => {
  it.each<[line: string, code: string, advice: string]>([
    ["NameError: name 'json' is not defined", "", "write `import json` first"],
    ["NameError: name 'null' is not defined", "", "write `None`"],
    ["NameError: name 'console' is not defined", "", "write `print(...)`"],
    ["NameError: name 'github' is not defined", "", "write `from servers import github` first"],
    [
      "NameError: name 'tools' is not defined",
      "",
      "tools are functions of modules: write `from servers import",
    ],
    ["NameError: name 'search_code' is not defined", "", "write from servers.github import search_code"],
    [
      "NameError: name 'search_code' is not defined",
      "import servers.github as gh",
      "write gh.search_code(...)",
    ],
    [
      "AttributeError: module 'servers.github' has no attribute 'serch_code'",
      "",
      "did you mean servers.github.search_code?",
    ],
    [
      "ImportError: cannot import name 'serch_code' from 'servers.github' (unknown location)",
      "",
      "did you mean servers.github.search_code?",
    ],
    ["ModuleNotFoundError: No module named 'servers.gihub'", "", "did you mean servers.github?"],
    ["ModuleNotFoundError: No module named 'requests'", "", "a program has no network: call a tool"],
    ["ModuleNotFoundError: No module named 'pandas'", "", "`sandbox.python_packages` in ptc.yaml"],
    ["ModuleNotFoundError: No module named 'github'", "", "write `from servers import github`"],
    ["ConnectionRefusedError: [Errno 111] Connection refused", "", "localhost is the sandbox itself"],
    ["socket.gaierror: [Errno -3] Temporary failure in name resolution", "", "a program has no network"],
    ["FileNotFoundError: [Errno 2] No such file or directory: 'git'", "", "there are no other programs"],
    [
      "FileNotFoundError: [Errno 2] No such file or directory: '/home/a'",
      "",
      "does not see the files of the host",
    ],
    ["OSError: [Errno 30] Read-only file system: '/a'", "open('/a', 'w')", "may write in /workspace only"],
    ["TypeError: 'coroutine' object is not iterable", "", "write `await` before it"],
    ["KeyError: 'month'", "data['month']", "no data was passed in, so `data` is empty"],
    ["KeyError: 'content'", "mcp__a__b()['content']", "a tool's function returns its data itself"],
    ["SyntaxError: invalid syntax", "const x = { a: 1 };", "if this is not Python, say so"],
    ["KeyError: 'API_KEY'", "import os\nos.environ['API_KEY']", "API_KEY is not set in the sandbox"],
  ])("is told what to do about %s", async (line, code, advice) => {
    const lines = await advise("ScriptError", traced(line), code);
    expect(lines.join("\n")).toContain(advice);
    expect(lines).toHaveLength(1);
  });

  it("is told that an interpreter without packages has none", async () => {
    const error = buildFailure("ScriptError", traced("ModuleNotFoundError: No module named 'pandas'"));
    const lines = await advisePythonFailure(error, program(""), modules, { platform: "wasm" });
    expect(lines).toEqual([
      expect.stringContaining("no packages: `sandbox.python_packages` needs an engine"),
    ]);
  });

  const servers = () => ` (servers: ${modules.modules().join(", ")})`;
  const noNetwork = () => `a program has no network: call a tool of a server instead${servers()}`;
  const NO_WRITING =
    "a program may write in /workspace only, which is gone when it ends: to keep something, set result or call a tool of a server";
  const NO_FILES =
    "a program does not see the files of the host: pass what it needs as data (the argument `data`, or --data), or read it with a tool of a server";

  it.each([
    ...["requests", "httpx", "aiohttp", "urllib3", "websockets", "mcp", "fastmcp", "openai", "anthropic"],
    "requests.auth",
  ])("is told that there is no network where it imports %s", async (name) => {
    const line = `ModuleNotFoundError: No module named '${name}'`;
    expect(await advise("ScriptError", traced(line))).toEqual([noNetwork()]);
  });

  it.each([
    "socket.gaierror: [Errno -2] Name or service not known",
    "urllib.error.URLError: <urlopen error [Errno 101] Network is unreachable>",
    "http.client.ConnectionError: no",
    "httpx.ConnectError: no",
    "OSError: [Errno 101] Network is unreachable",
    "OSError: [Errno 99] Cannot assign requested address",
    "OSError: [Errno 97] Address family not supported by protocol",
    "my.OwnError: Temporary failure in name resolution",
  ])("is told that there is no network after '%s', and not where it only quotes that", async (line) => {
    expect(await advise("ScriptError", traced(line))).toEqual([noNetwork()]);
    expect(await advise("ScriptError", traced(`ValueError: 1 ${line.replace(/: .*/, "")}`))).toEqual([]);
  });

  it.each(["sh", "/bin/sh", "bash", "curl", "git", "node", "npm", "pip"])(
    "is told that there are no other programs where it starts %s",
    async (name) => {
      const line = `FileNotFoundError: [Errno 2] No such file or directory: '${name}'`;
      expect(await advise("ScriptError", traced(line))).toEqual([
        `there are no other programs in the sandbox, and no shell: use Python, or call a tool of a server${servers()}`,
      ]);
    },
  );

  it.each([
    ["OSError: [Errno 30] Read-only file system: '/a'", "", NO_WRITING],
    ["PermissionError: [Errno 13] Permission denied: '/a'", "", NO_WRITING],
    ["PermissionError: [Errno 1] Operation not permitted: '/a'", "", NO_WRITING],
    ["FileNotFoundError: [Errno 2] No such file or directory: '/a/b'", "", NO_FILES],
    ["FileNotFoundError: [Errno 2] No such file or directory: '/a/b'", "open(path)", NO_FILES],
    ["FileNotFoundError: [Errno 2] No such file or directory: '/a/b'", "open(path, 'w')", NO_WRITING],
    ["FileNotFoundError: [Errno 2] No such file or directory: '/a/b'", 'open(path, mode="a")', NO_WRITING],
    ["FileNotFoundError: [Errno 2] No such file or directory: '/a/b'", "p.write_text(t)", NO_WRITING],
    ["FileNotFoundError: [Errno 2] No such file or directory: '/a/b'", "os.makedirs(d)", NO_WRITING],
    ["OSError: [Errno 28] No space left on device", "", undefined],
  ])("is told after '%s' of '%s' which files there are", async (line, code, advice) => {
    expect(await advise("ScriptError", traced(line), code)).toEqual(advice === undefined ? [] : [advice]);
  });

  it("learns of the tool that it may have meant, and where calls get more time", async () => {
    const unknown = "ToolError: 'mcp__filesystem__serch_code' is not available in execute_program";
    expect(await advise("ToolError", traced(unknown))).toEqual([
      "there is no tool 'mcp__filesystem__serch_code'; did you mean servers.github.search_code?",
    ]);
    const forbidden = "ToolError: 'mcp__github__search_code' is not available in execute_program";
    expect(await advise("ToolError", traced(forbidden))).toEqual([]);
    const slow = "ToolError: 'mcp__a__b' failed: server 'a' did not answer within 60 s";
    expect((await advise("ToolError", traced(slow))).join()).toContain("`call_timeout_seconds`");
    expect(await advise("ResultNotSerializable", "result is a function")).toEqual([
      "call the function, and set result to what it returns",
    ]);
  });

  it("is told nothing where nothing is known", async () => {
    for (const line of [
      "ValueError: name 'json' is not defined",
      "KeyError: 'a'",
      "NameError: name 'zzzz' is not defined",
      "NameError: name 'mcp__github__search_codes' is not defined",
    ])
      expect(await advise("ScriptError", traced(line), "x = 1")).toEqual([]);
    expect(await advise("Timeout", "NameError: name 'json' is not defined")).toEqual([]);
  });
});

describe("a program in Python that gave nothing back", () => {
  const ended = (code: string, consoleText = "") =>
    advisePythonSuccess(program(code), { ok: true, consoleText, isEmpty: consoleText === "" }, modules);

  it.each([
    ["async def main():\n    return 1\n", "main is never called; end the program with await main()"],
    ["def main():\n    return 1\n", "main is never called; end the program with main()"],
    ["rows = [1]\ntotal = sum(rows)", "end the program with total, or print it"],
  ])("is told how it could: %j", async (code, advice) => {
    expect(await ended(code)).toEqual([`nothing was printed and no result is set: ${advice}`]);
  });

  it("learns of a call that was printed and not awaited, of no network, and otherwise how to give something back", async () => {
    expect(await ended("print(f())", "<coroutine object f at 0x1>")).toEqual([
      "a call was printed and not its value: await it first",
    ]);
    expect(
      (await ended("x", "<urlopen error [Errno -3] Temporary failure in name resolution>"))[0],
    ).toContain("a program has no network");
    for (const code of [
      "x == 1",
      "def f(): pass\nf()",
      'if __name__ == "__main__":\n    x = 1',
      "'''\ndef f(): pass\n'''",
    ])
      expect(await ended(code)).toEqual([
        "nothing was printed and no result is set: end the program with what is to come back, or print it",
      ]);
    expect(await ended("x = 1", "hello")).toEqual([]);
  });
});
