import { describe, expect, it } from "vitest";
import {
  DataFlow,
  describeRefused,
  findForbiddenFlow,
  refusedValues,
  ruleOfRefused,
  unfollowed,
} from "../../../broker/policy/data-flow.ts";

const flow = new DataFlow(
  new Map([
    ["crm", { labels: ["personal"], tools: { count: { labels: [] }, plain: { accepts: [] } } }],
    ["web", { accepts: [], tools: { form: { accepts: ["personal"] } } }],
    ["free", { tools: {} }],
  ]),
);
const of = (server: string, name: string) => ({ server, name });
const read = (server: string, name: string, seq = 1) => ({
  ...of(server, name),
  seq,
  tool: `mcp__${server}__${name}`,
});

it.each([
  ["nothing was read", of("web", "get"), [], undefined],
  ["what was read carries nothing", of("web", "get"), [read("free", "x")], undefined],
  ["a tool's own labels go before its server's", of("web", "get"), [read("crm", "count")], undefined],
  ["a server accepts everything by default", of("free", "x"), [read("crm", "get")], undefined],
  ["a tool accepts what its server does not", of("web", "form"), [read("crm", "get")], undefined],
  [
    "a server accepts nothing",
    of("web", "get"),
    [read("free", "x"), read("crm", "get", 2)],
    "'personal' data",
  ],
  [
    "a tool does not accept what its own server has",
    of("crm", "plain"),
    [read("crm", "get")],
    "'personal' data",
  ],
  ["nobody knows what was read", of("web", "form"), [read("gone", "x")], "data whose labels are not known"],
  [
    "a tool has the name of a member of every object",
    of("web", "constructor"),
    [read("crm", "get")],
    "'personal' data",
  ],
])("decides where %s", (_, tool, reads, why) => {
  const found = findForbiddenFlow(flow, tool, reads);
  if (why === undefined) expect(found).toBeUndefined();
  else {
    const { tool: name, seq } = reads.at(-1) as (typeof reads)[number];
    expect(found?.reason).toContain(`does not accept ${why}`);
    expect(found?.reason).toContain(`since it read ${name} (call ${seq});`);
  }
});

describe("labels that depend on the arguments of a call", () => {
  const mail = new DataFlow(
    new Map([
      [
        "mail",
        {
          labels: ["personal", { label: "untrusted", unless: { from: "*@example.com" } }],
          tools: {
            list: { labels: [{ label: "secret", when: { folder: "legal/*", to: "*@example.com" } }] },
            count: { labels: ["personal"] },
            page: { labels: [{ label: "untrusted", unless: { path: "/downloads/*" } }] },
          },
        },
      ],
      ["free", { tools: {} }],
    ]),
  );

  it.each<[name: string, args: object | undefined, labels: string[]]>([
    ["get", undefined, ["personal", "untrusted"]],
    ["get", {}, ["personal", "untrusted"]],
    ["get", { from: "eve@evil.test" }, ["personal", "untrusted"]],
    ["get", { from: "ada@example.com" }, ["personal"]],
    ["list", undefined, ["secret"]],
    ["list", { folder: "legal/a", to: ["ada@example.com"] }, ["secret"]],
    ["list", { folder: "legal/a" }, []],
    ["list", { folder: "legal/a", to: ["ada@example.com", "eve@evil.test"] }, []],
    ["list", { folder: "sales/a", to: ["ada@example.com"] }, []],
    ["list", { folder: "sales/../legal/a", to: "ada@example.com" }, ["secret"]],
    ["list", { folder: "./legal//a", to: ["ada@example.com", null] }, ["secret"]],
    ["get", { from: null }, ["personal", "untrusted"]],
    ["page", { path: "/downloads/a" }, []],
    ["page", { path: "/downloads/../system/a" }, ["untrusted"]],
    ["page", { path: "/downloads/%2e%2e/system/a" }, ["untrusted"]],
  ])("are those of %s with %j", (name, args, labels) => {
    expect(mail.labelsOf(of("mail", name), args && { arguments: args })).toEqual(labels);
  });

  it("are those of all calls where there are too many arguments to look at", () => {
    const labelsWith = (count: number) => {
      const args = { from: "ada@example.com", ids: Array.from({ length: count }, (_, i) => i) };
      return mail.labelsOf(of("mail", "get"), { arguments: args });
    };
    expect(labelsWith(4_999)).toEqual(["personal"]);
    expect(labelsWith(5_001)).toEqual(["personal", "untrusted"]);
  });

  it("are told from those that all calls of a tool have", () => {
    const isConditional = (server: string, name: string) => mail.isConditional(of(server, name));
    expect([isConditional("mail", "get"), isConditional("mail", "list")]).toEqual([true, true]);
    expect(isConditional("mail", "count")).toBe(false);
    expect([isConditional("free", "x"), isConditional("gone", "x")]).toEqual([false, false]);
  });
});

