import { expect, test } from "vitest";
import type { ApprovalRequest } from "../../../broker/approvals/approvals.ts";
import { unknownTool } from "../../../catalog/tool-catalog.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import { echoServer, servedProject } from "../../project/served-project.ts";
import { InProcessEngine } from "../../sandbox/in-process-engine.ts";

const PERMIT = "permit(principal, action, resource);\n";

/** A ptc that serves three servers which echo, and whose one program calls `echo` of servers, as `calls` says. */
async function serve(settings: object, rules: string) {
  const servers = [
    echoServer("vault", { labels: ["secret"] }),
    echoServer("web"),
    echoServer("shut", { accepts: [] }),
  ];
  const project = servedProject(
    { servers, execution: { typecheck: "off" }, ...settings },
    { "rules.cedar": rules },
  );
  let calls: readonly string[] = [];
  const replies: unknown[] = [];
  const engine = new InProcessEngine(async (program) => {
    replies.length = 0;
    for (const name of calls) replies.push(await program.call(`mcp__${name}__echo`, { text: name }));
  });
  const opened = await project.open({ engine, tools: 6 });
  const asked: ApprovalRequest[] = [];
  const run = async (names: readonly string[], more: Partial<RunContext> = {}) => {
    calls = names;
    asked.length = 0;
    const { envelope } = await opened.run({
      context: { principal: "local", source: "serve", ...more },
      approver: {
        async ask(request) {
          asked.push(request);
          return { decision: "once", by: "a person" };
        },
      },
    });
    const { record } = await opened.store.read(envelope.run_id);
    return { replies: [...replies], calls: record.calls };
  };
  return { ...opened, run, write: project.write, asked };
}

test("a run that has read what is labelled is kept from servers that do not accept it, and its record says by what", async () => {
  const { run } = await serve({}, "");
  const { replies, calls } = await run(["shut", "vault", "web", "shut"]);
  const reason =
    "it does not accept 'secret' data, which this run carries since it read mcp__vault__echo (call 2); tell the user what it was for, who decides about it";
  expect(replies).toMatchObject([
    { ok: true },
    { ok: true },
    { ok: true },
    {
      ok: false,
      error: { type: "ToolError", message: `'mcp__shut__echo' was not called: ${reason}`, retryable: false },
    },
  ]);
  expect(calls.map(({ decision, rule, reason: why }) => [decision, rule, why])).toEqual([
    ["allowed", undefined, undefined],
    ["allowed", undefined, undefined],
    ["allowed", undefined, undefined],
    ["forbidden", "accepts: server 'shut'", reason],
  ]);
  // Another run has read nothing.
  expect((await run(["shut"])).replies).toMatchObject([{ ok: true }]);
});

