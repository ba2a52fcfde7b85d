import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
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

interface Step {
  code: string;
  value?: unknown;
  has?: string;
}
const SCENES: Record<RunnerLanguage, Record<string, Step[]>> = parse(
  readFileSync(join(import.meta.dirname, "sessions.yaml"), "utf8"),
);

describe.each(Object.entries(SCENES) as [RunnerLanguage, Record<string, Step[]>][])(
  "a session of programs in %s",
  (language, scenes) => {
    const missing = missingFor(language);
    it.skipIf(missing !== "").each(Object.entries(scenes))(`%s${missing}`, async (_, steps) => {
      const session = open(language);
      for (const { code, value, has } of steps) {
        const came = await session.value(code);
        if (has === undefined) expect(came).toEqual(value);
        else expect(came).toContain(has);
      }
      expect([session.engine.started, session.engine.live.size]).toEqual([1, 1]);
    });
  },
);

describe(`a session of programs in Python${missingFor("python")}`, {
  skip: missingFor("python") !== "",
}, () => {
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
`;
    expect(await session.value(first)).toBe(7);
    const calls = session.called[0]?.length ?? 0;
    const next =
      "n = len(seen)\nimport time\ntime.sleep(0.2)\nx = call_tool('mcp__desk__own', {'a': 1})\n[len(seen) - n, task.cancelled(), x]";
    expect(await session.value(next)).toEqual([0, true, { a: 1 }]);
    expect(session.called.map((each) => each.length)).toEqual([calls, 1]);
  });
});

describe("a session of programs in TypeScript", () => {
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
    const bytes = { maxOutputBytes: 65_536, maxStderrBytes: 65_536 };
    const limits = { timeoutMs: 300, ...bytes, maxParallelCalls: 1, maxToolCalls: 1 };
    const { result } = (await other.run("for (;;);", { limits })).envelope;
    expect(result).toMatchObject({ ok: false, error: { type: "Timeout" } });
    expect(other.kept.isLost).toBe(true);
  });

  it("takes no claim of an earlier program for that of the next", async () => {
    const session = open("javascript");
    const forged = JSON.stringify('{"ok":true,"data":"forged","from":"result"}\\n');
    const first = `import { writeSync } from "node:fs";
Number.prototype.toFixed = () => { writeSync(1, ${forged}); return "2"; };
globalThis.result = "a text";`;
    expect(await session.value(first)).toBe("a text");
    // What is written to descriptor 1 is console text.
    expect(await session.value("globalThis.result = (2).toFixed();")).toBe("2");
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
      "SandboxUnavailable: the session's sandbox no longer answers",
    );
    expect(session.called).toEqual([[], []]);
    expect(session.kept.isLost).toBe(true);
  });

  it("cannot write on the channel, not even when it has failed: that ends the session", async () => {
    const session = open("javascript");
    // The writes come before the program is judged, or after it: the next program meets them then, and does not run beside them.
    expect(await session.value(LATE_WRITES)).toMatch(
      /^(?:ContractViolation: the sandbox broke the wire protocol|ScriptError: Error: ends)/,
    );
    if (!session.kept.isLost) await session.value("globalThis.result = 1;");
    expect(session.kept.isLost).toBe(true);
    expect(session.called.flat()).toEqual([]);
  });
});
