import { expect, onTestFinished, test } from "vitest";
import { openArchive } from "../../../archive/open-archive.ts";
import type { ExecutedProgram } from "../../../execution/output/executed-run.ts";
import { loadReplayable } from "../../../execution/replay/load-replayable.ts";
import { Sessions } from "../../../execution/sessions/sessions.ts";
import { GUARD_EXITS } from "../../../protocol/guard.ts";
import { SandboxStarter } from "../../../sandbox/sandbox-starter.ts";
import { eventually } from "../../eventually.ts";
import { ProcessEngine } from "../../runner-image/process-engine.ts";
import { missingFor } from "../../runner-image/runner-process.ts";
import { openHost, UNSAID } from "./session-host.ts";

test("a session is one principal's and one language's, and is bounded in number", async () => {
  const { host, run, engine } = await openHost();
  expect((await run("a", "const x = 1; globalThis.result = x;")).value).toBe(1);
  expect((await run("a", "globalThis.result = typeof x;", { principal: "other" })).value).toBe("undefined");
  expect((await run("a", "globalThis.result = x + 1;")).value).toBe(2);
  expect(engine.started).toBe(2);
  expect((await run("a", "x", { language: "python" })).value).toBe(
    "SandboxUnavailable: session 'a' runs typescript programs, and a session is never shared between languages; give another name",
  );
  expect((await run("b", "1")).value).toContain("the most sessions that may be open (2) are (sessions.max)");
  const own = host.sessions("local");
  expect(await own.list()).toMatchObject([{ name: "a", language: "typescript", programs: 2 }]);
  expect(await own.end("b")).toBe(false);
  expect(await own.end("a")).toBe(true);
  expect(await own.list()).toEqual([]);
  expect(engine.live.size).toBe(1);
  expect((await run("b", "globalThis.result = typeof x;")).value).toBe("undefined");
});

test("a session is found only with the groups with which it began, whatever their order", async () => {
  const { host, run } = await openHost({ max: 3 });
  const owner = { groups: ["staff", "contractors"] };
  expect((await run("a", "const planted = 1;", { groups: [], boundGroups: ["staff"] })).value).toBe("");
  expect((await run("a", "globalThis.result = typeof planted;", owner)).value).toBe("undefined");
  await run("a", "const own = 2;", owner);
  const again = { groups: [...owner.groups].reverse() };
  expect((await run("a", "globalThis.result = own;", again)).value).toBe(2);
  expect(await host.sessions("local").end("a")).toBe(true);
  expect(await host.sessions("local").list()).toEqual([]);
});

test("the reply says when what a session kept is lost", async () => {
  const { host, run, engine } = await openHost();
  const own = host.sessions("local");
  await run("a", "const x = 1;");
  const fatal = await run(
    "a",
    "process.kill(process.pid, 'SIGKILL'); await new Promise(() => setInterval(() => {}, 9));",
  );
  expect(fatal.value).toContain("OutOfMemory");
  expect(fatal.advice.at(-1)).toBe("session 'a' ended with this program: its names and files are lost");
  expect(await own.list()).toEqual([]);
  const next = await run("a", "globalThis.result = typeof x;");
  expect([next.value, next.advice]).toEqual(["undefined", []]);
  for (const child of engine.live.values()) child.kill("SIGKILL");
  await eventually(async () => expect(await own.list()).toEqual([]));
  const after = await run("a", "globalThis.result = typeof x;");
  expect(after.advice).toEqual([
    "session 'a' is a new one: the one before ended because its sandbox ended, and its names and files are lost",
  ]);
  expect((await run("a", "globalThis.result = 1;")).advice).toEqual([]);
  // As the guard ends it.
  engine.killedCode = GUARD_EXITS.leftThread;
  for (const child of engine.live.values()) child.kill("SIGKILL");
  await eventually(async () => expect(await own.list()).toEqual([]));
  expect((await run("a", "globalThis.result = 2;")).advice).toEqual([
    "session 'a' is a new one: the one before ended because a program had left a thread running, which could have acted in the next one, and its names and files are lost",
  ]);
});

