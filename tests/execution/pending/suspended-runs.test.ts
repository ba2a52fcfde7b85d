import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ApprovalAnswer, LATER } from "../../../broker/approvals/approvals.ts";
import { Conversation } from "../../../broker/flow/conversation.ts";
import type { ExecutedProgram } from "../../../execution/output/executed-run.ts";
import type { Host } from "../../../project/host.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import type { BegunRunFacts, Telemetry } from "../../../telemetry/telemetry.ts";
import { PROGRAM, servedProject } from "../../project/served-project.ts";
import type { ProgramFunction } from "../../sandbox/in-process-engine.ts";

const SERVER = join(import.meta.dirname, "../../fixtures/servers/counts-calls.mjs");
const CONTEXT: RunContext = { principal: "local", source: "serve" };
const YES = { decision: "once", by: "a person", how: "here" } as const;
const SECRET = "a-value-that-only-the-program-may-have";

/** A project with a server `r` whose calls are free, and a server `w` whose calls are asked about. Both note their calls. */
function newProject(approvals: object = {}) {
  const settings = (log: string) => ({
    servers: ["r", "w"].map((name) => ({
      ...{ name, command: process.execPath, args: [SERVER, log] },
      ...(name === "w" && { env: { TOKEN: SECRET } }),
    })),
    approvals: { ask: ["mcp__w__note"], ...approvals },
    execution: { typecheck: "off" },
    sandbox: { warm: 0 },
  });
  const { cwd, configure, open } = servedProject({});
  const log = join(cwd, "calls");
  configure(settings(log));
  let count = 4;
  return {
    /** Opens ptc as one process would, for programs that are this function. */
    async open(program: ProgramFunction, telemetry?: Telemetry) {
      const { host, store } = await open({ program, telemetry, tools: count, following: undefined });
      return Object.assign(host, { store });
    },
    write(more: (given: ReturnType<typeof settings>) => { servers?: readonly object[] }) {
      const given = settings(log);
      const written = { ...given, ...more(given) };
      count = 2 * written.servers.length;
      configure(written);
    },
    calls: () => (existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : []),
    file: join(cwd, ".ptc/approvals.db"),
    key: join(cwd, "state/ptc/approvals.key"),
    audit: () => readFileSync(join(cwd, ".ptc/audit.jsonl"), "utf8"),
  };
}

const options = (answer: ApprovalAnswer = LATER) => ({
  context: CONTEXT,
  approver: { ask: async () => answer },
  suspends: true,
  signal: new AbortController().signal,
});

async function suspend(host: Host): Promise<NonNullable<ExecutedProgram["suspended"]>> {
  const { suspended, envelope, recorded } = await host.run({ ...options(), program: PROGRAM });
  await recorded;
  expect(envelope.result).toMatchObject({ ok: false, error: { type: "ApprovalPending" } });
  if (suspended === undefined) throw new Error("the run was not suspended");
  return suspended;
}

async function answer(host: Host, ticket: string, given: ApprovalAnswer = YES): Promise<boolean> {
  const approvals = await host.pendingApprovals();
  const [pending] = await approvals.find("local", ticket);
  if (pending === undefined) throw new Error("nothing waits under this ticket");
  return approvals.answer("local", pending, given);
}

async function goOn(host: Host, ticket: string): Promise<ExecutedProgram> {
  const taken = await host.suspended.take({ principal: "local" }, ticket);
  if (taken.kind !== "taken") throw new Error(`the run is ${taken.kind}`);
  const executed = await host.run({ ...options(), ...taken, program: taken.resumed.run.program });
  await executed.recorded;
  return executed;
}

const note = (server: "r" | "w", id: string) => [`mcp__${server}__note`, { id }] as const;

const sequence: ProgramFunction = async (program) => {
  const answers = [
    await program.call(...note("r", "read")),
    await program.call(...note("w", "first")),
    await program.call(...note("w", "second")),
  ];
  return answers.map((reply) => reply.ok);
};

const parallel: ProgramFunction = async (program) => {
  const calls = [note("r", "read a"), note("w", "first"), note("r", "read b"), note("w", "second")] as const;
  const answers = await Promise.all(calls.map((call) => program.call(...call)));
  return answers.map((reply) => reply.ok);
};

