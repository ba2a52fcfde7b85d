import { expect, it } from "vitest";
import { projectInProcess } from "../in-process.ts";

it.each([
  'permit(principal, action == Action::"call", resource) when { context.x };',
  "permit(princ",
  "@ask permit(principal, action, resource);",
])(
  "one mistake in rules is one, of whatever kind it is, and nothing is done by such rules: %s",
  async (wrong) => {
    const rules = "permit(principal, action, resource);\n";
    const { ptc } = projectInProcess({ policy: ["rules.cedar"] }, { "rules.cedar": rules + wrong });
    const one = await ptc(["policy", "check"]);
    expect(one).toMatchObject({ code: 2, stdout: expect.stringContaining(": 1 mistake, ") });
    expect(JSON.parse((await ptc(["policy", "check", "--json"])).stdout).errors).toHaveLength(1);
    expect(await ptc(["list"])).toMatchObject({ code: 2, stderr: one.stderr });
  },
);

it("cases say what is open of another's, and a case that comes out otherwise fails", async () => {
  const rules = `permit(principal, action, resource);
@id("leads") permit(principal in Group::"leads", action == Action::"read_runs", resource in Group::"team");`;
  const cases = `access:
  - { principal: ada, groups: [leads], action: read_runs, of: bob, of_groups: [team], expect: allow, rule: leads }
  - { principal: ada, groups: [leads], action: audit, expect: deny }
  - { principal: bob, action: read_runs, of: bob, expect: allow }
  - { principal: bob, action: read_runs, of: ada, expect: allow }
`;
  const files = { "rules.cedar": rules, "cases.yaml": cases };
  const { ptc } = projectInProcess({ policy: ["rules.cedar"] }, files);
  const tried = await ptc(["policy", "test", "cases.yaml"]);
  expect(tried).toMatchObject({ code: 1, stdout: expect.stringContaining("3 of 4 cases came out") });
  expect(tried.stdout).toContain("FAILED  read_runs of ada by bob (line 5)");
  expect((await ptc(["policy", "schema", "--people"])).stdout).toContain("action read_runs appliesTo");
});
