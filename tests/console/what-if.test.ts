import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseConfiguration } from "../../configuration/parse.ts";
import { type WhatIf, whatIf } from "../../console/what-if.ts";
import { MemoryStore } from "../archive/memory-store.ts";
import { serversOf } from "../catalog/tool-of.ts";
import { heldBy } from "../loop/probe.ts";
import { viewOf } from "../server/mcp/served.ts";
import { archiveIn, type SampleRun } from "../server/reports/sample-archive.ts";
import { newFolder } from "../temporary-folder.ts";
import { ALL, enter, serveConsole } from "./served-console.ts";

const SERVERS = { servers: ["docs", "mail"].map((name) => ({ name, command: "x" })) };
const TOOLS = viewOf(
  serversOf({ docs: [{ name: "get_document" }], mail: [{ name: "send_message" }, { name: "search" }] }),
);
const GET = { tool: "mcp__docs__get_document", from: 0, took: 1 };
const SEND = { tool: "mcp__mail__send_message", from: 5, took: 1, arguments: { to: "eve@evil.test" } };
const PERMIT = "permit (principal, action, resource);\n";

async function suppose(
  rule: string,
  runs: readonly SampleRun[],
  more: object = {},
  bounds: Parameters<typeof whatIf>[5] = {},
  who = "ada",
  all = TOOLS,
): Promise<WhatIf> {
  const configuration = parseConfiguration(JSON.stringify({ ...SERVERS, ...more }), {
    ...{ file: "ptc.yaml", directory: newFolder(), environment: {} },
  });
  const archive = new MemoryStore();
  for (const [i, run] of runs.entries())
    await archiveIn(archive, { startedAt: Date.UTC(2026, 9, 1) + i, ...run });
  return whatIf(who, rule, runs.length === 0 ? undefined : archive, {}, { configuration, all }, bounds);
}

const told = ({ otherwise }: WhatIf) =>
  otherwise.map(({ tool, call, before, after }) => [tool, call, before.kind, after.kind]);

