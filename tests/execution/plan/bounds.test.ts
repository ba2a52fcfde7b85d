import { expect, test, vi } from "vitest";
import * as z from "zod";
import type { PtcOptions, RunOptions } from "../../../library/api.ts";
import { type ApprovalQuestion, tool } from "../../../library/ptc.ts";
import { SandboxError } from "../../../sandbox/sandbox-error.ts";
import { openPtc, useNoWalls } from "../../library/open.ts";
import { ProcessEngine } from "../../runner-image/process-engine.ts";
import { desk } from "./desk.ts";

const ENGINE = new ProcessEngine();
useNoWalls(ENGINE);

/** Runs a program with plans, answers what it is asked, and counts the sandboxes until its first question. */
async function asked(code: string, options: RunOptions = {}, more: PtcOptions["tools"] = {}, allow = false) {
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
  expect(made).toEqual([]);
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

test("without a sandbox in which the run begins again, nothing is made, and the run says so", async () => {
  const start = ENGINE.start.bind(ENGINE);
  let starts = 0;
  const failing = vi.spyOn(ENGINE, "start").mockImplementation(async (request, output) => {
    if (++starts > 1) throw new SandboxError("start_failed", "there is no room");
    return start(request, output);
  });
  try {
    const { plan, run } = await asked(SEND, {}, {}, true);
    expect(plan?.calls).toHaveLength(1);
    expect(run.error).toMatchObject({ type: "SandboxUnavailable", message: "there is no room" });
  } finally {
    failing.mockRestore();
  }
});

test("a program that does something else when its run begins again makes nothing", async () => {
  const code = `const { pid } = await import("node:process"); await mcp__functions__send({ to: String(pid), text: "x" });`;
  const { plan, run } = await asked(code, {}, {}, true);
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
