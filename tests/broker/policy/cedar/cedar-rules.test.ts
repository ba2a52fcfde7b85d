import * as cedar from "@cedar-policy/cedar-wasm/nodejs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadCedar } from "../../../../broker/policy/cedar/cedar-engine.ts";
import { type RuledCall, Rules } from "../../../../broker/policy/cedar/cedar-rules.ts";
import { PEOPLE_SCHEMA, RULE_SCHEMA } from "../../../../broker/policy/cedar/rule-schema.ts";
import {
  looksAtFlow,
  RuleIndex,
  type RuleSubject,
  readRules,
  splitRules,
  withoutContext,
} from "../../../../broker/policy/cedar/rule-set.ts";
import { DataFlow } from "../../../../broker/policy/data-flow.ts";
import { RuleAuthorizer } from "../../../../broker/policy/rule-authorizer.ts";
import type { RunHistory, RunRead } from "../../../../broker/policy/run-history.ts";
import { toolOf } from "../../../catalog/tool-of.ts";
import { heldBy } from "../../../loop/probe.ts";
import { rowsBeside } from "../../../rows.ts";
import { tries } from "../../../tries.ts";

const rows = rowsBeside(import.meta.filename);

const flow = new DataFlow(
  new Map([
    ["a", { labels: ["secret"], tools: {} }],
    ["b", { tools: {}, accepts: ["public"] }],
  ]),
);
const PERMIT = "permit(principal, action, resource);\n";

async function open(text: string, isChecked = false) {
  return Rules.open({ files: [{ file: "x.cedar", text }], groups: { team: ["ada"] }, flow, isChecked });
}

function callOf(more: Partial<RuledCall> = {}): RuledCall {
  return {
    context: { principal: "ada", source: "run" },
    tool: toolOf("b", "send"),
    arguments: {},
    run: { calls: 0, callsOfTool: 0, reads: [] },
    nowMs: Date.parse("2026-03-01T12:00:00Z"),
    ...more,
  };
}

const readOf = (server: string): RunHistory => ({
  calls: 1,
  callsOfTool: 0,
  reads: [{ seq: 1, tool: `mcp__${server}__get`, server, name: "get" }],
});

/** A rule that forbids calls under a condition, beside one that permits everything. */
async function decideWhere(condition: string, call: Partial<RuledCall>) {
  const { rules, problems } = await open(
    `${PERMIT}@id("it") forbid(principal, action == Action::"call", resource) when { ${condition} };`,
  );
  expect(problems.errors).toEqual([]);
  return (await rules.decide(callOf(call))).kind;
}