describe("a rule that is supposed", () => {
  it("says which calls it would have decided otherwise, by their arguments", async () => {
    const result = await suppose(
      `${PERMIT}@id("no-evil")\nforbid (principal, action == Action::"call", resource == Tool::"mcp__mail__send_message")\nwhen { context.arguments.hasTag("to") && context.arguments.getTag("to") like "*@evil.test" };`,
      [{ calls: [GET, SEND, { ...SEND, arguments: { to: "ada@example.com" } }] }],
    );
    expect(told(result)).toEqual([["mcp__mail__send_message", 2, "allow", "deny"]]);
    expect(result.otherwise[0]?.after.rule).toContain("no-evil (the rule:");
    expect(result).toMatchObject({ calls: 3, runs: 1, skipped: 0, endedBy: undefined, notes: [] });
  });

  it("says the same of a tool that its viewer does not see as of one that does not exist", async () => {
    const seen = viewOf(serversOf({ docs: [{ name: "get_document" }] }));
    const about = (tool: string) =>
      suppose(`tools: { block: ["${tool}"] }`, [{ calls: [{ ...GET, tool }] }], {}, {}, "ada", seen);
    const outcome = async (tool: string) => JSON.stringify(await about(tool)).replaceAll(tool, "TOOL");
    expect(await outcome("mcp__mail__search")).toBe(await outcome("mcp__mail__nothing"));
    expect((await about("mcp__mail__search")).notes).toEqual([
      "'mcp__mail__search' matches no tool that is known",
    ]);
  });

  it("decides by what the run had done before each call", async () => {
    const rule = `${PERMIT}forbid (principal, action == Action::"call", resource == Tool::"mcp__mail__send_message")\nwhen { context.run.servers.contains("docs") };`;
    expect(told(await suppose(rule, [{ calls: [SEND, GET, { ...SEND, from: 9 }] }]))).toEqual([
      ["mcp__mail__send_message", 3, "allow", "deny"],
    ]);
    const denied = { ...GET, error: "no", decision: "denied" };
    expect(told(await suppose(rule, [{ calls: [denied, SEND] }]))).toEqual([]);
  });

  it("takes lists in the form of ptc.yaml, beside those that there are", async () => {
    const runs = [{ calls: [GET, SEND] }];
    expect(told(await suppose('approvals: { ask: ["mcp__mail__*"] }', runs))).toEqual([
      ["mcp__mail__send_message", 2, "allow", "ask"],
    ]);
    expect(told(await suppose("tools:\n  block: [mcp__docs__*]\n", runs))).toEqual([
      ["mcp__docs__get_document", 1, "allow", "deny"],
    ]);
    const asking = { approvals: { ask: ["mcp__mail__*"] } };
    expect(told(await suppose("approvals: { allow: [mcp__mail__send_message] }", runs, asking))).toEqual([
      ["mcp__mail__send_message", 2, "ask", "allow"],
    ]);
  });

  it("is told of where it permits nothing, and of patterns that match no tool", async () => {
    expect((await suppose("forbid (principal, action, resource);", [])).notes).toEqual([
      expect.stringContaining("no rule permits anything"),
    ]);
    expect((await suppose("tools: { block: [mcp__nothing__*] }", [])).notes).toEqual([
      "'mcp__nothing__*' matches no tool that is known",
    ]);
  });

  it.each([
    ["permit (principal, action, resource", "the rule:1: "],
    [`${PERMIT}forbid (principal, action, resource) when { context.nonsense };`, "the rule:2: "],
    ["just some words", "the rule is neither a rule of Cedar"],
    ["", "the rule is neither a rule of Cedar"],
    ["tools: [", "the rule:1: "],
    ["approvals:\n  asks: [x]\n", "the rule:2: approvals.asks: "],
    ["tools: { block: x }", "the rule:1: tools.block: "],
    ["a: 1\n", "the rule:1: a: "],
    ["{}", "the rule has neither `tools` nor `approvals`"],
    ["x".repeat(40_000), "the rule is longer than"],
  ])("is refused in one line where it is none: %j", async (rule, why) => {
    const message = await suppose(rule, []).then(
      () => "it was taken",
      (error: Error) => error.message,
    );
    expect(message).toContain(why);
    expect(message).not.toContain("\n");
  });

  it("looks at no more calls than its bound, at no replays, and skips tools that are known no more", async () => {
    const runs: SampleRun[] = [
      { calls: Array.from({ length: 8 }, () => GET) },
      { calls: [GET], source: "replay" },
      { calls: [{ ...GET, tool: "mcp__gone__tool" }, { ...GET, unkept: "too large" }, GET] },
    ];
    const rule = "tools: { block: [mcp__docs__*] }";
    expect(await suppose(rule, runs, {}, { maxCalls: 5 })).toMatchObject({
      ...{ calls: 3, skipped: 2, runs: 2, endedBy: "calls" },
    });
    expect(await suppose(rule, runs)).toMatchObject({ calls: 9, skipped: 2, endedBy: undefined });
  });

  const NEAR_MISS = (chars: number) =>
    `${PERMIT}forbid (principal, action == Action::"call", resource) when { context.arguments.hasTag("body") && context.arguments.getTag("body") like "*${"x".repeat(chars)}y" };`;

  it("ends at its budget with what it has found, and holds up nobody meanwhile", async () => {
    const runs = [{ calls: [{ ...SEND, arguments: { body: "x".repeat(1_000_000) } }] }];
    const { heldMs, result } = await heldBy(() => suppose(NEAR_MISS(30_000), runs, {}, { budgetMs: 2_000 }));
    expect(result).toMatchObject({ calls: 0, runs: 1, endedBy: "time" });
    expect(heldMs).toBeLessThan(1_000);
  });

  it.each([
    [
      "nested parentheses",
      `permit(principal,action,resource) when {${"(".repeat(3_000)}true${")".repeat(3_000)}};`,
    ],
    ["quotes that do not end", '"\\'.repeat(16_000)],
    ["rules without words", ";".repeat(32_000)],
    ["rules that say the same", PERMIT.repeat(800)],
  ])("is no hold on anybody where it is made of %s, nor on the next rule", async (_, rule) => {
    const { heldMs } = await heldBy(() => suppose(rule, [{ calls: [GET] }]).catch(() => {}));
    expect(heldMs).toBeLessThan(1_000);
    expect(told(await suppose("tools: { block: [mcp__docs__*] }", [{ calls: [GET] }]))).toHaveLength(1);
  });

  it("waits behind the same person's, and not behind another's", async () => {
    const runs = [{ calls: [{ ...SEND, arguments: { body: "x".repeat(1_000_000) } }] }];
    const ended: string[] = [];
    const by = (who: string, rule: string, budgetMs: number) =>
      suppose(rule, runs, {}, { budgetMs }, who).then(
        () => ended.push(who),
        (error: Error) => ended.push(error.message),
      );
    const busy = [0, 1, 2].map(() => by("eve", NEAR_MISS(30_000), 3_000));
    await by("eve", "tools: {}", 20_000);
    expect(ended).toEqual(["waits behind too many others; try again when these have ended"]);
    await by("ada", "tools: { block: [mcp__docs__*] }", 20_000);
    expect(ended.slice(1).filter((who) => who === "eve").length).toBeLessThan(3);
    await Promise.all(busy);
  });

  it("writes nothing, however many rules it has", async () => {
    const directory = newFolder();
    const configuration = parseConfiguration("{}", { file: "ptc.yaml", directory, environment: {} });
    await whatIf("ada", PERMIT.repeat(150), undefined, {}, { configuration, all: TOOLS });
    expect(existsSync(join(directory, ".ptc"))).toBe(false);
  });
});

