import { expect, test, vi } from "vitest";
import * as z from "zod";
import { SandboxConnection } from "../../../broker/sandbox-connection.ts";
import type { PtcOptions, RunOptions } from "../../../library/api.ts";
import { type ApprovalQuestion, tool } from "../../../library/ptc.ts";
import type { Trace } from "../../../protocol/messages.ts";
import { SandboxError } from "../../../sandbox/sandbox-error.ts";
import { openPtc, useNoWalls } from "../../library/open.ts";
import { ProcessEngine } from "../../runner-image/process-engine.ts";
import { desk } from "./desk.ts";
import { useNoHaste } from "./patient.ts";

const ENGINE = new ProcessEngine();
useNoWalls(ENGINE);
useNoHaste();

/** Runs a program with plans, answers what it is asked, and counts the sandboxes until its first question. */
async function asked(
  code: string,
  options: RunOptions = {},
  more: PtcOptions["tools"] = {},
  { allow = false, makes = [] }: { allow?: boolean; makes?: string[] } = {},
) {
  const { tools, made } = desk();
  const ptc = await openPtc({
    tools: { ...tools, ...more },
    config: { approvals: { mode: "plan" }, sandbox: { warm: 0 } },
  });
  const questions: ApprovalQuestion[] = [];
  const before = ENGINE.started;
  let sandboxes = 0;
  const run = await ptc.run(code, {
    ...options,
    approve: (question) => {
      questions.push(question);
      if (questions.length === 1) sandboxes = ENGINE.started - before;
      return { allow };
    },
  });
  await ptc.close();
  await vi.waitFor(() => expect([...ENGINE.live.keys()]).toEqual([]), 10_000);
  expect(made.map(([name]) => name)).toEqual(makes);
  return { run, question: questions[0], plan: questions[0]?.plan, sandboxes };
}

const SEND = `await mcp__functions__send({ to: "a", text: "x" });`;
const BRANCH = `if ((await mcp__functions__create({ title: "t" })).ok) ${SEND}`;
const NEVER = "await new Promise(() => setInterval(() => {}, 1000));";

test.each([
  ["one change whose answer has nothing but names and numbers", SEND, 1],
  ["one change that answers a truth value", `await mcp__functions__create({ title: "t" });`, 2],
  [
    "twelve changes",
    `for (let i = 0; i < 12; i++) await mcp__functions__send({ to: "n" + i, text: "x" });`,
    2,
  ],
  ["a branch on what a change answers", BRANCH, 3],
  ["an error that is caught", `try { ${SEND} } catch { ${SEND} }`, 2],
  ["both", `try { ${BRANCH} } catch {}`, 4],
])(
  "%s takes its own sandbox and no more than its further rehearsals until the question, and none is left",
  async (_, code, expected) => {
    const { plan, sandboxes } = await asked(code);
    expect(plan?.calls.length).toBeGreaterThan(0);
    expect(sandboxes).toBe(expected);
  },
);

test("a rehearsal ends before the time of its run does, and the plan has what it came to", async () => {
  const { plan } = await asked(`${SEND} await mcp__functions__create({ title: "t" }); ${NEVER}`, {
    timeoutMs: 8_000,
  });
  expect(plan?.calls.map(({ tool }) => tool)).toEqual(["mcp__functions__send", "mcp__functions__create"]);
  expect(plan?.more).toBe("the rehearsal took too long");
});

test("a program without an end is rehearsed for a bounded number of calls, of which the plan has the first", async () => {
  const { plan } = await asked(
    `for (;;) await Promise.all(Array.from({ length: 50 }, (_, i) => mcp__functions__send({ to: "n" + i, text: "x" })));`,
  );
  expect(plan?.calls).toHaveLength(100);
  expect(plan?.more).toBe("a plan has 100 calls at most");
});

test("arguments that are too large to be shown together end the plan", async () => {
  const { plan } = await asked(
    `for (let i = 0; i < 4; i++) await mcp__functions__send({ to: "n" + i, text: "x".repeat(200_000) });`,
  );
  expect(plan?.calls).toHaveLength(2);
  expect(plan?.more).toBe("all calls together are too large to be shown");
});

test("without a sandbox for its rehearsal, the call is asked about alone", async () => {
  const start = ENGINE.start.bind(ENGINE);
  let starts = 0;
  const failing = vi.spyOn(ENGINE, "start").mockImplementation(async (request, output) => {
    if (++starts === 2) throw new SandboxError("start_failed", "there is no room");
    return start(request, output);
  });
  try {
    const { plan, run } = await asked(`${SEND} ${SEND}`);
    expect(plan?.calls).toHaveLength(1);
    expect(plan?.more).toContain("it could not be rehearsed");
    expect(run.error?.type).toBe("ApprovalDenied");
  } finally {
    failing.mockRestore();
  }
});

/** What a program does before its first change, and prints after it. */
const READ = `console.log("before"); await mcp__functions__address({ name: "ann" });`;
const TOLD = "console.log('rehearsed');";