describe("groups that only bind", () => {
  const eve = (groups: string[], boundGroups: string[] = []): Partial<RuledCall> => ({
    context: { principal: "eve", source: "serve", groups, boundGroups },
  });

  it("permit nothing", async () => {
    const { rules } = await open('permit(principal in Group::"admins", action, resource);');
    expect((await rules.decide(callOf(eve(["admins"])))).kind).toBe("allow");
    expect((await rules.decide(callOf(eve([], ["admins"])))).kind).toBe("deny");
    expect((await rules.decideApproval(callOf(eve([], ["admins"])))).kind).toBe("deny");
    const viewer = { principal: "eve", boundGroups: ["admins"] };
    expect(rules.decideVisibility(viewer, toolOf("b", "send")).kind).toBe("deny");
  });

  it.each([
    ["by a rule's head", 'principal in Group::"contractors", action', ""],
    ["by a rule's condition", "principal, action", 'when { principal in Group::"contractors" }'],
  ])("are forbidden what a group is, %s", async (_, head, condition) => {
    const { rules } = await open(`${PERMIT}@id("no") forbid(${head}, resource) ${condition};`);
    const viewer = { principal: "eve", boundGroups: ["contractors"] };
    expect((await rules.decide(callOf(eve([])))).kind).toBe("allow");
    expect(await rules.decide(callOf(eve([], ["contractors"])))).toMatchObject({
      kind: "deny",
      rule: "no (x.cedar:2)",
    });
    expect((await rules.decideApproval(callOf(eve([], ["contractors"])))).kind).toBe("deny");
    expect(rules.decideVisibility(viewer, toolOf("b", "send")).kind).toBe("deny");
  });

  it("are asked about what a group is asked about", async () => {
    const { rules } = await open(
      `${PERMIT}@ask forbid(principal in Group::"contractors", action, resource);`,
    );
    expect((await rules.decide(callOf(eve([], ["contractors"])))).kind).toBe("ask");
  });

  it("lift no prohibition from which a group is excepted", async () => {
    const { rules } = await open(
      `${PERMIT}forbid(principal, action, resource) unless { principal in Group::"admins" };`,
    );
    expect((await rules.decide(callOf(eve(["admins"])))).kind).toBe("allow");
    expect((await rules.decide(callOf(eve([], ["admins"])))).kind).toBe("deny");
  });

  it("never let a token do more than its owner or than its own groups do, whatever the rules", async () => {
    const GROUPS = ["a", "b", "c"];
    const group = fc.constantFrom(...GROUPS);
    const rule = fc
      .record({
        effect: fc.constantFrom("permit", "forbid", "@ask forbid"),
        head: fc.option(group),
        when: fc.option(group),
        unless: fc.option(group),
      })
      .map(({ effect, head, when, unless }) => {
        const who = head === null ? "principal" : `principal in Group::"${head}"`;
        const clauses = [
          when === null ? "" : `when { principal in Group::"${when}" }`,
          unless === null ? "" : `unless { principal in Group::"${unless}" }`,
        ];
        return `${effect}(${who}, action, resource) ${clauses.join(" ")};`;
      });
    const STRICTNESS = { allow: 0, ask: 1, deny: 2 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { minLength: 1, maxLength: 5 }),
        fc.subarray(GROUPS),
        fc.subarray(GROUPS),
        async (texts, own, rest) => {
          const { rules } = await open(texts.join("\n"));
          const bound = rest.filter((each) => !own.includes(each));
          const strictness = async (groups: string[], boundGroups: string[] = []) =>
            STRICTNESS[(await rules.decide(callOf(eve(groups, boundGroups)))).kind];
          const token = await strictness(own, bound);
          expect(token).toBeGreaterThanOrEqual(await strictness(own));
          expect(token).toBeGreaterThanOrEqual(await strictness([...own, ...bound]));
        },
      ),
      { numRuns: tries(100) },
    );
  });
});