describe("the page of the rules", () => {
  async function opened(more: Parameters<typeof serveConsole>[0] = {}) {
    const served = await serveConsole(more, SERVERS);
    const visitor = await enter(served.origin, served.address());
    const suppose = async (rule: string, token?: string) =>
      visitor.post("/console/rules/what-if", { rule, token: token ?? (await visitor.token()) });
    return { ...served, visitor, suppose };
  }

  it("shows what a rule would have decided, with the rule to go on with, and saves nothing", async () => {
    const { suppose, archived, visitor, warnings } = await opened();
    const id = await archived({ calls: [GET, SEND], startedAt: Date.now() });
    const page = await (await suppose('approvals:\r\n  ask: ["mcp__mail__*"]')).text();
    expect(page).toContain("Of the newest 2 calls, in 1 run, it would have decided 1 otherwise.");
    for (const text of [
      `/console/runs/${id}`,
      "asks a person",
      "approvals.ask: mcp__mail__*",
      "ask: [&quot;mcp",
    ])
      expect(page).toContain(text);
    expect(await visitor.text("/console/rules")).not.toContain("ask: [&quot;mcp__mail__*&quot;]</textarea>");
    expect(warnings).toEqual([]);
  });

  it("says in one line what is wrong with a rule, and takes it from no form without the session's token", async () => {
    const { suppose } = await opened();
    const wrong = await suppose("<img src=x> permit (");
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining("the rule:1:")]);
    expect((await suppose("tools: {}", "A".repeat(24))).status).toBe(403);
  });

  it("looks at none but the viewer's own runs where they see no others", async () => {
    const { suppose, archived } = await opened({ rightsOf: async () => ({ ...ALL, runs: "own" }) });
    await archived({ names: "https://login.example.com#eve", calls: [GET, SEND] });
    await archived({ calls: [GET] });
    const page = await (await suppose("tools: { block: [mcp__*] }")).text();
    expect(page).toContain("Of the newest 1 call, in 1 run");
    expect(page).not.toContain("#eve");
  });

  it("shows the project's cases with their results, to whoever sees what rules decided for everybody", async () => {
    let audit: "all" | "own" = "all";
    const { folder, visitor } = await opened({ rightsOf: async () => ({ ...ALL, audit }) });
    expect(await visitor.text("/console/rules")).not.toContain('id="cases"');
    const path = join(folder, "policy-tests.yaml");
    writeFileSync(
      path,
      "cases:\n  - { name: mail <goes>, tool: mcp__mail__send_message, expect: allow }\n  - { tool: mcp__docs__get_document, expect: deny }\n",
    );
    const page = await visitor.text("/console/rules");
    expect(page).toContain("1 of 2 as expected");
    expect(page).toContain("mail &lt;goes&gt;");
    audit = "own";
    expect(await visitor.text("/console/rules")).not.toContain('id="cases"');
    audit = "all";
    writeFileSync(path, "cases: [{ expect: maybe }]\n");
    const wrong = await visitor.get("/console/rules");
    expect([wrong.status, await wrong.text()]).toEqual([
      200,
      expect.stringContaining("policy-tests.yaml:1: cases.0"),
    ]);
  });
});
