import { afterEach, describe, expect, it } from "vitest";
import { missingFor, type RunnerLanguage } from "./runner-process.ts";
import { ALL_LEFTOVERS, IMPOSTOR, LATE_WRITES, NEXT } from "./session-attacks.ts";
import { SessionOfPrograms } from "./session-programs.ts";

let sessions: SessionOfPrograms[] = [];

function open(language: RunnerLanguage): SessionOfPrograms {
  const session = new SessionOfPrograms(language);
  sessions.push(session);
  return session;
}

afterEach(async () => {
  await Promise.all(sessions.map(({ kept }) => kept.close()));
  sessions = [];
});

describe(`a session of programs in Python${missingFor("python")}`, {
  skip: missingFor("python") !== "",
}, () => {
  it("keeps names, imports and files from program to program, and no value", async () => {
    const session = open("python");
    expect(
      await session.value(
        "import json as j\nx = [1]\ndef f():\n    return x\nopen('kept', 'w').write('yes')\nresult = 1",
      ),
    ).toBe(1);
    expect(await session.value("x.append(2)\nx = x + [3]\nprint(j.dumps(f()), open('kept').read())")).toBe(
      "[1, 2, 3] yes",
    );
    expect(await session.value("'result' in globals()")).toBe(false);
    expect([session.engine.started, session.engine.live.size]).toEqual([1, 1]);
  });

  it("goes on after a program that failed, with what it had got to", async () => {
    const session = open("python");
    expect(await session.value("a = 1\nraise ValueError('no')\nb = 2")).toContain("ScriptError: Traceback");
    expect(await session.value("[a, 'b' in globals()]")).toEqual([1, false]);
    expect(await session.value("import sys\nsys.exit(3)")).toContain("SystemExit");
    expect(await session.value("a")).toBe(1);
  });

  it("lets nothing of a program go on in the next: tasks, threads, pools and calls", async () => {
    const session = open("python");
    const first = `
import asyncio, threading, time
from concurrent.futures import ThreadPoolExecutor
seen = []
def poll():
    while True:
        time.sleep(0.01)
        seen.append(1)
        call_tool("mcp__desk__late", {})
threading.Thread(target=poll, daemon=True).start()
async def again():
    while True:
        await asyncio.sleep(0.01)
        seen.append(2)
task = asyncio.ensure_future(again())
pool = ThreadPoolExecutor()
print(pool.submit(lambda: 7).result())
await asyncio.to_thread(lambda: 8)
raise ValueError("ends here") if False else None
`.replace(/raise.*\n/, "");
    expect(await session.value(first)).toBe(7);
    const calls = session.called[0]?.length ?? 0;
    const next =
      "n = len(seen)\nimport time\ntime.sleep(0.2)\nx = call_tool('mcp__desk__own', {'a': 1})\n[len(seen) - n, task.cancelled(), x]";
    expect(await session.value(next)).toEqual([0, true, { a: 1 }]);
    expect(session.called.map((each) => each.length)).toEqual([calls, 1]);
  });

  it("has each program wait in its own way, and functions of earlier ones in theirs", async () => {
    const session = open("python");
    await session.run(
      "def ask(n):\n    return call_tool('mcp__desk__echo', {'n': n})['n']\nasync_ = False".replace(
        "async_ = False",
        "pass",
      ),
    );
    expect(await session.value("[ask(1), (await call_tool('mcp__desk__echo', {'n': 2}))['n']]")).toEqual([
      1, 2,
    ]);
    expect(await session.value("ask(3)")).toBe(3);
  });
});