test("a session whose sandbox ends after its program, while that is cleared away, is lost at once", async () => {
  const engine = new ProcessEngine();
  const starter = new SandboxStarter({
    ...{ engine, owner: "me", image: "none", runtime: "none" },
    limits: { memoryMb: 512, cpus: 1, pids: 64 },
  });
  const sessions = new Sessions({
    sandboxesWith: () => starter,
    settings: () => ({ max: 1, idleMs: 60_000 }),
    clock: { wallMs: () => 0 },
  });
  onTestFinished(() => sessions.close());
  const { signal } = new AbortController();
  const context = { principal: "local", source: "serve" } as const;
  const run = async (cleared: Promise<void>) => {
    const entered = await sessions.enter("a", { context, signal }, "typescript");
    return entered.execute(async ({ sandboxes }) => {
      const sandbox = await sandboxes.acquire({ onStdout() {}, onStderr() {} }, signal);
      await sandbox.dispose();
      const envelope = { run_id: "run", result: { ok: true } };
      return {
        program: { code: "1", data: {} },
        envelope,
        advice: [],
        cleared,
      } as unknown as ExecutedProgram;
    });
  };
  const cleared = Promise.withResolvers<void>();
  await run(cleared.promise);
  for (const child of engine.live.values()) child.kill("SIGKILL");
  await eventually(() => expect(engine.live.size).toBe(0));
  expect(sessions.list("local")).toMatchObject([{ name: "a", programs: 1 }]);
  cleared.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(sessions.list("local")).toEqual([]);
  expect((await run(Promise.resolve())).advice).toEqual([
    "session 'a' is a new one: the one before ended because its sandbox ended, and its names and files are lost",
  ]);
});

test("what a session has read stays with it, and what was approved for a program does not", async () => {
  const { run, asked } = await openHost({ max: 2 }, { approvals: { ask: ["mcp__x__*"] } });
  const read = "const got = await callTool('mcp__x__echo', { text: 'hidden' });\n";
  const send =
    "globalThis.result = await callTool('mcp__out__echo', { text: 'hi' }).catch((error) => error.message);";
  const first = await run("a", `${read}${send}`);
  expect(first.value).toContain("does not accept 'secret' data");
  const second = await run("a", send);
  expect(second.value).toContain("since it read mcp__x__echo (call 1 of an earlier program of its session)");
  expect((await run("b", send)).value).not.toContain("does not accept");
  await run("a", read);
  expect(asked).toEqual(["mcp__x__echo", "mcp__x__echo"]);
});

test("programs of a session that come at once run one after the other", async () => {
  const { run } = await openHost();
  const values = await Promise.all(
    ["let n = 1; globalThis.result = n;", "n++; globalThis.result = n;", "n++; globalThis.result = n;"].map(
      async (code) => (await run("a", code)).value,
    ),
  );
  expect(values).toEqual([1, 2, 3]);
});

test("programs of a session run in the order in which they came, also where the first takes longer to be made ready", async () => {
  const { run } = await openHost();
  // What looks like Python is parsed to see that it is none, and what says its language is not.
  const ambiguous = "/*\n# a note\n*/\nlet n = 1; globalThis.result = n;";
  const first = run("a", ambiguous, { language: UNSAID });
  const rest = ["n++; globalThis.result = n;", "n++; globalThis.result = n;"].map((code) => run("a", code));
  expect((await Promise.all([first, ...rest])).map(({ value }) => value)).toEqual([1, 2, 3]);
});

test("a session ends when no program came for long, its sandbox with it, and the next program is told", async () => {
  const { host, run, engine } = await openHost({ max: 2 }, {}, 100);
  const own = host.sessions("local");
  await run("a", "const x = 1; await new Promise((resolve) => setTimeout(resolve, 300));");
  expect(await own.list()).toMatchObject([{ name: "a" }]);
  await eventually(async () => expect([await own.list(), engine.live.size]).toEqual([[], 0]));
  const next = await run("a", "globalThis.result = typeof x;");
  expect(next.value).toBe("undefined");
  expect(next.advice).toEqual([
    expect.stringContaining("is a new one: the one before ended when it was idle"),
  ]);
});

test("a program that is cancelled while it waits for its turn is gone at once, and keeps no other waiting", async () => {
  const { host, run } = await openHost();
  const own = host.sessions("local");
  const long = run("a", "const x = 1; await new Promise((resolve) => setTimeout(resolve, 60_000));");
  await eventually(async () => expect(await own.list()).toHaveLength(1));
  const impatient = new AbortController();
  const waiting = run("a", "1", { signal: impatient.signal });
  const patient = run("a", "globalThis.result = typeof x;");
  impatient.abort();
  expect((await waiting).value).toBe("Cancelled: the run was cancelled");
  expect(await own.end("a")).toBe(true);
  expect((await long).value).toBe("Cancelled: the run was cancelled");
  const next = await patient;
  expect(next.value).toBe("undefined");
  expect(next.advice).toEqual([
    "session 'a' is a new one: the one before ended by `ptc sessions end`, and its names and files are lost",
  ]);
});