describe("rules", () => {
  type Row = [condition: string, holds: Partial<RuledCall>, holdsNot: Partial<RuledCall>];
  const elsewhere = { tool: toolOf("a", "send") };
  it.each<Row>([
    ...rows<Row>("conditions"),
    [
      'context.client.name == "agent" && context.client.id == "c-1"',
      { context: { principal: "ada", source: "serve", client: { name: "agent" }, clientId: "c-1" } },
      { context: { principal: "ada", source: "serve", client: { name: "agent" } } },
    ],
    [
      'context.client.name == "" && context.client.id == "c-1"',
      { context: { principal: "ada", source: "serve", clientId: "c-1" } },
      { context: { principal: "ada", source: "serve", client: { name: "agent" }, clientId: "c-1" } },
    ],
    ['context.run.labels.contains("secret")', { run: readOf("a") }, { run: readOf("b") }],
    ['context.run.servers == ["b"]', { run: readOf("b") }, { run: readOf("a") }],
    ["context.run.callsOfTool >= 2", { run: { ...readOf("b"), callsOfTool: 2 } }, { run: readOf("b") }],
    ['resource in Server::"b"', {}, elsewhere],
    ['resource has accepts && resource.accepts.contains("public")', {}, elsewhere],
    [
      "resource.claims has readOnly && resource.claims.readOnly",
      { tool: toolOf("b", "send", { annotations: { readOnlyHint: true } }) },
      { tool: toolOf("b", "send", { annotations: { readOnlyHint: "true" } }) },
    ],
  ])("see what they speak of: %s", async (condition, holds, holdsNot) => {
    expect(await decideWhere(condition, holds)).toBe("deny");
    expect(await decideWhere(condition, holdsNot)).toBe("allow");
  });

  it("permit nothing on their own, and say so", async () => {
    const { rules } = await open('permit(principal == User::"bob", action, resource);');
    expect(await rules.decide(callOf())).toEqual({
      kind: "deny",
      rule: "policy: no rule",
      reason: "no rule permits a call of it to 'ada'",
    });
  });

  it.each([
    [
      '@id("it") @reason("Not on Sundays.")',
      "it (x.cedar:2)",
      "it is forbidden by rule it (x.cedar:2): Not on Sundays.",
      true,
    ],
    ['@id("it")', "it (x.cedar:2)", "it is forbidden by rule it (x.cedar:2)", false],
    ['@reason("")', "x.cedar:2", "it is forbidden by rule x.cedar:2", false],
  ])(
    "deny by their name, and with their reason where they say one: %s",
    async (annotations, rule, reason, isSaid) => {
      const { rules } = await open(
        `${PERMIT}${annotations} forbid(principal, action == Action::"call", resource);`,
      );
      expect(await rules.decide(callOf())).toEqual({ kind: "deny", rule, reason, isSaid });
    },
  );

  it("deny what cannot be decided, with the reason", async () => {
    const overflow = await open(
      `${PERMIT}@id("big") forbid(principal, action == Action::"call", resource) when { context.run.calls * 9223372036854775807 > 1 };`,
    );
    const { kind, reason, isUndecided } = await overflow.rules.decide(
      callOf({ run: { ...readOf("b"), calls: 2 } }),
    );
    expect({ kind, isUndecided }).toEqual({ kind: "deny", isUndecided: true });
    expect(reason).toMatch(/^whether it may be could not be decided \(big \(x\.cedar:2\): .*overflow/);
    const looking = await open(
      `${PERMIT}forbid(principal, action == Action::"call", resource) when { context.arguments.hasTag("x") };`,
    );
    expect((await looking.rules.decide(callOf({ arguments: Array(6_000).fill(1) }))).reason).toContain(
      "too many or too long",
    );
    const tainted = await open(
      `${PERMIT}forbid(principal, action == Action::"call", resource) when { context.run.labels.contains("x") };`,
    );
    expect((await tainted.rules.decide(callOf({ run: readOf("gone") }))).reason).toContain(
      "mcp__gone__get (call 1), whose server is no longer configured",
    );
  });

  it("that the engine cannot take deny all they are asked about, whatever else permits it", async () => {
    const broken = '@id("broken") permit(principal, action, resource) when { ( };\n';
    for (const text of [PERMIT + broken, `${PERMIT}${broken.replace("permit", "@ask forbid")}`]) {
      const { rules } = await open(text, true);
      const reason = expect.stringContaining("could not be decided");
      expect(await rules.decide(callOf())).toMatchObject({ kind: "deny", isUndecided: true, reason });
    }
    const hiding = `${PERMIT}forbid(principal, action == Action::"list", resource) when { ( };`;
    const { rules } = await open(hiding, true);
    const hidden = rules.decideVisibility({ principal: "ada" }, toolOf("b", "send"));
    expect(hidden).toMatchObject({ kind: "deny", isUndecided: true });
  });

  it("allow no request that the engine refuses or chokes on", async () => {
    const engine = await loadCedar();
    const rules = new Map([["p0", PERMIT]]);
    const entity = (type: string) => ({ type, id: "x" });
    const decide = (request: object) =>
      engine.decide(rules, "chokes", {
        ...{ principal: entity("User"), action: entity("Action"), resource: entity("Tool") },
        ...{ context: {}, entities: [], ...request },
      });
    expect(decide({})).toMatchObject({ isAllowed: true });
    for (const wrong of [
      { principal: entity("no type") },
      { context: null },
      { entities: 1 },
      { action: {} },
    ])
      expect(decide(wrong)).toEqual({ problem: expect.stringMatching(/./), rules: [] });
  });

  it("that could not be decided for a tool are told to its caller, who is not told that there is no such tool", async () => {
    const { rules } = await Rules.open({
      ...{ files: [{ file: "x.cedar", text: `${PERMIT}permit(` }], groups: {}, flow },
      isChecked: true,
    });
    const authorizer = new RuleAuthorizer({
      policy: { allow: undefined, block: [], ask: [], neverAsk: [], byDefault: "annotated" },
      ...{ flow, rules, clock: { wallMs: () => 0 } },
    });
    const { context, run } = callOf();
    const reason = expect.stringContaining("could not be decided");
    const decision = await authorizer.authorize(context, toolOf("b", "send"), {}, run);
    expect(decision).toMatchObject({ kind: "deny", reason });
    expect(authorizer.isVisible(context, toolOf("b", "send"))).toBe(false);
  });

  it("that a person may lift ask, and others go before them", async () => {
    const { rules } = await open(`${PERMIT}
      @ask("is it meant?") forbid(principal, action == Action::"call", resource);
      forbid(principal == User::"bob", action == Action::"call", resource);
      forbid(principal == User::"eve", action == Action::"approve", resource);`);
    const by = (principal: string) => callOf({ context: { principal, source: "run" } });
    expect(await rules.decide(by("ada"))).toEqual({
      kind: "ask",
      rule: "x.cedar:3",
      reason: "it needs an approval by rule x.cedar:3: is it meant?",
    });
    expect((await rules.decide(by("bob"))).kind).toBe("deny");
    const approvals = await Promise.all(
      ["ada", "eve"].map(async (principal) => (await rules.decideApproval(by(principal))).kind),
    );
    expect(approvals).toEqual(["allow", "deny"]);
  });

  it("say what they looked at: what the run has read, with labelled data before all others, at most three", async () => {
    const { rules } = await open(`${PERMIT}
      forbid(principal == User::"ada", action == Action::"call", resource) when { context.run.labels.contains("secret") };
      forbid(principal == User::"bob", action == Action::"call", resource) when { context.run.servers.contains("b") };
      @ask @reason("Why?") forbid(principal == User::"eve", action == Action::"call", resource) when { context.run.calls > 0 };`);
    const read = (seq: number, server: string) => ({ ...readOf(server).reads[0], seq }) as RunRead;
    const reasonFor = async (principal: string, ...servers: string[]) => {
      const run = { calls: 1, callsOfTool: 0, reads: servers.map((server, i) => read(i + 1, server)) };
      return (await rules.decide(callOf({ run, context: { principal, source: "run" } }))).reason;
    };
    const [a, b] = ["mcp__a__get", "mcp__b__get"];
    expect(await reasonFor("ada", "b", "a")).toBe(
      `it is forbidden by rule x.cedar:3; this run has read ${a} (call 2)`,
    );
    expect(await reasonFor("bob", "b", "b", "b", "b")).toBe(
      `it is forbidden by rule x.cedar:4; this run has read ${b} (call 1), ${b} (call 2), ${b} (call 3)`,
    );
    expect(await reasonFor("eve", "a")).toBe("it needs an approval by rule x.cedar:5: Why?");
  });

  it("hide what somebody may not call however they call it, and what is hidden by name", async () => {
    const { rules } = await open(`
      permit(principal in Group::"team", action == Action::"call", resource) when { context.run.calls < 9 };
      permit(principal == User::"bob", action == Action::"read", resource);
      forbid(principal, action == Action::"call", resource == Tool::"mcp__b__gone");
      forbid(principal, action == Action::"call", resource) when { context.run.calls > 2 };
      forbid(principal, action == Action::"list", resource == Tool::"mcp__b__hidden");`);
    const sees = (principal: string, name: string, method?: string) =>
      rules.decideVisibility({ principal }, toolOf("b", name, { method })).kind;
    expect(["send", "gone", "hidden"].map((name) => sees("ada", name))).toEqual(["allow", "deny", "deny"]);
    expect([sees("bob", "send"), sees("bob", "resources/read", "resources/read")]).toEqual(["deny", "allow"]);
  });

  it("name the file and the line of every mistake", async () => {
    const { problems } = await open(`${PERMIT}
permit(principal, action == Action::"call", resource) when {
  context.run.lables.contains("x") };
permit(principal == ?principal, action, resource); // no template
@ask permit(principal, action, resource);
forbid(principal, action, resource) when { context.run.calls > 1 };
permit(principal, action == Action::"cal", resource)`);
    expect(problems.errors.map(({ line, message }) => `${line}: ${message}`)).toEqual([
      expect.stringMatching(/^4: attribute `run\.lables` .*did you mean `labels`/),
      expect.stringMatching(/^5: expected a static policy, got a template/),
      expect.stringMatching(/^6: @ask stands on a permit/),
      expect.stringMatching(/^7: .*; name the actions that the rule is about/),
      expect.stringMatching(/^8: unexpected end of input/),
    ]);
  });

  it.each(["@", "@ask", '@ask("x', "permit", "permit (principal, action"])(
    "name the line of a rule that ends too early: %s",
    async (text) => {
      const { problems } = await open(`${PERMIT}${text}`);
      expect(problems.errors).toEqual([expect.objectContaining({ line: 2 })]);
    },
  );

  it("are told apart in one process, however many configurations there have been", async () => {
    const [one, other] = [await open(PERMIT), await open(PERMIT.replace("permit", "forbid"))];
    for (let i = 0; i < 3; i++) {
      expect((await one.rules.decide(callOf())).kind).toBe("allow");
      expect((await other.rules.decide(callOf())).kind).toBe("deny");
    }
  });
});

const uid = (type: string, ids: string[]) => fc.constantFrom(...ids).map((id) => `${type}::"${id}"`);
const who = fc.oneof(
  fc.constant("principal"),
  uid("User", ["ada", "bob"]).map((id) => `principal == ${id}`),
  uid("Group", ["team", "guests"]).map((id) => `principal in ${id}`),
  uid("Group", ["team"]).map((id) => `principal is User in ${id}`),
);
const actions = uid("Action", ["call", "read", "approve"]);
const action = fc.oneof(
  fc.constant("action"),
  actions.map((id) => `action == ${id}`),
  fc.array(actions, { minLength: 1, maxLength: 3 }).map((ids) => `action in [${ids.join(", ")}]`),
);
const resource = fc.oneof(
  fc.constant("resource"),
  fc.constant("resource is Tool"),
  uid("Tool", ["mcp__b__send", "mcp__b__get"]).map((id) => `resource == ${id}`),
  uid("Server", ["a", "b"]).map((id) => `resource in ${id}`),
  uid("Server", ["a", "b"]).map((id) => `resource is Tool in ${id}`),
);
const condition = fc.constantFrom(
  "",
  ' when { principal in Group::"team" }',
  ' unless { resource in Server::"b" || "}; //" == "" }',
  ' when { resource.name == "send" } unless { principal == User::"bob" }',
);
const effect = fc.constantFrom("permit", "forbid", "permit", '@id("a;(b") // odd\n permit');
const rule = fc
  .tuple(effect, who, action, resource, condition)
  .map(([does, ...[principal, what, tool, where]]) => `${does}(${principal}, ${what}, ${tool})${where};`);

describe("rules about large arguments", () => {
  const LIKE = (pattern: string) =>
    `${PERMIT}@id("like") forbid(principal, action == Action::"call", resource) when { context.arguments.hasTag("a") && context.arguments.getTag("a") like "${pattern}" };`;

  it("decide in another thread, and hold up nobody", async () => {
    const { rules } = await open(LIKE(`*${"x".repeat(20)}y`));
    const calls = ["x".repeat(1_000_000), `${"x".repeat(1_000_000)}y`].map((a) =>
      callOf({ arguments: { a } }),
    );
    const { heldMs, result } = await heldBy(() => Promise.all(calls.map((call) => rules.decide(call))));
    expect(result.map(({ kind }) => kind)).toEqual(["allow", "deny"]);
    expect(heldMs).toBeLessThan(400);
  });

  it("deny what they cannot decide in time, and say so", async () => {
    const { rules } = await open(LIKE(`*${"x".repeat(30_000)}y`));
    const { heldMs, result } = await heldBy(() =>
      rules.decide(callOf({ arguments: { a: "x".repeat(1_000_000) } })),
    );
    expect(result).toMatchObject({ kind: "deny", isUndecided: true });
    expect(result.reason).toContain("deciding by rules about arguments this large takes too long");
    expect(heldMs).toBeLessThan(400);
  });

  it("see the places that they name in steps that grow with the arguments alone", async () => {
    const { rules } = await open(
      `${PERMIT}forbid(principal, action == Action::"call", resource) when { context.hosts.hasTag("a") || context.domains.hasTag("a") };`,
    );
    const decideAbout = async (a: string) => (await rules.decide(callOf({ arguments: { a } }))).kind;
    const near = ["a".repeat(900_000), "1://".repeat(200_000), `${"a.".repeat(400_000)}@`];
    const { heldMs, result } = await heldBy(() => Promise.all(near.map(decideAbout)));
    expect(result).toEqual(["allow", "allow", "deny"]);
    expect(heldMs).toBeLessThan(2_000);
    expect(await decideAbout("a@b.test ".repeat(3_000))).toBe("deny");
  });
});

describe("the rules that a decision looks at", () => {
  it("decide as all rules together do", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { minLength: 1, maxLength: 6 }),
        fc.constantFrom("ada", "bob"),
        fc.constantFrom("send", "get"),
        async (texts, principal, name) => {
          const { rules } = await open(texts.join("\n"));
          const tool = toolOf("b", name);
          const decided = await rules.decide(callOf({ tool, context: { principal, source: "run" } }));
          const [user, named] = [
            { type: "User", id: principal },
            { type: "Tool", id: tool.namespacedName },
          ];
          const answer = cedar.isAuthorized({
            ...{ principal: user, action: { type: "Action", id: "call" }, resource: named },
            context: {},
            policies: { staticPolicies: texts.join("\n") },
            entities: [
              { uid: user, attrs: {}, parents: principal === "ada" ? [{ type: "Group", id: "team" }] : [] },
              { uid: named, attrs: { name }, parents: [{ type: "Server", id: "b" }] },
            ],
          });
          expect(answer.type).toBe("success");
          expect(decided.kind).toBe(
            answer.type === "success" && answer.response.decision === "allow" ? "allow" : "deny",
          );
        },
      ),
      { numRuns: tries(30) },
    );
  });

  it("are split and read as Cedar reads them", () => {
    fc.assert(
      fc.property(fc.array(rule, { minLength: 1, maxLength: 4 }), (texts) => {
        const source = texts.join("\n// permit(principal, action, resource);\n");
        const split = splitRules(source);
        const parts = cedar.policySetTextToParts(source);
        expect(parts.type === "success" && parts.policies.length).toBe(split.length);
        for (const { text, effect: does, line, resource: named } of split) {
          const json = cedar.policyToJson(text);
          if (json.type === "failure") throw new Error(text);
          expect(json.json.effect).toBe(does);
          expect(source.split("\n")[line - 1]).toContain(text.split("\n")[0]);
          const { resource: constraint } = json.json;
          expect(named !== undefined).toBe("entity" in constraint || "in" in constraint);
        }
      }),
      { numRuns: tries(30) },
    );
  });
});

