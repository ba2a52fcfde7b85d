import { expect, it } from "vitest";
import { projectInProcess } from "../in-process.ts";
import { fixtureServer } from "../ptc-process.ts";

const RULES = `permit(principal, action, resource);
@id("no-shouting") forbid(principal, action == Action::"call", resource == Tool::"mcp__docs__get_document")
when { context.arguments.hasTag("documentId") && context.arguments.getTag("documentId") like "*!" };
forbid(principal, action == Action::"list", resource == Tool::"mcp__docs__list_documents");
`;

async function setUp(rules = RULES, more: object = {}) {
  const { project, ptc } = projectInProcess(
    { servers: [fixtureServer("docs", "documents.mjs")], policy: ["rules.cedar"], ...more },
    { "rules.cedar": rules },
  );
  return { project, ptc: (...args: string[]) => ptc(args) };
}

it("rules decide about ptc call and what is listed, and the archive says which of them did", async () => {
  const { ptc } = await setUp();
  expect(await ptc("generate")).toMatchObject({ code: 0 });
  expect(await ptc("call", "docs.get_document", "documentId=7")).toMatchObject({ code: 0 });
  const denied = await ptc("call", "docs.get_document", "documentId=7!");
  expect(denied.code).toBe(1);
  expect(denied.stderr).toContain("is forbidden by rule no-shouting (rules.cedar:2)");
  expect((await ptc("list", "--json")).stdout).not.toContain("mcp__docs__list_documents");
  const listed = JSON.parse((await ptc("runs", "list", "--json")).stdout) as { run_id: string }[];
  const ids = listed.map(({ run_id }) => run_id);
  const explained = await ptc("policy", "explain", ids[0] ?? "");
  expect(explained.stdout).toMatch(
    /^call 1 {2}docs\.get_document {2}forbidden {2}no-shouting \(rules\.cedar:2\)\n {4}it is forbidden by rule/,
  );
  expect(JSON.parse((await ptc("policy", "explain", ids[1] ?? "", "1", "--json")).stdout)).toMatchObject({
    run_id: ids[1],
    calls: [
      { call: 1, tool: "mcp__docs__get_document", decision: "allowed", rule: "rules.cedar:1", reason: null },
    ],
  });
  expect(await ptc("policy", "explain", ids[1] ?? "", "2")).toEqual({
    code: 2,
    stdout: "",
    stderr: "ptc: there is no call '2': this run made 1, from 1\n",
  });
});

it("ptc policy check names every mistake, and warns of what names nothing", async () => {
  const { project, ptc } = await setUp();
  await ptc("generate");
  expect(await ptc("policy", "check")).toEqual({
    code: 0,
    stdout: "3 rules in 1 file: 0 mistakes, 0 warnings\n",
    stderr: "",
  });
  project.write(
    "rules.cedar",
    `permit(principal in Group::"team", action, resource in Server::"doc");
permit(principal, action, resource == Tool::"mcp__docs__get_documents");
forbid(principal, action == Action::"call", resource) when { context.run.labels.contains("secret") };`,
  );
  const warned = await ptc("policy", "check");
  expect(warned.code).toBe(0);
  expect(warned.stderr.split("\n").slice(0, -1)).toEqual([
    "ptc: warning: rules.cedar:1: there is no group 'team'",
    "ptc: warning: rules.cedar:1: there is no server 'doc'; did you mean 'docs'?",
    expect.stringMatching(/rules\.cedar:2: there is no tool 'mcp__docs__get_documents'; did you mean/),
    "ptc: warning: rules.cedar:3: no server or tool has the label 'secret'",
  ]);
  project.write("rules.cedar", `forbid(principal, action == Action::"call", resource);`);
  expect((await ptc("policy", "check")).stderr).toMatch(
    /^ptc: warning: rules\.cedar:1: no rule permits anything, [^\n]*\n$/,
  );
  // Exactly one mistake is a mistake, whatever kind it is of, and nothing is done by such rules.
  for (const wrong of [
    'permit(principal, action == Action::"call", resource) when { context.x };',
    "permit(princ",
    "@ask permit(principal, action, resource);",
  ]) {
    project.write("rules.cedar", `${RULES}\n${wrong}`);
    const one = await ptc("policy", "check");
    expect(one).toMatchObject({ code: 2, stdout: expect.stringContaining(": 1 mistake, ") });
    expect(JSON.parse((await ptc("policy", "check", "--json")).stdout).errors).toHaveLength(1);
    expect(await ptc("list")).toMatchObject({ code: 2, stderr: one.stderr });
  }

  project.write("rules.cedar", "permit(principal, action, resource) when { context.x };\npermit(princ");
  const wrong = await ptc("policy", "check", "--json");
  expect(wrong.code).toBe(2);
  expect(JSON.parse(wrong.stdout)).toMatchObject({ rules: 2, errors: [{ line: 1 }, { line: 2 }] });
  const listed = await ptc("list");
  expect(listed).toMatchObject({ code: 2, stdout: "" });
  expect(listed.stderr).toMatch(/^ptc: rules\.cedar:1: [^\n]*\n$/);
});

