import { describe, expect, test } from "vitest";
import { type Access, mayAccess } from "../../../../broker/policy/authorizer.ts";
import { Rules } from "../../../../broker/policy/cedar/cedar-rules.ts";
import { DataFlow } from "../../../../broker/policy/data-flow.ts";
import { everyRules, RuleAuthorizer } from "../../../../broker/policy/rule-authorizer.ts";
import { toolOf } from "../../../catalog/tool-of.ts";

const flow = new DataFlow(new Map());
const clock = { wallMs: () => 0 };
const policy = { allow: undefined, block: [], ask: [], neverAsk: [], byDefault: "annotated" } as const;
const groups = { leads: ["ada"], team: ["bob"] };

const bob = { principal: "bob" };
const READ: Access = { action: "read_runs", of: bob };
const APPROVE: Access = { action: "approve", of: bob, tool: "mcp__mail__send", server: "mail" };
const AUDIT: Access = { action: "audit" };
const ALL = [READ, APPROVE, AUDIT];

async function open(text: string) {
  const { rules, problems } = await Rules.open({ files: [{ file: "x.cedar", text }], groups, flow });
  return { rules, problems, authorizer: new RuleAuthorizer({ policy, flow, rules, clock }) };
}

/** What rules open to somebody of what is bob's, and of the audit log. */
async function openedTo(viewer: { principal: string; groups?: string[] }, text: string) {
  const { authorizer, problems } = await open(text);
  expect(problems.errors).toEqual([]);
  return ALL.filter((access) => mayAccess(authorizer, viewer, access)).map(({ action }) => action);
}

const ada = { principal: "ada" };

test("what binds a token alone opens nothing, and closes what it closes, on either side", async () => {
  const opening = 'permit (principal in Group::"leads", action == Action::"read_runs", resource is User);';
  const closing = 'forbid (principal, action == Action::"read_runs", resource in Group::"board");';
  const { authorizer } = await open(
    `${opening}\n${closing}\nforbid (principal in Group::"contractors", action, resource);`,
  );
  const reads = (viewer: object, of: object) =>
    mayAccess(
      authorizer,
      { principal: "eve", ...viewer },
      { action: "read_runs", of: { principal: "bob", ...of } },
    );
  expect(reads({ groups: ["leads"] }, {})).toBe(true);
  expect(reads({ boundGroups: ["leads"] }, {})).toBe(false);
  expect(reads({ groups: ["leads"], boundGroups: ["contractors"] }, {})).toBe(false);
  expect(reads({ groups: ["leads"] }, { boundGroups: ["board"] })).toBe(false);
});

test("the groups of logins are those that rules name, wherever, and the configuration does not define", async () => {
  const { authorizer } = await open(
    `forbid (principal in Group::"contractors", action == Action::"approve", resource);
permit (principal in Group :: "leads", action, resource) when { principal in Group::"on\\u{63}all" || resource in Group::"a\\"b" };`,
  );
  expect(authorizer.groupsOfLogins()).toEqual(['a"b', "contractors", "oncall"]);
  const { authorizer: none } = await open(EVERYTHING);
  expect(none.groupsOfLogins()).toEqual([]);
});

const EVERYTHING = "permit (principal, action, resource);\n";

const OPENING: [rule: string, opened: string[]][] = [
  ["", []],
  [EVERYTHING, []],
  ['permit (principal == User::"ada", action, resource);', []],
  ['permit (principal, action == Action::"approve", resource);', []],
  ['permit (principal, action in [Action::"call", Action::"approve"], resource);', []],
  ['permit (principal in Group::"leads", action == Action::"read_runs", resource);', ["read_runs"]],
  ['permit (principal, action == Action::"read_runs", resource in Group::"team");', ["read_runs"]],
  ['permit (principal, action == Action::"read_runs", resource in Group::"others");', []],
  ['permit (principal in Group::"team", action == Action::"read_runs", resource);', []],
  ['permit (principal, action == Action::"approve", resource is User);', ["approve"]],
  ['permit (principal, action == Action::"approve", resource == User::"bob");', ["approve"]],
  ['permit (principal, action == Action::"approve", resource is User in Group::"team");', ["approve"]],
  [
    'permit (principal, action == Action::"approve", resource is User) when { context.tool like "mcp__mail__*" };',
    ["approve"],
  ],
  ['permit (principal, action == Action::"approve", resource is User) when { context.server == "web" };', []],
  ['permit (principal, action == Action::"audit", resource);', ["audit"]],
  ['permit (principal, action in [Action::"read_runs", Action::"audit"], resource);', ["read_runs", "audit"]],
];

