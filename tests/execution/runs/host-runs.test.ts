import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ApprovalAnswer } from "../../../broker/approvals/approvals.ts";
import type { Authorizer } from "../../../broker/policy/authorizer.ts";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../../codegen/typescript/typescript-printer.ts";
import type { MissedEvents, RunEvent, RunView } from "../../../execution/runs/run-events.ts";
import type { ProjectOptions } from "../../../project/open-project.ts";
import type { ServingOptions } from "../../../project/serving.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import { MemoryStore } from "../../archive/memory-store.ts";
import { sampleRun } from "../../archive/sample-runs.ts";
import { eventually } from "../../eventually.ts";
import { echoServer, PROGRAM, servedProject } from "../../project/served-project.ts";
import { InProcessEngine, type ProgramFunction } from "../../sandbox/in-process-engine.ts";

const SECRET = "s3cr3t-value-that-nobody-may-see";

/** A host whose one server, `x`, echoes, and whose programs are a function in this process. */
async function openHost(
  program: ProgramFunction,
  seams: Pick<ServingOptions, "authorizer" | "credentials"> & Pick<ProjectOptions, "archive"> = {},
) {
  const { cwd, open } = servedProject({
    servers: [echoServer("x", { env: { TOKEN: SECRET } })],
    approvals: { ask: ["mcp__x__echo"] },
    execution: { typecheck: "off" },
  });
  const engine = new InProcessEngine(program);
  const opened = await open({ archive: undefined, ...seams, engine, tools: 2 });
  const { host, warnings, run } = opened;
  onTestFinished(async () => {
    await host.close();
    // Nothing of this process, its server and its sandboxes is left.
    expect(readdirSync(join(cwd, "run")).flatMap((base) => readdirSync(join(cwd, "run", base)))).toEqual([]);
    expect(engine.live.size).toBe(0);
    expect(warnings).toEqual([]);
  });
  return {
    ...{ ...opened, archive: host.configuration.archive.path },
    async run(decision: ApprovalAnswer["decision"] = "once", context?: RunContext) {
      const approver = { ask: async () => ({ decision, by: "a person" }) };
      return (await run({ approver, ...(context && { context }) })).envelope;
    },
  };
}

/** A program that calls two tools, the second one when it was told that the first call has ended. */
function twoCalls(isEndTold: () => boolean): ProgramFunction {
  return async (program) => {
    await program.call("mcp__x__echo", { text: SECRET });
    await expect.poll(isEndTold).toBe(true);
    await program.call(`mcp__x__${SECRET}`, {});
    return "done";
  };
}

test("a listener of the host receives a whole run, in order and without secrets, and no part of it twice", async () => {
  const told: (RunEvent | MissedEvents)[] = [];
  const { host, run, archive } = await openHost(
    twoCalls(() => told.some(({ kind }) => kind === "call-ended")),
  );
  const unsubscribe = host.runs.subscribe((event) => void told.push(event));
  const envelope = await run();
  await eventually(() => expect(told.at(-1)?.kind).toBe("ended"));
  const about = { runId: envelope.run_id, context: { principal: "local", source: "serve" } };
  const echo = { ...about, tool: "mcp__x__echo" };
  const unknown = { ...about, tool: expect.stringMatching(/^mcp__x__/) };
  expect(told).toEqual([
    { ...about, kind: "started" },
    { ...echo, kind: "call-started", seq: 1 },
    { ...echo, kind: "question-asked" },
    { ...echo, kind: "question-answered", decision: "once" },
    { ...echo, kind: "call-ended", seq: 1, durationMs: expect.any(Number), decision: "approved-once" },
    { ...unknown, kind: "call-started", seq: 2 },
    {
      ...unknown,
      kind: "call-ended",
      seq: 2,
      durationMs: expect.any(Number),
      decision: "unavailable",
      failure: "ToolError",
    },
    { ...about, kind: "ended", outcome: "ok", durationMs: envelope.duration_ms, toolCalls: 2 },
  ]);
  expect(JSON.stringify(told)).not.toContain(SECRET);
  expect(existsSync(archive)).toBe(true);

  unsubscribe();
  await run("denied");
  expect(told).toHaveLength(8);
});

test("a watcher of the host sees the program of a run and what it prints while it runs, both without secrets", async () => {
  const seen: (RunEvent | RunView | MissedEvents)[] = [];
  const printed = () => seen.flatMap((event) => (event.kind === "printed" ? [event.text] : [])).join("");
  const { host, run } = await openHost(async (program) => {
    program.print(`the token is ${SECRET}\n${"x".repeat(2_000)}\n`);
    // It is seen before the program ends.
    await expect.poll(printed).toContain("the token is ");
    return "done";
  });
  onTestFinished(host.runs.watch((event) => void seen.push(event)));
  const envelope = await run();
  await eventually(() => expect(seen.at(-1)?.kind).toBe("ended"));
  expect(seen[0]).toEqual({
    ...{ runId: envelope.run_id, context: { principal: "local", source: "serve" }, kind: "began" },
    at: expect.any(Number),
    program: { fileName: PROGRAM.fileName, language: PROGRAM.language, code: PROGRAM.code },
  });
  expect(printed()).toContain("[REDACTED");
  expect(JSON.stringify(seen)).not.toContain(SECRET);
  const later: unknown[] = [];
  onTestFinished(host.runs.watch((event) => void later.push(event)));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(later).toEqual([]);
});