it.each([
  [{ policy: ["gone.cedar"] }, "ptc.yaml:1: policy: 'gone.cedar' does not exist; check its path"],
  [{ policy: { files: ["."] } }, "ptc.yaml:1: policy: '.' is no file; name the files with the rules"],
  [{ policy: "x" }, "ptc.yaml:1: policy: must be a list of files, or a mapping with files and groups"],
  [{ policy: { file: ["x"] } }, "ptc.yaml:1: policy.file: is not a known key; did you mean 'files'?"],
])("a policy that cannot be read is one line (%j)", async (more, message) => {
  const { ptc } = await setUp(RULES, more);
  expect(await ptc("list")).toEqual({ code: 2, stdout: "", stderr: `ptc: ${message}\n` });
});

it("ptc policy test says which case comes out otherwise, and what is wrong with a file of cases", async () => {
  const { project, ptc } = await setUp();
  await ptc("generate");
  const cases = (text: string) => project.write("cases.yaml", text);
  cases(`cases:
  - { name: quiet, tool: mcp__docs__get_document, arguments: { documentId: "7" }, expect: allow }
  - { name: loud, tool: mcp__docs__get_document, arguments: { documentId: "7!" }, expect: ask }
`);
  expect(await ptc("policy", "test", "cases.yaml")).toEqual({
    code: 1,
    stdout:
      "ok      quiet\nFAILED  loud (line 3)\n        expected ask, decided deny by no-shouting (rules.cedar:2): it is forbidden by rule no-shouting (rules.cedar:2)\n1 of 2 cases came out as expected\n",
    stderr: "",
  });
  for (const [text, message] of [
    [
      "cases:\n  - { tool: mcp__docs__get_documen, expect: allow }",
      "cases.yaml:2: server 'docs' has no tool 'get_documen'",
    ],
    [
      "cases:\n  - { tool: mcp__x__y, expect: allow }",
      "cases.yaml:2: 'mcp__x__y' is a tool of no server in ptc.yaml",
    ],
    ["cases:\n  - tool: mcp__docs__get_document\n    expects: allow", "cases.yaml:2: cases.0.expect: "],
    ["cases: [", "cases.yaml:1: not valid YAML"],
  ] as const) {
    cases(text);
    const { code, stderr } = await ptc("policy", "test", "cases.yaml");
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr.split("\n")).toHaveLength(2);
  }
});

it("ptc policy schema is what editors need, and needs no configuration", async () => {
  const { ptc } = await setUp("", { policy: ["gone.cedar"] });
  const { code, stdout } = await ptc("policy", "schema");
  expect(code).toBe(0);
  expect(stdout).toContain("action call appliesTo { principal: User, resource: Tool, context: Call };");
  expect(JSON.parse((await ptc("policy", "schema", "--json")).stdout)).toHaveProperty([""]);
});
