import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Approver, LATER } from "../../../broker/approvals/approvals.ts";
import { loadConfiguration } from "../../../configuration/load.ts";
import { openPending } from "../../../execution/pending/open-pending.ts";
import { openPasskeyStore, Passkeys } from "../../../logins/passkeys.ts";
import { Project } from "../../../project/open-project.ts";
import { openServing } from "../../../project/serving.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import { KeyList } from "../../../secrets/sealing.ts";
import { MemoryStore } from "../../archive/memory-store.ts";
import { SoftwarePasskey } from "../../console/software-passkey.ts";
import { eventually } from "../../eventually.ts";
import { InProcessEngine } from "../../sandbox/in-process-engine.ts";
import { projectInProcess } from "../in-process.ts";
import { fixtureServer } from "../ptc-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";

/** A project whose one program makes a call that needs an approval. */
async function setUp(settings: object = {}) {
  const {
    project,
    env,
    ptc: command,
  } = projectInProcess({
    servers: [fixtureServer("docs", "documents.mjs")],
    approvals: { ask: ["*"], ...settings },
    ...{ execution: { typecheck: "off" }, sandbox: { warm: 0 } },
  });
  const opened = new Project(await loadConfiguration({ flag: undefined, env, cwd: project.directory }), {
    env,
    archive: () => new MemoryStore(),
    onWarning: () => {},
  });
  const { host } = await openServing(opened, {
    principal: "local",
    engine: () =>
      new InProcessEngine(async ({ call }) => call("mcp__docs__get_document", { documentId: "p\u0430y" })),
  });
  onTestFinished(() => host.close());
  await host.warm();
  await expect.poll(async () => (await host.currentTools()).all.names().length).toBeGreaterThan(0);
  const run = (approver: Approver, context: Partial<RunContext> = {}) =>
    host.run({
      program: { code: "1", data: {}, language: "javascript", fileName: "p.js" },
      context: { principal: "local", source: "serve", ...context },
      approver,
      suspends: true,
      signal: new AbortController().signal,
    });
  const ptc = (...args: string[]) => command(["approvals", ...args]);
  const taken = async (ticket: string, principal = "local") => {
    const run = await (await host.pendingApprovals()).take({ principal }, ticket);
    return run.kind === "taken" ? run.resumed.answered.answer : run.kind;
  };
  return { project, env, host, ptc, run, taken };
}

it("an approval of further calls has a bound, also when nobody gives one, and none that is no number", async () => {
  const { ptc, run, taken } = await setUp();
  const { suspended, recorded } = await run({ ask: async () => LATER });
  await recorded;
  const ticket = suspended?.ticket ?? "none";
  expect((await ptc("show", ticket)).stdout).toContain('│   "documentId": "p\\u{430}y"');
  for (const [flags, problem] of [
    [["--all-calls", "--at-most", "0"], "--at-most: '0' is not a whole number"],
    [["--like", "id=*"], "--like: the call has no argument 'id'; it has documentId"],
    [["--at-most", "3"], "--at-most goes with"],
  ] as const)
    expect(await ptc("approve", ticket, ...flags)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(problem),
    });
  expect(await ptc("approve", ticket, "--like", "documentId=p*")).toMatchObject({ code: 0 });
  expect(await taken(ticket)).toMatchObject({
    decision: "run",
    except: { documentId: "p*" },
    atMost: 20,
    how: "ptc approvals",
  });
});

it("a question that is asked just now is listed, shown and answered too, and its run continues at once", async () => {
  const { ptc, run } = await setUp();
  const answeredElsewhere = vi.fn();
  const running = run({ ask: () => new Promise(() => {}), answeredElsewhere });
  const [listed] = await eventually(async () => {
    const found = JSON.parse((await ptc("list", "--json")).stdout);
    expect(found).toMatchObject([{ live: true, answered: false, tool: "mcp__docs__get_document" }]);
    return found;
  });
  expect((await ptc("list")).stdout).toContain("its run waits just now");
  expect((await ptc("show", listed.ticket)).stdout).toContain("its run waits for an answer just now");
  expect(await ptc("deny", listed.ticket)).toMatchObject({
    code: 0,
    stderr: "ptc: denied; its run goes on\n",
  });
  const { envelope, recorded } = await running;
  await recorded;
  expect(envelope.approval_state).toBe("DENIED");
  expect(answeredElsewhere).toHaveBeenCalledOnce();
  expect(await ptc("approve", listed.ticket)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("it was answered and has continued"),
  });
});