describe("the text of a rule", () => {
  const entity = (type: string, id: string) => ({ type, id });
  const head = (text: string) => {
    const { principal, action: what, resource } = splitRules(text)[0] ?? {};
    return [principal, what, resource];
  };
  const [ada, team, call, list] = [
    entity("User", "ada"),
    entity("Group", "team"),
    entity("Action", "call"),
    entity("Action", "list"),
  ];

  it.each([
    ["permit(principal, action, resource);", [undefined, undefined, undefined]],
    [
      'permit(principal == User::"ada", action == Action::"call", resource == Tool::"t(,;)");',
      [[ada], [call], [entity("Tool", "t(,;)")]],
    ],
    [
      'permit(principal, action in [Action::"call", Action::"list"], resource in Server::"b")\nwhen { true };',
      [undefined, [call, list], [entity("Server", "b")]],
    ],
    ['permit(principal is User in Group::"team", action, resource', [[team], undefined, undefined]],
    // What is not understood names everything.
    ['permit(principal == A::User::"ada", action in [], resource);', [undefined, undefined, undefined]],
    ['permit(principal == User::"a\\"b", action, resource);', [undefined, undefined, undefined]],
    ['permit(principal == "ada", action, resource);', [undefined, undefined, undefined]],
    ["permit(", [undefined, undefined, undefined]],
  ])("names in its head what Cedar reads there: %s", (text, wanted) => {
    expect(head(text)).toEqual(wanted);
  });

  it("has clauses, of which those that look at a call itself are left out before there is one", () => {
    const when = "when { {a: {b: 1}}.a.b == 1 }";
    const unless = "unless { context.run.calls > 3 }";
    const rest = 'when { principal == User::"ada"';
    const text = (effect: string, ...clauses: string[]) =>
      `// odd\n${effect}(principal, action, resource)\n${clauses.join("\n")};`;
    const [both, forbidden, plain, open] = readRules([
      {
        file: "x.cedar",
        text: [
          ...[text("permit", when, unless), text("forbid", when, unless), text("forbid", when)],
          text("permit", when, rest),
        ].join("\n"),
      },
    ]);
    expect(both?.clauses).toEqual([
      { text: when, usesContext: false },
      { text: unless, usesContext: true },
    ]);
    expect(open?.clauses.map((clause) => clause.text)).toEqual([when, rest]);
    expect([both, forbidden, plain].map((each) => each && withoutContext(each))).toEqual([
      `permit(principal, action, resource) ${when};`,
      undefined,
      `forbid(principal, action, resource) ${when};`,
    ]);
  });

  it("says what it is called, where it is, and whether a person may lift it", () => {
    const text = `@id("a") @ask ${PERMIT}\n@id("")\n${PERMIT}@ask("x") forbid(principal, action, resource)`;
    const named = readRules([
      { file: "x.cedar", text },
      { file: "y.cedar", text: "what" },
    ]).map(({ id, name, isAsk, effect }) => [id, name, isAsk, effect]);
    expect(named).toEqual([
      ["r0", "a (x.cedar:1)", true, "permit"],
      ["r1", "x.cedar:3", false, "permit"],
      ["r2", "x.cedar:5", true, "forbid"],
      ["r3", "y.cedar:1", false, undefined],
    ]);
  });

  it.each<[string, string[], boolean]>([
    ["true", [], false],
    ["context.arguments.a == 1", ["arguments"], false],
    ['context["labels"].contains("x")', ["labels"], true],
    ["context has labels", ["labels"], true],
    ['context has "labels"', ["labels"], true],
    ['context . labels.contains("x")', ["labels"], true],
    ['context.run.labels.contains("x")', ["run"], false],
    ["context.origins.a.labels == []", ["origins"], true],
    ["context.said.contains(1)", ["said"], true],
    ["principal == resource", ["principal", "resource"], false],
    ["labels.now", [], false],
  ])("needs of a call what it looks at: %s", (condition, wanted, isFlow) => {
    const [read] = readRules([
      { file: "x.cedar", text: `permit(principal, action, resource) when { ${condition} };` },
    ]);
    const needs = Object.entries(read?.needs ?? {}).flatMap(([part, isNeeded]) => (isNeeded ? [part] : []));
    expect(needs.sort()).toEqual(wanted);
    expect(read && looksAtFlow(read.needs)).toBe(isFlow);
  });

  it("needs all of a call where it looks at it in another way, and who and what its head can only ask of Cedar", () => {
    const needsOf = (text: string) => readRules([{ file: "x.cedar", text }])[0]?.needs;
    const whole = needsOf("permit(principal, action, resource) when { context == {} };");
    expect(Object.entries(whole ?? {}).filter(([, isNeeded]) => !isNeeded)).toEqual([
      ["principal", false],
      ["resource", false],
    ]);
    const inGroup = needsOf('permit(principal in Group::"team", action, resource in Server::"b");');
    expect(inGroup).toMatchObject({ principal: true, resource: true });
    const plain = needsOf('permit(principal == User::"ada", action, resource == Tool::"t");');
    expect(plain).toMatchObject({ principal: false, resource: false });
  });

  it("is looked at only for requests that its head may match", () => {
    const texts = [
      "permit(principal, action, resource);",
      'permit(principal == User::"ada", action, resource);',
      'permit(principal in Group::"team", action, resource in Server::"b");',
      'permit(principal, action in [Action::"call", Action::"list"], resource == Tool::"t");',
      'permit(principal, action == Action::"list", resource);',
    ];
    const index = new RuleIndex("i", readRules([{ file: "x.cedar", text: texts.join("\n") }]));
    const ids = (more: Partial<RuleSubject>) => {
      const subject = {
        action: "call",
        principal: "bob",
        groups: [],
        tool: "u",
        server: "c",
        ...more,
      } as const;
      return [...index.applicable(subject).texts.keys()].join(" ");
    };
    expect(ids({})).toBe("r0");
    expect(ids({ principal: "ada" })).toBe("r0 r1");
    expect(ids({ principal: "team", groups: ["ada"] })).toBe("r0");
    expect(ids({ groups: ["team"], server: "b" })).toBe("r0 r2");
    expect(ids({ server: "b" })).toBe("r0");
    expect(ids({ tool: "t" })).toBe("r0 r3");
    expect(ids({ tool: "b", server: "t" })).toBe("r0");
    expect(ids({ action: "list", tool: "t" })).toBe("r0 r4 r3");
    expect(index.applicable({ action: "call", principal: "x", groups: [], tool: "u", server: "c" }).key).toBe(
      index.applicable({ action: "call", principal: "y", groups: [], tool: "v", server: "d" }).key,
    );
  });
});

it("the schema is one that Cedar takes", () => {
  for (const schema of [RULE_SCHEMA, PEOPLE_SCHEMA])
    expect(cedar.checkParseSchema(schema)).toEqual({ type: "success" });
});