test("a program that fails on the host before it has begun leaves its turn", async () => {
  const { run, host } = await openHost();
  await run("a", "const x = 1;");
  const broken = host.runs.subscribe.bind(host.runs);
  host.runs.publish = () => {
    throw new Error("a fault of the host");
  };
  await expect(run("a", "x")).rejects.toThrow("a fault of the host");
  Object.assign(host.runs, { publish: Object.getPrototypeOf(host.runs).publish });
  broken(() => {});
  expect((await run("a", "globalThis.result = x;")).value).toBe(1);
});

test("ending a session cancels the program that runs in it", async () => {
  const { host, run } = await openHost();
  const own = host.sessions("local");
  await run("a", "const x = 1;");
  await eventually(async () => expect((await own.list())[0]).toHaveProperty("idle_since"));
  const running = run("a", "await new Promise((resolve) => setTimeout(resolve, 60_000));");
  await eventually(async () => expect((await own.list())[0]).not.toHaveProperty("idle_since"));
  expect(await own.end("a")).toBe(true);
  const ended = await running;
  expect(ended.value).toBe("Cancelled: the run was cancelled");
  expect(await own.list()).toEqual([]);
});

test.skipIf(missingFor("python") !== "")("a session in Python goes on with the names of before", async () => {
  const { run } = await openHost();
  const python = { language: "python" };
  await run("p", "got = [call_tool('mcp__x__echo', {'text': 'a'})]", python);
  const second = await run(
    "p",
    "got.append(call_tool('mcp__x__echo', {'text': 'b'}))\nresult = len(got)",
    python,
  );
  expect(second.value).toBe(2);
  expect(second.executed.envelope.result.metrics.tool_calls).toBe(1);
});

const PROGRAMS = {
  typescript: [
    "let sum = Math.random(); const at = Date.now(); const later = setTimeout(() => {}, 5);",
    "const { text = '' } = { text: await callTool('mcp__x__echo', { text: `${sum}` }) }; sum += Number(text); throw new Error('no');",
    "globalThis.result = [sum, at, text, Math.random(), await callTool('mcp__x__echo', { text: `${Date.now()}` })];",
  ],
  python: [
    "import random, time\nsum_ = random.random()\nat = time.time()",
    "text = call_tool('mcp__x__echo', {'text': str(sum_)})\nsum_ += float(text)\nraise ValueError('no')",
    "result = [sum_, at, text, random.random(), call_tool('mcp__x__echo', {'text': str(time.time())})]",
  ],
};

test.each(["typescript", "python"] as const)(
  "a program of a session in %s is replayed after those before it, without servers",
  async (language) => {
    if (language === "python" && missingFor("python") !== "") return;
    const { run, host, configuration } = await openHost();
    const runs: string[] = [];
    let value: unknown;
    for (const code of PROGRAMS[language]) {
      const ran = await run("a", code, { language });
      await ran.executed.recorded;
      runs.push(ran.executed.envelope.run_id);
      value = ran.value;
    }
    expect(value).toEqual([expect.any(Number), expect.any(Number), ...Array(3).fill(expect.anything())]);
    const archive = openArchive(configuration.archive);
    const loaded = await loadReplayable(archive, runs[2] ?? "");
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problem));
    const { replayable } = loaded;
    expect(replayable.session?.place).toMatchObject({ position: 3, after: runs[1] });
    const replay = async (recorded = replayable.session) => {
      const signal = new AbortController().signal;
      const replayed = await host.replay({ ...replayable, signal, ...(recorded && { session: recorded }) });
      await replayed.cleared;
      return replayed;
    };
    const { divergence, envelope } = await replay();
    expect([divergence, envelope.result.ok && envelope.result.data]).toEqual([undefined, value]);
    const [first, ...rest] = replayable.session?.before ?? [];
    const other = first && { ...first, run: { ...first.run, environment: { seed: "1".repeat(64) } } };
    const place = replayable.session?.place;
    const diverged = await replay(other && place && { place, before: [other, ...rest] });
    expect(diverged.divergence).toContain("program 2 of its session (run");
    const without = {
      read: (runId: string) => (runId === runs[0] ? archive.read("none") : archive.read(runId)),
    };
    expect(await loadReplayable(without as never, runs[2] ?? "")).toMatchObject({
      ok: false,
      problem: { kind: "session-incomplete", position: 1 },
    });
    await archive.close();
  },
);