describe(`where approvals have to be typed at a terminal${WITHOUT_PYTHON}`, () => {
  /** Runs ptc without a terminal: a session of its own has none. */
  async function detached({ project, env }: Awaited<ReturnType<typeof setUp>>, ...args: string[]) {
    const [command = "", ...rest] = project.command(args);
    const child = spawn(command, rest, {
      cwd: project.directory,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    return { stdout, stderr, code };
  }
  const TERMINAL = { require: "terminal" };
  const WHY = "approvals count here only when they are typed at a terminal (approvals.require: terminal)";

  it("no client approves a call: its run waits for a person at a terminal, and no answer of another way counts", async () => {
    const { run, host } = await setUp(TERMINAL);
    const yes = { decision: "run", by: "elicitation" } as const;
    const client = { ask: vi.fn(async () => yes) };
    const { suspended, recorded } = await run(client);
    await recorded;
    expect(client.ask).not.toHaveBeenCalled();
    const approvals = await host.pendingApprovals();
    const [pending] = await approvals.find("local", suspended?.ticket ?? "none");
    if (pending === undefined) throw new Error("nothing waits");
    await expect(approvals.answer("local", pending, yes)).rejects.toThrow(WHY);
    expect(await approvals.answer("local", pending, { decision: "denied", by: "somebody" })).toBe(true);
    // An approver that says that it has a terminal approves nothing by saying so.
    const { envelope } = await run({ ...client, provesBy: "terminal" });
    expect(envelope.approval_state).toBe("DENIED");
  });

  it("an approval that was given before that was required does not count", async () => {
    const parts = await setUp();
    const { suspended, recorded } = await parts.run({ ask: async () => LATER });
    await recorded;
    const ticket = suspended?.ticket ?? "none";
    expect(await parts.ptc("approve", ticket)).toMatchObject({ code: 0 });
    const { directory } = parts.project;
    const configuration = await loadConfiguration({ flag: undefined, env: parts.env, cwd: directory });
    const { approvals, storage } = configuration;
    const loose = await openPending({ directory, approvals, storage }, parts.env);
    const grant = { tool: "mcp__docs__get_document", definitionDigest: "d", by: "terminal" };
    const run = {
      program: { code: "1", data: {}, language: "javascript", fileName: "p.js" },
      approvals: { state: "APPROVED", grants: [grant, { ...grant, proof: { way: "terminal" } }] },
    };
    const digests = { definitionDigest: "d", argumentsDigest: "e" };
    const request = { runId: "r", tool: grant.tool, arguments: {}, ...digests };
    const other = "0123456789abcdef";
    await loose.keep({ principal: "local", source: "serve" }, run as never, request, other);
    const [waiting] = await loose.find("local", other);
    if (waiting === undefined) throw new Error("nothing waits");
    await loose.answer("local", waiting, { decision: "denied", by: "somebody" });
    const strict = await openPending(
      { directory, approvals: { ...approvals, require: "terminal" }, storage },
      parts.env,
    );
    const taken = await strict.take({ principal: "local" }, ticket);
    const granted = await strict.take({ principal: "local" }, other);
    expect(granted.kind === "taken" && granted.resumed.run.approvals.grants).toEqual([
      { ...grant, proof: { way: "terminal" } },
    ]);
    expect(taken.kind === "taken" && taken.resumed.answered.answer).toMatchObject({
      decision: "denied",
      why: WHY,
    });
  });

  it("no command approves a call where a passkey has to, and a denial counts", async () => {
    const parts = await setUp({ require: "passkey" });
    const why =
      "approvals count here only with a passkey, in the inbox of the console (approvals.require: passkey)";
    const { suspended, recorded } = await parts.run({
      ask: async () => ({ decision: "once", by: "elicitation" }),
    });
    await recorded;
    const ticket = suspended?.ticket ?? "none";
    expect(await parts.ptc("approve", ticket)).toMatchObject({ code: 2, stderr: `ptc: approve: ${why}\n` });
    const call = ["call", "docs.get_document", "documentId=a"];
    expect((await detached(parts, ...call, "--approve", "*")).stderr).toBe(`ptc: --approve: ${why}\n`);
    const alone = await detached(parts, ...call);
    expect(alone.stderr).toContain(`docs__get_document was denied: ${why}`);
    expect(await parts.ptc("deny", ticket)).toMatchObject({ code: 0 });
  });

  it("a passkey that one process has registered is used in another, once for one use", async () => {
    const { project, env } = await setUp({ require: "passkey" });
    const configuration = await loadConfiguration({ flag: undefined, env, cwd: project.directory });
    const origin = "https://ptc.example.com";
    const open = () =>
      new Passkeys({
        store: openPasskeyStore(env, configuration),
        ...{ origin, now: Date.now, onChange: () => {} },
        sealer: async () => new KeyList([Buffer.alloc(32, 7)]),
      });
    const [one, other] = [open(), open()];
    const key = new SoftwarePasskey(origin);
    const offered = await one.offer({ principal: "ada", name: "Ada" });
    await one.register("ada", { sealed: offered.sealed, response: key.create(offered.options) });
    expect(await other.list("ada")).toMatchObject([{ id: key.id, rpId: "ptc.example.com" }]);
    expect(await other.list("eve")).toEqual([]);
    const { options, sealed } = await one.ask("ada", { kind: "add" });
    const answer = { sealed, response: key.get(options) };
    expect(await other.use("ada", "add", answer)).toEqual({ use: { kind: "add" }, credential: key.id });
    await expect(one.use("ada", "add", answer)).rejects.toThrow("was counted before");
  });

  it.skipIf(!hasPython)(
    "a call at a terminal waits for the passkey, and goes on when it was answered elsewhere",
    async () => {
      const { project, env } = await setUp({ require: "passkey" });
      const call = ["call", "docs.get_document", "documentId=a"];
      const screen = onTerminal(project, [], call, env);
      const { directory } = project;
      const configuration = await loadConfiguration({ flag: undefined, env, cwd: directory });
      const approvals = await openPending(configuration, env);
      const pending = await vi.waitFor(
        async () => {
          const [found] = await approvals.list("local");
          if (found === undefined) throw new Error("nothing waits");
          return found;
        },
        { timeout: 20_000 },
      );
      const proof = { way: "passkey", credential: "k" } as const;
      await approvals.answer("local", pending, { decision: "once", by: "ada", proof });
      expect(await screen).toMatch(
        /waits for a passkey: answer it in the inbox of the console[\s\S]*Document a/,
      );
      const lines: string[] = [];
      for await (const { line } of new Project(configuration, { env, onWarning() {} })
        .readAudit()
        .entries({}))
        lines.push(line);
      expect(lines.join("\n")).toMatch(/"event":"approval"[^\n]*"decision":"approved"[^\n]*"credential":"k"/);
    },
  );

  it.skipIf(!hasPython)(
    "ptc approvals approve asks at a terminal for a word that is shown there, and in a script says why not",
    async () => {
      const parts = await setUp(TERMINAL);
      const { suspended, recorded } = await parts.run({ ask: async () => LATER });
      await recorded;
      const ticket = suspended?.ticket ?? "none";
      expect(await detached(parts, "approvals", "approve", ticket)).toEqual({
        code: 2,
        stdout: "",
        stderr: `ptc: approve: ${WHY}, and there is none here\n`,
      });
      const asked = "type ([a-z]+) to approve[^:]*: ";
      const at = (typed: string, args: string[]) =>
        onTerminal(parts.project, [[asked, typed]], args, parts.env);
      const approve = ["approvals", "approve", ticket, "--all-calls", "--at-most", "2"];
      expect(await at("yes\r", approve)).toContain(`${ticket} was not approved, and waits as before`);
      // Its standard streams can be of a script.
      const [command = "", ...rest] = parts.project.command(approve);
      const script = ["-c", 'echo yes | "$@" 2>/dev/null >/dev/null', "sh", command, ...rest];
      const screen = await onTerminal(
        { ...parts.project, directory: parts.project.directory, command: () => ["sh", ...script] },
        [[asked, "\\1\r"]],
        [],
        parts.env,
      );
      expect(screen).toContain('│   "documentId": "p\\u{430}y"');
      expect(await parts.taken(ticket)).toMatchObject({
        decision: "run",
        atMost: 2,
        proof: { way: "terminal" },
      });
    },
  );

  it.skipIf(!hasPython)(
    "a call is asked about at the terminal, and approved by the word that it shows",
    async () => {
      const { project, env } = await setUp(TERMINAL);
      const steps = (typed: string): [string, string][] => [
        ["get_document\\? \\[y\\]es, .*: ", "y\r"],
        ["type ([a-z]+) to approve[^:]*: ", typed],
      ];
      const call = ["call", "docs.get_document", "documentId=a"];
      expect(await onTerminal(project, steps("\\1\r"), call, env)).toContain("Document a");
      expect(await onTerminal(project, steps("y\r"), call, env)).toContain("was refused by the user");
    },
  );

  it("--approve is refused in one line", async () => {
    const parts = await setUp(TERMINAL);
    parts.project.write("p.js", "1");
    for (const args of [
      ["run", "p.js"],
      ["call", "docs.get_document", "documentId=a"],
      ["replay", "abcd", "--live"],
    ])
      expect(await detached(parts, ...args, "--approve", "*")).toEqual({
        code: 2,
        stdout: "",
        stderr: `ptc: --approve: ${WHY}\n`,
      });
  });
});

it("whoever runs ptc on the machine sees what waits for everybody, says for whom, and answers it", async () => {
  const { ptc, run, taken } = await setUp();
  const ada = "https://login.example.com#ada";
  const suspend = async (context?: Partial<RunContext>) => {
    const { suspended, recorded } = await run({ ask: async () => LATER }, context);
    await recorded;
    return suspended?.ticket ?? "none";
  };
  const own = await suspend();
  expect((await ptc("list")).stdout).not.toContain("local");
  const hers = await suspend({ principal: ada, name: "Ada", groups: ["leads"] });
  expect((await ptc("list")).stdout.split("\n")).toEqual([
    expect.stringMatching(new RegExp(`^${own}  .*  local  asked`)),
    expect.stringContaining(`${hers}  mcp__docs__get_document  ${ada} (named "Ada" by the login)  asked`),
    "",
  ]);
  expect((await ptc("list", "--principal", ada)).stdout).not.toContain(own);
  expect((await ptc("show", hers)).stdout).toContain(`, for ${ada} (named "Ada" by the login), asked`);
  const answered = await ptc("approve", hers);
  expect(answered).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("its client continues the run"),
  });
  expect([await taken(hers), await taken(hers, ada)]).toEqual([
    "unknown",
    expect.objectContaining({ decision: "once", how: "ptc approvals" }),
  ]);
});