test("rules decide by what a run has read, and an edit of their file is in force for the next call", async () => {
  const forbid = `@id("stay") forbid(principal, action == Action::"call", resource in Server::"web")
  when { context.run.labels.contains("secret") };`;
  const { run, write, edits, catalog } = await serve({ policy: ["rules.cedar"] }, PERMIT + forbid);
  const first = await run(["web", "vault", "web"]);
  expect(first.replies).toMatchObject([{ ok: true }, { ok: true }, { ok: false }]);
  expect(first.calls.map(({ decision, rule }) => [decision, rule])).toEqual([
    ["allowed", "rules.cedar:1"],
    ["allowed", "rules.cedar:1"],
    ["forbidden", "stay (rules.cedar:2)"],
  ]);
  expect(first.calls[2]?.reason).toContain("this run has read mcp__vault__echo (call 2)");

  write("rules.cedar", `${PERMIT}forbid(principal == User::"bob", action, resource in Server::"vault");`);
  expect((await run(["vault", "web"])).replies).toMatchObject([{ ok: true }, { ok: true }]);
  expect(edits).toEqual(["the files of rules were edited, and are in force"]);
  const bob = await run(["vault", "web"], { principal: "bob" });
  expect(bob.replies).toMatchObject([
    { ok: false, error: { message: "'mcp__vault__echo' is not available in execute_program" } },
    { ok: true },
  ]);
  expect(bob.calls[0]).toMatchObject({ decision: "unavailable", rule: "rules.cedar:2" });
  const seen = async (principal: string) => (await catalog.current({ principal })).names().length;
  expect([await seen("bob"), await seen("local")]).toEqual([4, 6]);

  const said = '@reason("the vault is closed")';
  write(
    "rules.cedar",
    `${PERMIT}${said} forbid(principal == User::"bob", action, resource in Server::"vault");`,
  );
  const why = "it is forbidden by rule rules.cedar:2: the vault is closed";
  expect((await run(["vault"], { principal: "bob" })).replies).toMatchObject([
    { ok: false, error: { message: `'mcp__vault__echo' is not available in execute_program: ${why}` } },
  ]);
  expect(unknownTool("mcp__vault__echo", await catalog.current({ principal: "bob" }))).toBe(
    `'mcp__vault__echo' is blocked by the configuration of ptc: ${why}`,
  );
  // A rule that hides from lists says nothing to whom it hides from.
  write(
    "rules.cedar",
    `${PERMIT}${said} forbid(principal == User::"bob", action == Action::"list", resource);`,
  );
  expect((await run(["vault"], { principal: "bob" })).replies).toMatchObject([
    { ok: false, error: { message: "'mcp__vault__echo' is not available in execute_program" } },
  ]);

  write("rules.cedar", `${PERMIT}forbid(principal, action, resource) when { context.rum };`);
  expect((await run(["vault"])).replies).toMatchObject([{ ok: true }]);
  expect(edits.at(-1)).toMatch(/cannot be used.*: rules\.cedar:2: .*`rum`/);
  write("rules.cedar", "");
  expect((await run(["vault"])).replies).toMatchObject([{ ok: false }]);
});

test("a rule has a person asked, with what it says, where the rules let an approval count", async () => {
  const ask = `@ask("is it meant?") forbid(principal, action == Action::"call", resource in Server::"web")
    when { context.run.servers.contains("vault") || principal == User::"bob" };`;
  const { run, asked } = await serve(
    { policy: ["rules.cedar"] },
    `${PERMIT}${ask}forbid(principal == User::"bob", action == Action::"approve", resource);`,
  );
  expect((await run(["web"])).calls).toMatchObject([{ decision: "allowed" }]);
  expect((await run(["vault", "web"])).calls).toMatchObject([
    { decision: "allowed" },
    { decision: "approved-once", approver: "a person" },
  ]);
  const reason =
    "it needs an approval by rule rules.cedar:2: is it meant?; this run has read mcp__vault__echo (call 1)";
  expect(asked).toMatchObject([{ tool: "mcp__web__echo", reason }]);
  expect((await run(["web"], { principal: "bob" })).calls).toMatchObject([{ decision: "forbidden" }]);
});

test("a reviewer answers what the lists ask, and a person what a rule or a label asks", async () => {
  const tools = ["mcp__vault__echo", "mcp__web__echo", "mcp__shut__echo"];
  const allow = `console.log('{"decision":"allow"}')`;
  const settings = {
    policy: ["rules.cedar"],
    approvals: { ask: tools, reviewer: { by: "own", tools } },
    labels: { refused: "ask" },
    interceptors: [
      { name: "own", on: ["question"], command: [process.execPath, "-e", allow], timeout_seconds: 60 },
    ],
  };
  const rule = `@ask("the web") forbid(principal, action == Action::"call", resource in Server::"web");`;
  const { run, asked } = await serve(settings, PERMIT + rule);
  const { calls } = await run(["shut", "vault", "web", "shut"]);
  expect(calls.map(({ approver }) => approver)).toEqual([
    ...["interceptors.own", "interceptors.own"],
    ...["a person", "a person"],
  ]);
  expect(asked.map(({ tool }) => tool)).toEqual(["mcp__web__echo", "mcp__shut__echo"]);
});