test.each([
  ["no call was made", `${SEND} ${TOLD}`, [], ""],
  ["a call was made", `${READ} ${SEND} ${TOLD}`, ["address"], "; before that, a call was made"],
])(
  "without a sandbox in which the run begins again, after %s, no change is made, and the run says so and is not to be tried again",
  async (_, code, makes, before) => {
    const start = ENGINE.start.bind(ENGINE);
    let starts = 0;
    const failing = vi.spyOn(ENGINE, "start").mockImplementation(async (request, output) => {
      if (++starts > 1) throw new SandboxError("start_failed", "there is no room");
      return start(request, output);
    });
    try {
      const { plan, run } = await asked(code, {}, {}, { allow: true, makes });
      expect(plan?.calls).toHaveLength(1);
      expect(run.error).toMatchObject({
        type: "InternalError",
        message: `the run could not begin again after its rehearsal: there is no room${before}`,
        retryable: false,
      });
      expect(run.envelope.result.metrics.tool_calls).toBe(makes.length + 1);
      expect(run.calls).toHaveLength(makes.length + 1);
      expect(run.text).not.toContain("rehearsed");
    } finally {
      failing.mockRestore();
    }
  },
);

test("a sandbox that dies before the run begins again in it does not make the run one to be tried again", async () => {
  const start = ENGINE.start.bind(ENGINE);
  let starts = 0;
  const dying = vi.spyOn(ENGINE, "start").mockImplementation(async (request, output) => {
    const started = await start(request, output);
    if (++starts > 1) await started.kill();
    return started;
  });
  try {
    const { run } = await asked(`${READ} ${SEND}`, {}, {}, { allow: true, makes: ["address"] });
    expect(run.error).toMatchObject({ type: "InternalError", retryable: false });
    expect(run.error?.message).toMatch(/^the run could not begin again .*; before that, a call was made$/);
    expect(run.envelope.result.metrics.tool_calls).toBe(2);
  } finally {
    dying.mockRestore();
  }
});

test("a run that is cancelled during its rehearsal has what it did and nothing of the rehearsal", async () => {
  const cancel = new AbortController();
  const waiting = tool({
    description: "Waits",
    annotations: { readOnlyHint: true },
    execute: () => {
      cancel.abort();
      return "";
    },
  });
  const code = `${READ} await mcp__functions__send({ to: "a", text: "x" }); ${TOLD} await mcp__functions__waiting({}); ${NEVER}`;
  const { run, question } = await asked(code, { signal: cancel.signal }, { waiting }, { makes: ["address"] });
  expect(question).toBeUndefined();
  expect(run.error).toMatchObject({
    type: "Cancelled",
    message: "the run was cancelled; before that, a call was made",
  });
  expect(run.envelope.result.metrics.tool_calls).toBe(2);
  expect(run.text).not.toContain("rehearsed");
});

test("a program whose trace is not complete is rehearsed in other sandboxes, and its run goes on in its own", async () => {
  const { get } = Object.getOwnPropertyDescriptor(SandboxConnection.prototype, "trace") ?? {};
  // To read the clock so often that a trace has no room for it takes seconds.
  const cut = vi.spyOn(SandboxConnection.prototype, "trace", "get").mockImplementation(function (
    this: SandboxConnection,
  ) {
    const trace = get?.call(this) as Trace | undefined;
    return trace && { ...trace, clock: "", complete: false };
  });
  try {
    const code = `await mcp__functions__send({ to: String(performance.now()), text: "x" });`;
    const { run, question } = await asked(code, {}, {}, { allow: true, makes: ["send"] });
    expect(run.error).toBeUndefined();
    expect(question?.plan?.calls).toHaveLength(1);
  } finally {
    cut.mockRestore();
  }
});

test("a program that does something else when its run begins again makes nothing", async () => {
  const code = `const { pid } = await import("node:process"); await mcp__functions__send({ to: String(pid), text: "x" });`;
  const { plan, run } = await asked(code, {}, {}, { allow: true });
  expect(plan?.calls).toHaveLength(1);
  expect(run.error).toMatchObject({
    type: "ReplayDiverged",
    message:
      "the program made another call 1 than before it was rehearsed: expected mcp__functions__send; got other arguments",
  });
});

test("an answer with very many truth values does not drown the question", async () => {
  const flags = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`flag${index}`, z.boolean()]));
  const wide = tool({
    description: "Answers much",
    output: z.object({ ok: z.boolean(), ...flags }),
    annotations: { destructiveHint: true },
    execute: () => ({ ok: true }) as never,
  });
  const { plan } = await asked(`if ((await mcp__functions__wide({})).ok) ${SEND}`, {}, { wide });
  expect(plan?.calls.map(({ tool: name }) => name)).toEqual(["mcp__functions__wide"]);
  expect(plan?.more).toBeDefined();
});