describe("what is another's", () => {
  test.for(OPENING)(
    "is opened by a rule that names its action, and by no other: %s",
    async ([rule, opened]) => {
      expect(await openedTo(ada, EVERYTHING + rule)).toEqual(opened);
    },
  );

  const OPEN = `
    permit (principal, action in [Action::"read_runs", Action::"audit"], resource);
    permit (principal, action == Action::"approve", resource is User);`;
  test.for<[rule: string, left: string[]]>([
    ['forbid (principal == User::"ada", action, resource);', []],
    ['forbid (principal in Group::"leads", action, resource);', []],
    ['forbid (principal, action, resource) when { principal in Group::"leads" };', []],
    ['forbid (principal in Group::"leads", action == Action::"approve", resource);', ["read_runs", "audit"]],
    ["forbid (principal, action, resource is User);", ["audit"]],
    ['forbid (principal, action == Action::"read_runs", resource == User::"bob");', ["approve", "audit"]],
    ["forbid (principal, action, resource is Tool);", ["read_runs", "approve", "audit"]],
    ['forbid (principal, action, resource in Server::"mail");', ["read_runs", "approve", "audit"]],
    ['forbid (principal == User::"eve", action, resource);', ["read_runs", "approve", "audit"]],
    [
      "forbid (principal, action, resource) when { resource.claims has readOnly };",
      ["read_runs", "approve", "audit"],
    ],
    ["forbid (principal, action, resource) when { context has tool };", ["read_runs", "approve", "audit"]],
    [
      'forbid (principal, action == Action::"call", resource) when { context.run.calls > 5 };',
      ["read_runs", "approve", "audit"],
    ],
  ])("is closed again by what forbids it: %s", async ([rule, left]) => {
    expect(await openedTo(ada, EVERYTHING + OPEN + rule)).toEqual(left);
  });

  test("is open to the groups that a login says, and of people in them", async () => {
    const rule =
      'permit (principal in Group::"auditors", action == Action::"read_runs", resource in Group::"ci");';
    const { authorizer } = await open(EVERYTHING + rule);
    const eve = { principal: "eve", groups: ["auditors"] };
    const of = { principal: "robot", groups: ["ci"] };
    expect(mayAccess(authorizer, eve, { action: "read_runs", of })).toBe(true);
    expect(mayAccess(authorizer, eve, { action: "read_runs", of: { principal: "robot" } })).toBe(false);
    expect(mayAccess(authorizer, { principal: "eve" }, { action: "read_runs", of })).toBe(false);
  });

  test("needs the permission of every set of rules", async () => {
    const managed = (await open(EVERYTHING)).rules;
    const project = (await open(EVERYTHING + OPEN)).rules;
    const decide = (rules: ReturnType<typeof everyRules>) =>
      mayAccess(new RuleAuthorizer({ policy, flow, rules, clock }), ada, READ);
    expect([decide(everyRules([project])), decide(everyRules([managed, project]))]).toEqual([true, false]);
  });

  test("stays closed without rules, and one's own stays open", async () => {
    const none = new RuleAuthorizer({ policy, flow, rules: undefined, clock });
    expect(ALL.filter((access) => mayAccess(none, ada, access))).toEqual([]);
    const own = ALL.filter((access) => mayAccess({}, bob, access)).map(({ action }) => action);
    expect(own).toEqual(["read_runs", "approve"]);
  });
});

test.for([
  [
    'permit (principal, action in [Action::"call", Action::"read_runs"], resource);',
    "it names 'call', which is about tools, together with what is about people; write a rule for each",
  ],
  [
    "permit (principal, action, resource is User);",
    'it permits something about people without its action; name it, as in action == Action::"read_runs"',
  ],
  [
    '@ask("why") forbid (principal, action == Action::"audit", resource);',
    "@ask stands on a rule about people; nobody is asked about what is another's",
  ],
  [
    'permit (principal, action == Action::"read_runs", resource) when { context.tool == "x" };',
    expect.stringContaining("tool"),
  ],
])("a rule about people that can only be a mistake is named: %s", async ([text, message]) => {
  const { problems } = await open(EVERYTHING + text);
  expect(problems.errors).toEqual([{ file: "x.cedar", line: 2, message }]);
});

test("rules about people change nothing about tools, and rules about tools are checked as before", async () => {
  const about = "permit (principal, action, resource) when { resource.claims has readOnly };";
  const people = 'permit (principal == User::"ada", action == Action::"approve", resource is User);';
  const { authorizer, problems } = await open(about + people);
  expect(problems.errors).toEqual([]);
  const tool = { ...toolOf("mail", "send"), annotations: { destructiveHint: true, readOnlyHint: true } };
  const run = { calls: 0, callsOfTool: 0, reads: [] };
  const context = { principal: "bob", source: "serve" } as const;
  expect(await authorizer.authorize(context, tool, {}, run)).toMatchObject({ kind: "ask" });
  const other = await authorizer.authorize(context, toolOf("mail", "delete"), {}, run);
  expect(other.kind).toBe("unavailable");
});