test("a listener that throws, hangs or has a fault of its own harms neither a run nor another listener", async () => {
  const told: string[] = [];
  const { host, run } = await openHost(twoCalls(() => told.includes("call-ended")));
  host.runs.subscribe(() => {
    throw new Error("planted");
  });
  host.runs.subscribe(() => Promise.reject(new Error("planted")));
  host.runs.subscribe(() => new Promise(() => {}));
  host.runs.subscribe((event) => void told.push(event.kind));
  expect((await run("denied")).result).toMatchObject({ ok: true, data: "done" });
  await eventually(() => expect(told.at(-1)).toBe("ended"));
  expect(told).toContain("question-answered");
});

test("an authorizer of the host's maker hides tools from one principal, and decides by principal and session", async () => {
  const decided: unknown[] = [];
  const authorizer: Authorizer = {
    isVisible: ({ principal }, { name }) => principal !== "bob" || name !== "grow",
    async authorize(context, tool, args) {
      decided.push([context, tool.name, args]);
      if (!authorizer.isVisible(context, tool)) return { kind: "unavailable" };
      if (context.session === "s-2") return { kind: "deny", reason: "not in this session" };
      return { kind: "allow" };
    },
  };
  const asked: string[] = [];
  const store = new MemoryStore();
  const replies: unknown[] = [];
  const { host, catalog, run, archive } = await openHost(
    async (program) => {
      replies.length = 0;
      for (const [tool, args] of [
        ["echo", { text: "hi" }],
        ["grow", {}],
      ] as const)
        replies.push(await program.call(`mcp__x__${tool}`, args));
    },
    {
      authorizer,
      credentials: {
        async credentialsFor(principal, server) {
          asked.push(`${server} for ${principal}`);
          return { values: {}, secrets: [] };
        },
      },
      archive: () => store,
    },
  );
  const tools = await host.currentTools();
  expect(tools.all.names()).toEqual(["mcp__x__echo", "mcp__x__grow"]);
  expect(tools.callableFor({ principal: "ada" }).names()).toEqual(tools.all.names());
  expect(tools.callableFor({ principal: "bob" }).names()).toEqual(["mcp__x__echo"]);
  expect((await catalog.current({ principal: "bob" })).isBlocked("mcp__x__grow")).toBe(true);
  const available = async (principal: string) =>
    (await tools.modulesFor({ principal }, PRINTER).load("x"))?.tools.filter((tool) => tool.isAvailable)
      .length;
  expect([await available("ada"), await available("bob")]).toEqual([2, 1]);

  const sessions = new Set<string | undefined>();
  host.runs.subscribe((event) => {
    if (event.kind !== "missed") sessions.add(event.context.session);
  });
  const bob: RunContext = { principal: "bob", source: "serve", session: "s-1" };
  await run("denied", bob);
  expect(replies).toMatchObject([
    { ok: true, data: "hi" },
    { ok: false, error: { message: "'mcp__x__grow' is not available in execute_program" } },
  ]);
  await run("denied", { ...bob, session: "s-2" });
  expect(replies[0]).toMatchObject({
    error: { message: "'mcp__x__echo' was not called: not in this session" },
  });
  await run("denied", { ...bob, principal: "ada" });
  expect(replies).toMatchObject([{ ok: true }, { ok: true }]);
  expect(decided.slice(0, 2)).toEqual([
    [bob, "echo", { text: "hi" }],
    [bob, "grow", {}],
  ]);
  expect(asked).toEqual(["x for local", "x for bob", "x for ada"]);
  await eventually(() => expect([...sessions]).toEqual(["s-1", "s-2"]));
  expect((await store.list({ limit: 10 })).runs).toHaveLength(3);
  expect(existsSync(archive)).toBe(false);
});

test("the whole outputs of earlier runs are read from the archive that the host was given, which it closes once, at its end", async () => {
  const store = new MemoryStore();
  let closed = 0;
  const archive = Object.assign(store, { close: async () => void closed++ });
  const { run, calls } = sampleRun({ consoleText: "kept elsewhere\n" });
  const recording = archive.begin(run.facts.run_id);
  for (const call of calls) await recording.addCall(call);
  expect(await recording.finish(run)).toMatchObject({ ok: true });

  let opened = 0;
  const { host, outputs } = await openHost(async () => {}, {
    archive: () => {
      opened++;
      return archive;
    },
  });
  expect(await outputs.read(run.facts.run_id, { principal: "local" })).toContain("kept elsewhere");
  expect(await outputs.read(run.facts.run_id, { principal: "ada" })).toBeUndefined();
  expect([opened, closed]).toEqual([1, 0]);
  await host.close();
  expect(closed).toBe(1);
});
