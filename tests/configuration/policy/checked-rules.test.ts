import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { Rules } from "../../../broker/policy/cedar/cedar-rules.ts";
import { loadConfiguration } from "../../../configuration/load.ts";
import { buildRuleAuthorizer } from "../../../configuration/policy/build-rules.ts";
import { listsOf } from "../../../configuration/policy/configured-policy.ts";

const RULES = Array.from({ length: 120 }, (_, n) => `permit(principal == User::"u${n}", action, resource);`);

it("many rules are checked once, and again when they, or what was noted, are others", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-checked-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const opened = vi.spyOn(Rules, "open");
  onTestFinished(() => opened.mockRestore());
  writeFileSync(join(cwd, "ptc.yaml"), "policy: [rules.cedar]\n");
  const note = join(cwd, ".ptc/rules-checked");
  const build = async (rules: readonly string[]) => {
    writeFileSync(join(cwd, "rules.cedar"), rules.join("\n"));
    const configuration = await loadConfiguration({ flag: undefined, env: {}, cwd });
    await buildRuleAuthorizer(configuration, listsOf(configuration));
    return opened.mock.lastCall?.[0].isChecked;
  };
  expect(await build(RULES.slice(0, 3))).toBe(false);
  expect(existsSync(note)).toBe(false);
  expect(await build(RULES)).toBe(false);
  expect(statSync(note).mode & 0o777).toBe(0o600);
  expect(await build(RULES)).toBe(true);
  expect(await build([...RULES, RULES[0] ?? ""])).toBe(false);
  writeFileSync(note, `${readFileSync(note, "utf8")}x`);
  expect(await build([...RULES, RULES[0] ?? ""])).toBe(false);
  await expect(
    build([...RULES, "permit(principal, action, resource) when { context.rum };"]),
  ).rejects.toThrow("rules.cedar:121: ");
  await expect(
    build([...RULES, "permit(principal, action, resource) when { context.rum };"]),
  ).rejects.toThrow();
});