describe("a session of programs in TypeScript", () => {
  it("keeps names, imports and files from program to program, and no value", async () => {
    const session = open("javascript");
    const first = `
import { writeFileSync } from "node:fs";
import * as path from "node:path";
interface Point { x: number }
const p: Point = { x: 1 };
let total = 0;
export const shown = "shown";
const { a, b: [c, ...rest] } = { a: 1, b: [2, 3, 4] };
function add(n: number) { total += n; return total; }
class Box { constructor(readonly v: number) {} }
enum Color { Red, Green }
for (var i = 0; i < 3; i++);
writeFileSync("kept", "yes");
globalThis.result = add(1);
`;
    expect(await session.value(first)).toBe(1);
    const second = `
import { readFileSync } from "node:fs";
total += 10;
globalThis.result = [p.x, add(1), a, c, rest, new Box(5).v, Color.Green, i, shown, typeof path.join, typeof writeFileSync, readFileSync("kept", "utf8"), typeof p];
`;
    expect(await session.value(second)).toEqual([
      1,
      12,
      1,
      2,
      [3, 4],
      5,
      1,
      3,
      "shown",
      "function",
      "function",
      "yes",
      "object",
    ]);
    expect(await session.value("const p = 'again'; const add = 1; globalThis.result = [p, total];")).toEqual([
      "again",
      12,
    ]);
    expect(await session.value("globalThis.result = [p, typeof globalThis.result];")).toEqual([
      "again",
      "undefined",
    ]);
    expect([session.engine.started, session.engine.live.size]).toEqual([1, 1]);
  });

  it("goes on after a program that failed, with what it had got to, and tells places as they are", async () => {
    const session = open("javascript");
    await session.run("const b = 'before'; const f = () => {\n  throw new Error('in f');\n};");
    expect(await session.value("const a = 1;\nthrow new Error('no');\nconst b = 2;")).toBe(
      "ScriptError: Error: no\n    at program.ts:2:7",
    );
    expect(await session.value("globalThis.result = [a, b];")).toEqual([1, "before"]);
    expect(await session.value("\n  f();")).toBe(
      "ScriptError: Error: in f\n    at f (program.ts:2:9)\n    at program.ts:2:3",
    );
    expect(await session.value("a = 5")).toContain("TypeError");
  });

  it("lets nothing of a program go on in the next: timers, calls, output and rejections", async () => {
    const session = open("javascript");
    const first = `
import { spawn } from "node:child_process";
globalThis.seen = [];
setInterval(() => seen.push("interval"), 5).unref();
const child = spawn("sleep", ["0.3"]);
child.unref();
child.on("exit", async () => {
  console.log("late text");
  emit("late block");
  setTimeout(() => seen.push("set late"), 1);
  await callTool("mcp__desk__late", {}).catch((error) => seen.push(error.message));
  Promise.reject(new Error("late rejection"));
});
process.on("beforeExit", () => seen.push("exit"));
throw new Error("ends while another process runs");
`;
    expect(await session.value(first)).toContain("ends while another process runs");
    const next = `
const n = seen.length;
while (seen.length === n) await new Promise((resolve) => setTimeout(resolve, 10));
await new Promise((resolve) => setTimeout(resolve, 50));
await callTool("mcp__desk__own", {});
globalThis.result = seen.slice(n);
`;
    const executed = await session.run(next);
    const { result } = executed.envelope;
    const late = "'mcp__desk__late' was not called: the program that it belongs to has ended";
    expect(result.ok && result.data).toEqual([late]);
    expect([executed.consoleText, executed.emitted]).toEqual(["", []]);
    expect(result.metrics.tool_calls).toBe(1);
    expect(session.called).toEqual([[], ["mcp__desk__own"]]);
  });

  it("ends the threads of a program with it", async () => {
    const session = open("javascript");
    const first = `import { Worker } from "node:worker_threads";
const count = new Int32Array(new SharedArrayBuffer(4));
const text = "const { workerData } = require('node:worker_threads'); setInterval(() => Atomics.add(workerData, 0, 1), 1)";
new Worker(text, { eval: true, workerData: count }).unref();
while (Atomics.load(count, 0) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
globalThis.result = 1;`;
    expect(await session.value(first)).toBe(1);
    const next = `let before = -1;
while (before !== Atomics.load(count, 0)) { before = Atomics.load(count, 0); await new Promise((resolve) => setTimeout(resolve, 100)); }
globalThis.result = "still";`;
    expect(await session.value(next)).toBe("still");
  });

  it("stays whole whatever names a program leaves, and whatever it makes of those that are there", async () => {
    const session = open("javascript");
    const names =
      "const data = 'own', result = 'own'; const undefined = 1; let Infinity = 2; const fixed = 3; const callTool = 4;";
    const fixed =
      "Object.defineProperty(globalThis, 'fixed', { value: 0 }); for (const each of [Object, Array, Map, JSON]) Object.freeze(each);";
    expect(await session.value(`${fixed} ${names}`)).not.toContain("Timeout");
    expect(await session.value("globalThis.result = [typeof data, typeof undefined, fixed];")).toEqual([
      "object",
      "undefined",
      0,
    ]);
    const hooks = `globalThis[Symbol.for("ptc.session")](() => ({ then: [() => { throw 1; }], __proto__: [() => 1], NaN: [() => 2] })); globalThis.result = 1;`;
    expect(await session.value(hooks)).not.toContain("Timeout");
    expect(await session.value("globalThis.result = ['next'];")).toEqual(["next"]);
  });

  it("has functions of earlier programs call tools in the name of the one that calls them", async () => {
    const session = open("javascript");
    await session.run("const ask = (n) => callTool('mcp__desk__echo', { n });");
    expect(await session.value("globalThis.result = (await ask(2)).n;")).toBe(2);
    expect(session.called).toEqual([[], ["mcp__desk__echo"]]);
    const greedy = "for (let n = 0; n < 9; n++) await ask(n).catch(() => {}); globalThis.result = 1;";
    expect((await session.run(greedy)).envelope.result.metrics.tool_calls).toBe(5);
    expect((await session.run(greedy)).envelope.result.metrics.tool_calls).toBe(5);
  });

  it("ends with a program that ends the process, and with one that takes too long", async () => {
    const session = open("javascript");
    expect(await session.value("globalThis.result = 1; process.exit(0);")).toBe(1);
    expect(session.kept.isLost).toBe(true);
    const other = open("javascript");
    const limits = {
      timeoutMs: 300,
      maxOutputBytes: 65_536,
      maxStderrBytes: 65_536,
      maxParallelCalls: 1,
      maxToolCalls: 1,
    };
    expect((await other.run("for (;;);", { limits })).envelope.result).toMatchObject({
      ok: false,
      error: { type: "Timeout" },
    });
    expect(other.kept.isLost).toBe(true);
  });

  it("takes no claim of an earlier program for that of the next", async () => {
    const session = open("javascript");
    const forged = JSON.stringify('{"ok":true,"data":"forged","from":"result"}\\n');
    const first = `import { writeSync } from "node:fs";
Number.prototype.toFixed = () => { writeSync(1, ${forged}); return "2"; };
globalThis.result = "a text";`;
    expect(await session.value(first)).toBe("a text");
    expect(await session.value("globalThis.result = (2).toFixed();")).toContain(
      "ContractViolation: the program wrote to stdout past the console",
    );
    expect((await session.run("1")).envelope.result).toMatchObject({ ok: true });
  });
});