it("knows of each read what the call carried, or else what every call of its tool may carry", () => {
  const own = { ...read("crm", "get"), labels: ["z", "a"] };
  expect(flow.labelsRead([])).toEqual([]);
  expect(flow.labelsRead([own, read("crm", "get", 2), read("gone", "x", 3)])).toEqual(["a", "personal", "z"]);
  expect(flow.labelsOfRead({ ...own, labels: [] })).toEqual([]);
  expect(flow.labelsOfRead({ ...read("gone", "x"), labels: ["a"] })).toBeUndefined();
});

it("tells what a tool accepts as a whole from what its arguments accept", () => {
  const to = { labels: ["personal"], lists: ["staff"] };
  const form = { accepts: { to, "*": [] } };
  const web = new DataFlow(new Map([["web", { accepts: ["personal"], tools: { form, page: {} } }]]));
  expect(web.argumentsOf(of("web", "form"))).toEqual(form.accepts);
  expect(web.acceptsOf(of("web", "form"))).toBeUndefined();
  expect(web.argumentsOf(of("web", "page"))).toBeUndefined();
  expect(web.acceptsOf(of("web", "page"))).toEqual(["personal"]);
  for (const server of ["free", "gone"]) {
    expect(flow.argumentsOf(of(server, "x"))).toBeUndefined();
    expect(flow.acceptsOf(of(server, "x"))).toBeUndefined();
  }
});

describe("what an argument accepts", () => {
  const accepts = {
    to: { labels: [], lists: ["staff"] },
    "to.name": ["personal"],
    meta: ["untrusted", "personal"],
    "*": ["untrusted"],
  };
  const tools = { send: { accepts }, strict: { accepts: { to: [] } } };
  const mail = new DataFlow(new Map([["mail", { tools }]]), { lists: { staff: ["*@example.com"] } });
  const refused = (args: unknown, labels: string[], tool = "send") =>
    refusedValues(mail, of("mail", tool), unfollowed(args, labels));

  it.each<[args: unknown, labels: string[], refused: [argument: string, label: string][]]>([
    [{ to: "eve@evil.test" }, ["untrusted"], [["to", "untrusted"]]],
    [{ to: "eve@evil.test" }, [], []],
    [{ to: ["ada@example.com", "eve@evil.test"] }, ["untrusted"], [["to", "untrusted"]]],
    [{ to: { mail: "eve@evil.test" } }, ["personal"], Array(2).fill(["to", "personal"])],
    [{ to: { name: "Eve" } }, ["personal"], [["to", "personal"]]],
    [{ to: "ada@example.com" }, ["untrusted"], []],
    [{ told: "x", too: "x" }, ["untrusted"], []],
    [{ told: "x" }, ["untrusted", "personal"], [["*", "personal"]]],
    [{ meta: { a: ["x"] } }, ["untrusted", "personal"], []],
    [
      "anywhere",
      ["untrusted"],
      [
        ["to", "untrusted"],
        ["to.name", "untrusted"],
      ],
    ],
  ])("goes by the longest name that leads to a value: %j with %j", (args, labels, wanted) => {
    expect(refused(args, labels).map(({ argument, label }) => [argument, label])).toEqual(wanted);
  });

  it("is everything where neither the argument is named nor `*`", () => {
    expect(refused({ cc: "x" }, ["untrusted"], "strict")).toEqual([]);
    expect(refused({ to: "x" }, ["untrusted"], "strict")).toHaveLength(1);
    expect(refusedValues(flow, of("free", "x"), unfollowed({ to: "x" }, ["untrusted"]))).toEqual([]);
  });

  it("is told with the value and where it comes from, and what certainly carries a label comes first", () => {
    const leaf = { value: "x".repeat(90), origins: [], undecided: [], possible: [], isSaid: false };
    const origin = { kind: "result", tool: "mcp__mail__read", seq: 1 } as const;
    const unsure = unfollowed({ to: "eve" }, ["untrusted"]);
    const leaves = [
      ...unsure.leaves,
      { ...leaf, path: "to[1]", labels: ["untrusted"] },
      { ...leaf, path: "", value: 5, labels: ["personal"], origins: [{ ...origin, labels: ["personal"] }] },
      { ...leaf, path: "to[2]", labels: ["untrusted"], isSaid: true },
    ];
    const found = refusedValues(mail, of("mail", "strict"), { ...unsure, leaves });
    const advice = "; ask the user to name the value: what the user says is accepted";
    expect(found.map(describeRefused)).toEqual([
      `\`to[1]\` does not accept 'untrusted' data, and "${"x".repeat(79)}... comes from 'untrusted' data${advice}`,
      `its arguments do not accept 'personal' data, and 5 comes from what mcp__mail__read answered (call 1) ('personal')${advice}`,
      `\`to\` does not accept 'untrusted' data, and "eve" may depend on 'untrusted' data${advice}`,
    ]);
    expect(found.map((each) => ruleOfRefused(each, of("mail", "strict")))).toEqual(
      Array(3).fill("accepts: mail.strict to"),
    );
  });
});
