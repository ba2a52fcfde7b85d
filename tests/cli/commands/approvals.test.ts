import { mkdirSync } from "node:fs";
import { expect, it, onTestFinished, vi } from "vitest";
import { type Approver, LATER } from "../../../broker/approvals/approvals.ts";
import { main } from "../../../cli/main.ts";
import { loadConfiguration } from "../../../host/configuration/load.ts";
import { openServing } from "../../../host/serving.ts";
import { MemoryStore } from "../../archive/memory-store.ts";
import { eventually } from "../../eventually.ts";
import { InProcessEngine } from "../../sandbox/in-process-engine.ts";
import { projectFromSources } from "../ptc-from-sources.ts";
import { fixtureServer } from "../ptc-process.ts";
import { surroundingsIn } from "./runs-projects.ts";

/** A project whose one program makes a call that needs an approval. */
async function setUp() {
  const project = projectFromSources({
    "ptc.yaml": {
      servers: [fixtureServer("docs", "documents.mjs")],
      approvals: { ask: ["*"] },
      execution: { typecheck: "off" },
      sandbox: { warm: 0 },
    },
  });
  const { directory } = project;
  mkdirSync(`${directory}/run`, { mode: 0o700, recursive: true });
  const env = {
    ...project.env,
    PATH: process.env.PATH,
    PTC_KEYRING: "off",
    PTC_HOST: "off",
    XDG_RUNTIME_DIR: `${directory}/run`,
    XDG_STATE_HOME: `${directory}/state`,
  };
  const { host } = await openServing({
    configuration: await loadConfiguration({ flag: undefined, env, cwd: directory }),
    env,
    principal: "local",
    engine: () =>
      new InProcessEngine(async ({ call }) => call("mcp__docs__get_document", { documentId: "p\u0430y" })),
    archive: () => new MemoryStore(),
    onWarning: () => {},
  });
  onTestFinished(() => host.close());
  await host.warm();
  await expect.poll(async () => (await host.currentTools()).all.names().length).toBeGreaterThan(0);
  const run = (approver: Approver) =>
    host.run(
      { code: "1", data: {}, language: "javascript", fileName: "p.js" },
      {
        context: { principal: "local", source: "serve" },
        approver,
        suspends: true,
        signal: new AbortController().signal,
      },
    );
  const ptc = async (...args: string[]) => {
    const surroundings = { ...surroundingsIn(directory, ["node", "ptc", "approvals", ...args]), env };
    const code = await main(surroundings);
    return { code, stdout: surroundings.stdout.text, stderr: surroundings.stderr.text };
  };
  const taken = async (ticket: string) => {
    const run = (await host.pendingApprovals()).take("local", ticket);
    return run.kind === "resumed" ? run.resumed.answered.answer : run.kind;
  };
  return { ptc, run, taken };
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

it("a question that is asked just now is listed, shown and answered too, and its run goes on at once", async () => {
  const { ptc, run } = await setUp();
  const outrun = vi.fn();
  const running = run({ ask: () => new Promise(() => {}), outrun });
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
  expect(outrun).toHaveBeenCalledOnce();
  expect(await ptc("approve", listed.ticket)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("it was answered and went on"),
  });
});
