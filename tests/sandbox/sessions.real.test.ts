import { expect, test } from "vitest";
import type { ProgramSession } from "../../languages/program.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import { KeptSandbox } from "../../sandbox/kept-sandbox.ts";
import { ALL_LEFTOVERS, LASTING, NEXT } from "../runner-image/session-attacks.ts";
import { describeSandboxed } from "./in-sandbox.ts";
import { RealSandboxes } from "./real-sandboxes.ts";

const FIRST: ProgramSession = { place: { id: "0", position: 1 }, earlier: [] };

const LANGUAGES = {
  javascript: {
    first: `import fs from "node:fs";
import { spawn } from "node:child_process";
const kept = { n: 1 };
fs.writeFileSync("/workspace/kept", "yes");
const sleep = "process.on('SIGTERM', () => {}); setInterval(() => {}, 9);";
const own = JSON.stringify([process.execPath, ["-e", sleep], { detached: true, stdio: "ignore" }]);
spawn(process.execPath, ["-e", "require('node:child_process').spawn(..." + own + ");" + sleep], { detached: true, stdio: "ignore" }).unref();
const others = () => fs.readdirSync("/proc").filter((pid) => Number(pid) > 0 && Number(pid) !== process.pid && fs.existsSync("/proc/" + pid + "/exe"));
while (others().length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
globalThis.result = kept.n;`,
    second: `kept.n++;
globalThis.result = [kept.n, fs.readFileSync("kept", "utf8"), others()];`,
    last: "globalThis.result = kept.n; process.exit(0);",
    value: 2,
  },
  python: {
    first: `import os, signal, time
kept = {"n": 1}
open("/workspace/kept", "w").write("yes")
def others():
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid() and os.path.exists(f"/proc/{pid}/exe")]
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.fork()
    os.setsid()
    while True:
        signal.pause()
while len(others()) < 2:
    time.sleep(0.005)
result = kept["n"]`,
    second: 'kept["n"] += 1\nresult = [kept["n"], open("kept").read(), others()]',
    last: "import os\nos._exit(1)",
    value: undefined,
  },
};

describeSandboxed("a session in a real sandbox", () => {
  for (const [language, { first, second, last, value }] of Object.entries(LANGUAGES)) {
    test(`in ${language} keeps what a program left but its processes, is held between programs, and ends with its process`, async () => {
      const kept: KeptSandbox[] = [];
      const sandboxes = new RealSandboxes(
        {},
        {
          over: (source) => {
            const each = new KeptSandbox(source.withRunner(language as "javascript"));
            kept.push(each);
            return each;
          },
        },
      );
      const [sandbox] = kept;
      const run = async (code: string) => (await sandboxes.run(code, { language, session: FIRST })).result;
      try {
        expect(await run(first)).toMatchObject({ ok: true, data: 1 });
        expect(await run("1")).toMatchObject({ ok: true });
        expect(await run(second)).toMatchObject({ ok: true, data: [2, "yes", []] });
        expect(await sandboxes.containers()).toHaveLength(1);
        const end = await run(last);
        expect(end.ok ? end.data : undefined).toEqual(value);
        expect(sandbox?.isLost).toBe(true);
        expect(await sandboxes.leftovers()).toEqual([]);
      } finally {
        await sandbox?.close();
        sandboxes.close();
      }
    });
  }

  /** Runs programs one after the other in one session, with the tools that they called. */
  async function inSession(language: "javascript" | "python", programs: readonly string[]) {
    const called: string[] = [];
    let kept: KeptSandbox | undefined;
    const tools = { late: () => called.push("late"), own: () => called.push("own") };
    const sandboxes = new RealSandboxes(tools, {
      over: (source) => {
        kept = new KeptSandbox(source.withRunner(language));
        return kept;
      },
    });
    try {
      const results: Envelope["result"][] = [];
      for (const [index, code] of programs.entries()) {
        await kept?.settle();
        if (index === programs.length - 1) called.length = 0;
        results.push((await sandboxes.run(code, { language, session: FIRST })).result);
      }
      return { results, called, last: results.at(-1) };
    } finally {
      await kept?.close();
      expect(await sandboxes.leftovers()).toEqual([]);
      sandboxes.close();
    }
  }

  test.each(ALL_LEFTOVERS)(
    "lets nothing act in the next program that one in $language has left: $name",
    async (left) => {
      const { last, called } = await inSession(left.language, [left.code, NEXT[left.language]]);
      expect(last).toMatchObject({ ok: true, data: "own", metrics: { tool_calls: 1 } });
      expect(called).toEqual(["own"]);
    },
  );

  test.each(LASTING)("ends before the next program where one has left $name", async (left) => {
    const { last, called } = await inSession(left.language, [left.code, NEXT[left.language]]);
    const message = `the session ended ${left.why}`;
    expect(last).toMatchObject({ ok: false, error: { type: "SandboxUnavailable", message } });
    expect(called).toEqual([]);
  });
});