describe("a session", () => {
  const cases = ALL_LEFTOVERS.filter(({ language }) => missingFor(language) === "");
  it.each(cases)(
    "lets nothing act in the next program that one in $language has left: $name",
    async (left) => {
      const { language, code } = left;
      const session = open(language);
      await session.run(code);
      const calls = session.called[0]?.length;
      const { result } = (await session.run(NEXT[language])).envelope;
      expect(result).toMatchObject({ ok: true, data: "own", metrics: { tool_calls: 1 } });
      expect(session.called).toEqual([expect.objectContaining({ length: calls }), ["mcp__desk__own"]]);
      expect(await session.value(language === "python" ? "2" : "globalThis.result = 2;")).toBe(2);
      expect(session.engine.started).toBe(1);
    },
  );
});

describe("what holds the one thread of a session", () => {
  it("cannot answer in the runner's place, and ends the session", async () => {
    const session = open("javascript");
    expect(await session.value(IMPOSTOR)).toBe("first");
    expect(await session.value("globalThis.result = 'own';")).toBe(
      "SandboxUnavailable: the session's sandbox does not answer any more",
    );
    expect(session.called).toEqual([[], []]);
    expect(session.kept.isLost).toBe(true);
  });

  it("cannot write on the channel, not even when it has failed: that ends the session", async () => {
    const session = open("javascript");
    expect(await session.value(LATE_WRITES)).toContain(
      "ContractViolation: the sandbox broke the wire protocol",
    );
    expect(session.kept.isLost).toBe(true);
    expect(session.called).toEqual([[]]);
  });
});