describe("a suspended run", () => {
  it.each([
    ["of calls one after the other", sequence, ["read"], [true, true, true]],
    ["of parallel calls", parallel, ["read a", "read b"], [true, true, true, true]],
  ])("%s goes on in another process, from question to question", async (_, program, before, data) => {
    const project = newProject();
    const first = await suspend(await project.open(program));
    expect(project.calls().sort()).toEqual(before);

    const second = await project.open(program);
    expect(await answer(second, first.ticket)).toBe(true);
    const again = await goOn(second, first.ticket);
    expect(again.suspended?.ticket).not.toBe(first.ticket);
    expect(project.calls().sort()).toEqual(["first", ...before].sort());

    const third = await project.open(program);
    await answer(third, again.suspended?.ticket ?? "");
    const { envelope, suspended } = await goOn(third, again.suspended?.ticket ?? "");
    expect(suspended).toBeUndefined();
    expect(envelope).toMatchObject({
      run_id: again.envelope.run_id,
      trace_id: again.envelope.trace_id,
      approval_state: "APPROVED",
      result: { ok: true, data },
    });
    expect(project.calls().sort()).toEqual(["first", "second", ...before].sort());
    // It is one run, in the archive of the process that ended it.
    const { record } = await third.store.read(envelope.run_id);
    expect(record.calls.map(({ decision }) => decision).sort()).toEqual(
      [...before.map(() => "allowed"), "approved-once", "approved-once"].sort(),
    );
    expect(await (await second.pendingApprovals()).list("local")).toEqual([]);
    await Promise.all([second.close(), third.close()]);
    const lines = project
      .audit()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ event }) => event === "call")).toHaveLength(data.length);
    expect(lines.filter(({ event }) => event === "run")).toHaveLength(1);
    expect(lines.filter(({ event }) => event === "approval")).toMatchObject([
      { decision: "suspended" },
      { decision: "approved", approver: "a person", how: "here" },
      { decision: "suspended" },
      { decision: "approved" },
    ]);
  });

  it("is told that it was denied, and goes on", async () => {
    const project = newProject();
    const host = await project.open(async (program) => {
      const reply = await program.call(...note("w", "first"));
      return reply.ok ? "called" : reply.error.type;
    });
    const { ticket } = await suspend(host);
    await answer(host, ticket, { decision: "denied", by: "a person" });
    const { envelope } = await goOn(host, ticket);
    expect(envelope).toMatchObject({ approval_state: "DENIED", result: { data: "ApprovalDenied" } });
    expect(project.calls()).toEqual([]);
  });

  it("takes its grants along, each with what is left of it", async () => {
    const project = newProject();
    const program: ProgramFunction = async ({ call }) => {
      const made = [];
      for (const id of ["/tmp/1", "/tmp/2", "/etc/3", "/tmp/4"]) made.push((await call(...note("w", id))).ok);
      return made;
    };
    const host = await project.open(program);
    const first = await suspend(host);
    await answer(host, first.ticket, { ...YES, decision: "run", except: { id: "/tmp/*" }, atMost: 2 });
    const { suspended: second } = await goOn(host, first.ticket);
    expect(project.calls()).toEqual(["/tmp/1", "/tmp/2"]);
    await answer(host, second?.ticket ?? "");
    // The grant covers this one, and is used up.
    const { suspended: third } = await goOn(host, second?.ticket ?? "");
    expect(project.calls()).toEqual(["/tmp/1", "/tmp/2", "/etc/3"]);
    expect(await (await host.pendingApprovals()).find("local", third?.ticket ?? "")).toMatchObject([
      { request: { arguments: { id: "/tmp/4" } } },
    ]);
  });

  it("that comes to another call on the way ends as diverged, having called nothing", async () => {
    const project = newProject();
    const { ticket } = await suspend(await project.open(sequence));
    const other = await project.open(async (program) => program.call(...note("r", "another")));
    await answer(other, ticket);
    const { envelope } = await goOn(other, ticket);
    expect(envelope.result).toMatchObject({ ok: false, error: { type: "ReplayDiverged" } });
    expect(project.calls()).toEqual(["read"]);
    expect(await other.suspended.take({ principal: "local" }, ticket)).toEqual({ kind: "unknown" });
  });

  it("that ends before it has made its calls again has diverged too", async () => {
    const project = newProject();
    const { ticket } = await suspend(await project.open(sequence));
    const other = await project.open(async () => "nothing to do");
    await answer(other, ticket);
    const { envelope } = await goOn(other, ticket);
    expect(envelope.result).toMatchObject({
      error: { type: "ReplayDiverged", message: expect.stringContaining("did not make call 1 again") },
    });
  });

  it("has read what it has read, also of a server that is gone when it goes on", async () => {
    const project = newProject();
    const program: ProgramFunction = async ({ call }) => {
      await call(...note("r", "read"));
      const reply = await call(...note("w", "first"));
      return reply.ok ? "called" : reply.error.message;
    };
    const { ticket } = await suspend(await project.open(program));
    project.write(({ servers: [, w] }) => ({ servers: [{ ...w, accepts: [] }] }));
    const later = await project.open(program);
    await answer(later, ticket);
    expect((await goOn(later, ticket)).envelope.result).toMatchObject({
      data: expect.stringContaining("server 'r' is no longer configured"),
    });
    expect(project.calls()).toEqual(["read"]);
  });

  it.each([
    ["untrusted", "does not accept 'untrusted' data"],
    [undefined, "called"],
  ])("keeps what the model that wrote it had been shown (%s), wherever it goes on", async (label, wanted) => {
    const project = newProject();
    project.write(({ servers: [r, w] }) => ({
      servers: [
        { ...r, labels: ["untrusted"] },
        { ...w },
        { ...r, name: "x", tools: { note: { accepts: { id: [] } } } },
      ],
    }));
    const program: ProgramFunction = async ({ call }) => {
      await call(...note("w", "first"));
      const reply = await call("mcp__x__note", { id: "eve@evil.test" });
      return reply.ok ? "called" : reply.error.message;
    };
    const host = await project.open(program);
    const conversation = new Conversation(label === undefined ? [] : [{ label }]);
    const { suspended, recorded } = await host.run({ ...options(), program: PROGRAM, conversation });
    await recorded;
    const ticket = suspended?.ticket ?? "";
    const later = await project.open(program);
    await answer(later, ticket);
    expect((await goOn(later, ticket)).envelope.result).toMatchObject({
      data: expect.stringContaining(wanted),
    });
  });

  it("tells a collector of where it was told of before", async () => {
    const project = newProject();
    const begun: BegunRunFacts[] = [];
    const place = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` };
    const telemetry: Telemetry = {
      beginRun(facts) {
        begun.push(facts);
        return {
          ...{ traceId: "a".repeat(32), place, onPhase: () => () => {} },
          ...{ aroundCalls: (next) => next, aroundQuestions: () => ({}), end: () => {} },
        };
      },
      serve: (_, answerTo) => answerTo(),
      queued: () => () => {},
      observePool: () => {},
      close: async () => {},
    };
    const host = await project.open(sequence, telemetry);
    const { ticket } = await suspend(host);
    await answer(host, ticket);
    await goOn(host, ticket);
    expect(begun.map(({ earlier }) => earlier)).toEqual([undefined, place]);
  });

  it("is answered once: the first answer counts", async () => {
    const host = await newProject().open(sequence);
    const { ticket } = await suspend(host);
    expect(await answer(host, ticket, { decision: "denied", by: "one" })).toBe(true);
    expect(await answer(host, ticket, { decision: "once", by: "another" })).toBe(false);
    expect((await goOn(host, ticket)).envelope.approval_state).toBe("DENIED");
  });

  it("goes on in one process only", async () => {
    const host = await newProject().open(sequence);
    const { ticket } = await suspend(host);
    expect(await host.suspended.take({ principal: "local" }, ticket)).toMatchObject({ kind: "unanswered" });
    expect(await host.suspended.take({ principal: "somebody else" }, ticket)).toEqual({ kind: "unknown" });
    await answer(host, ticket);
    const taken = await host.suspended.take({ principal: "local" }, ticket);
    expect(await host.suspended.take({ principal: "local" }, ticket)).toEqual({ kind: "elsewhere" });
    if (taken.kind === "taken") await taken.resumed.leave(true);
    expect(await host.suspended.take({ principal: "local" }, ticket)).toMatchObject({ kind: "taken" });
  });

  const EVE = "https://login.example.com#eve";
  const [LOGIN, WIDE, NARROW] = [
    { principal: EVE, groups: ["staff", "finance"] },
    { principal: EVE, groups: ["finance"], withOwnToken: true },
    { principal: EVE, boundGroups: ["staff", "finance"], withOwnToken: true },
  ] as const;
  it.each([
    ["a login", LOGIN, "its token without groups", NARROW, "of_more_groups"],
    ["a wide token", WIDE, "a narrow one", NARROW, "of_more_groups"],
    ["a narrow token", NARROW, "a wide one", WIDE, undefined],
    ["a narrow token", NARROW, "its login", LOGIN, undefined],
    ["a wide token", WIDE, "its login", LOGIN, ["finance"]],
  ] as const)(
    "begun with $0 goes on for $2 with no more than both have",
    async (_, began, __, by, groups) => {
      const host = await newProject().open(sequence);
      const request = { ...options(), suspends: true, program: PROGRAM };
      const begun = await host.run({ ...request, context: { ...began, source: "serve" } });
      await begun.recorded;
      const approvals = await host.pendingApprovals();
      const [pending] = await approvals.find(EVE, begun.suspended?.ticket ?? "");
      if (pending === undefined) throw new Error("nothing waits");
      await approvals.answer(EVE, pending, YES);
      const taken = await host.suspended.take(by, pending.ticket);
      if (groups === "of_more_groups") return expect(taken).toEqual({ kind: groups });
      if (taken.kind !== "taken") throw new Error(taken.kind);
      const { program } = taken.resumed.run;
      const context = { ...by, source: "serve" } as const;
      const executed = await host.run({ ...options(YES), ...taken, context, program });
      await executed.recorded;
      const { record } = await host.archive.read(executed.envelope.run_id);
      expect([record.groups, executed.envelope.result]).toMatchObject([groups, { ok: true }]);
      const isBound = (group: string) => !(groups as readonly string[] | undefined)?.includes(group);
      expect([...(record.bound_groups ?? [])].sort()).toEqual(["finance", "staff"].filter(isBound));
    },
  );

  it("can be tried again when it was cancelled before it called anything", async () => {
    const project = newProject();
    const host = await project.open(sequence);
    const { ticket } = await suspend(host);
    await answer(host, ticket);
    const taken = await host.suspended.take({ principal: "local" }, ticket);
    if (taken.kind !== "taken") throw new Error(taken.kind);
    const { envelope } = await host.run({
      ...{ ...options(), ...taken, program: taken.resumed.run.program },
      signal: AbortSignal.abort(),
    });
    expect(envelope.result).toMatchObject({ error: { type: "Cancelled" } });
    await goOn(host, ticket);
    expect(project.calls()).toEqual(["read", "first"]);
  });

  it("is unreadable without the key of this machine's user, and gone when it has expired", async () => {
    const project = newProject();
    const host = await project.open(async ({ call }) => {
      await call(...note("r", SECRET));
      return call(...note("w", SECRET));
    });
    const { ticket } = await suspend(host);
    expect(readFileSync(project.file, "latin1")).not.toContain(SECRET);
    // The person who is asked sees no secret, and the program gets its own back.
    expect(JSON.stringify(await (await host.pendingApprovals()).list("local"))).not.toContain(SECRET);
    await answer(host, ticket);
    const key = readFileSync(project.key);
    writeFileSync(project.key, Buffer.alloc(32));
    await expect(host.suspended.take({ principal: "local" }, ticket)).rejects.toThrow(
      "sealed with another key",
    );
    writeFileSync(project.key, key);
    await goOn(host, ticket);
    expect(project.calls()).toEqual([SECRET, SECRET]);
  });

  it("is denied instead where runs are not to be suspended", async () => {
    const host = await newProject({ suspend: false }).open(async (program) => {
      const reply = await program.call(...note("w", "first"));
      return reply.ok ? "called" : reply.error.message;
    });
    const { envelope } = await host.run({ ...options(), program: PROGRAM });
    expect(envelope.result).toMatchObject({ data: expect.stringContaining("nobody can be asked here") });
  });

  it("goes on with its sandbox, denied, when it cannot be kept", async () => {
    const project = newProject();
    const host = await project.open(async (program) => {
      const reply = await program.call(...note("w", "first"));
      return reply.ok ? "called" : reply.error.message;
    });
    mkdirSync(join(project.key, ".."), { recursive: true, mode: 0o700 });
    writeFileSync(project.key, "no key", { mode: 0o600 });
    const { envelope, suspended } = await host.run({ ...options(), program: PROGRAM });
    expect(suspended).toBeUndefined();
    expect(envelope.result).toMatchObject({ data: expect.stringContaining("is not what ptc has written") });
    expect(project.calls()).toEqual([]);
  });
});
