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
