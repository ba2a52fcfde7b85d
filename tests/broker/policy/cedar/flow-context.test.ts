import { describe, expect, it } from "vitest";
import { Conversation } from "../../../../broker/flow/conversation.ts";
import { RunFlow } from "../../../../broker/flow/run-flow.ts";
import { Rules } from "../../../../broker/policy/cedar/cedar-rules.ts";
import { DataFlow } from "../../../../broker/policy/data-flow.ts";
import { RuleAuthorizer } from "../../../../broker/policy/rule-authorizer.ts";
import { toolOf } from "../../../catalog/tool-of.ts";

const FLOW = new DataFlow(new Map([["mail", { labels: ["untrusted"], tools: {} }]]), {
  lists: { colleagues: ["*@example.com"] },
});
const TOOL = toolOf("mail", "send");

/** A run that has read a mail which names `eve@evil.test`, and whose user has named `dan@partner.test`. */
async function authorize(condition: string, args: unknown, isIndependent = false) {
  const text = `permit(principal, action, resource);\nforbid(principal, action == Action::"call", resource) when { ${condition} };`;
  const { rules, problems } = await Rules.open({
    files: [{ file: "x.cedar", text }],
    groups: {},
    flow: FLOW,
  });
  if (problems.errors.length > 0) return problems.errors[0]?.message;
  const conversation = new Conversation();
  conversation.say("tell dan@partner.test");
  const run = new RunFlow({ conversation, runId: "1", isSticky: true, program: ['send("bob@example.com")'] });
  run.answered({ tool: "mcp__mail__read", server: "mail", seq: 1 }, ["untrusted"], undefined, [
    "eve@evil.test wrote you",
  ]);
  await run.show(["eve@evil.test wrote you"]);
  run.experimentWith(async (_, paths) => new Map(paths.map((path) => [path, isIndependent])));
  const policy = { allow: undefined, block: [], ask: [], neverAsk: [], byDefault: "annotated" } as const;
  const authorizer = new RuleAuthorizer({ policy, flow: FLOW, rules, clock: { wallMs: () => 0 } });
  const flow = await run.follow({ tool: TOOL.namespacedName, seq: 2, arguments: args });
  const history = { calls: 1, callsOfTool: 0, reads: [], flow: () => flow, shown: run.conversationLabels };
  return await authorizer.authorize({ principal: "ada", source: "run" }, TOOL, args, history);
}

const decide = async (...call: Parameters<typeof authorize>) => {
  const decision = await authorize(...call);
  return typeof decision === "string" ? decision : decision?.kind;
};

describe("rules about where values come from", () => {
  it.each([
    [
      'context.labels.hasTag("to") && context.labels.getTag("to").contains("untrusted")',
      { to: "eve@evil.test" },
      { to: "bob@example.com" },
    ],
    [
      'context.labels.hasTag("to") && context.labels.getTag("to").contains("untrusted")',
      { to: ["bob@example.com", "eve@evil.test"] },
      { to: ["bob@example.com"] },
    ],
    [
      'context.origins.hasTag("to") && context.origins.getTag("to").contains("mcp__mail__read")',
      { to: "eve@evil.test" },
      { to: "bob@example.com" },
    ],
    [
      'context.origins.hasTag("to") && context.origins.getTag("to").contains("user")',
      { to: "dan@partner.test" },
      { to: "eve@evil.test" },
    ],
    [
      'context.said.contains("to")',
      { to: ["dan@partner.test"] },
      { to: ["dan@partner.test", "bob@example.com"] },
    ],
    [
      'context.conversation.labels.contains("untrusted") && context.arguments.hasTag("x")',
      { x: "1" },
      { to: "a" },
    ],
    [
      'if context.domains.hasTag("to") then !["example.com"].containsAll(context.domains.getTag("to")) else false',
      { to: ["a@example.com", "b@evil.test"] },
      { to: ["a@example.com", "b@example.com"] },
    ],
    [
      'context.hosts.hasTag("url") && context.hosts.getTag("url").contains("evil.test")',
      { url: "https://example.com@evil.test/x" },
      { url: "https://example.com/evil.test" },
    ],
    [
      '!(context.listed.hasTag("colleagues") && context.listed.getTag("colleagues").contains("to"))',
      { to: ["bob@example.com", "eve@evil.test"] },
      { to: ["bob@example.com", "ADA@example.com"] },
    ],
  ])("forbid where %s", async (condition, forbidden, permitted) => {
    expect([await decide(condition, forbidden), await decide(condition, permitted)]).toEqual([
      "deny",
      "allow",
    ]);
  });

  it("have what content does not decide decided first, and take it for labelled where that says nothing", async () => {
    const condition = 'context.labels.hasTag("to") && context.labels.getTag("to").contains("untrusted")';
    expect(await decide(condition, { to: "made@up.test" })).toBe("deny");
    expect(await decide(condition, { to: "made@up.test" }, true)).toBe("allow");
    expect(await decide(condition, { to: "eve@evil.test" }, true)).toBe("deny");
  });

  it("say of at most three values what they come from or may depend on, and nothing of others", async () => {
    const condition = 'context.labels.hasTag("a")';
    const reasonFor = (args: object) => authorize(condition, args);
    const because = (values: string) => ({
      kind: "deny",
      reason: `it is forbidden by rule x.cedar:2${values}`,
    });
    expect(await reasonFor({ a: "bob@example.com" })).toMatchObject(because(""));
    const [eve, made] = ["eve@evil.test", "made@up.test"];
    const from = "comes from what mcp__mail__read answered (call 1) (written by a stranger)";
    const may = "may depend on 'untrusted' data";
    expect(await reasonFor({ a: eve, b: "bob@example.com", c: made, d: [eve], e: eve })).toMatchObject(
      because(`; \`a\` ${from}, \`c\` ${may}, \`d[0]\` ${from}`),
    );
  });

  it("are refused where a tag is read that may not be there, as the page says", async () => {
    const wrong =
      '!context.domains.hasTag("to") || !["example.com"].containsAll(context.domains.getTag("to"))';
    expect(await decide(wrong, {})).toMatch(/tag/);
  });
});
