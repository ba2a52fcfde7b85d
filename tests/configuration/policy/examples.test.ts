import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadConfiguration } from "../../../configuration/load.ts";
import { tryPolicyCases } from "../../../configuration/policy/policy-cases.ts";
import { checkPolicy } from "../../../project/policy.ts";
import { loadProgramTools } from "../../../tools/program-tools.ts";

const EXAMPLES = join(import.meta.dirname, "../../../examples/policy");

/** Tries the cases of an example, with one of its files edited. */
async function tried(example: string, file = "ptc.yaml", edit = (text: string) => text) {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-example-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  cpSync(join(EXAMPLES, example), cwd, { recursive: true });
  const text = readFileSync(join(cwd, file), "utf8");
  writeFileSync(join(cwd, file), edit(text));
  const configuration = await loadConfiguration({ env: {}, cwd });
  const { errors, warnings } = await checkPolicy(configuration);
  expect({ errors, warnings }).toEqual({ errors: [], warnings: [] });
  const results = await tryPolicyCases(
    configuration,
    (await loadProgramTools(configuration)).all,
    readFileSync(join(cwd, "tests.yaml"), "utf8"),
    "tests.yaml",
  );
  return results.filter(({ ok }) => !ok).map(({ name }) => name);
}

/** A file of rules without the one of this name. */
const without = (id: string) => (text: string) =>
  text
    .split(/(?<=;)\n/)
    .filter((rule) => !rule.includes(`@id("${id}")`))
    .join("\n");

describe("the examples of policies", () => {
  it.each(readdirSync(EXAMPLES))("decide as their cases say (%s)", async (example) => {
    expect(await tried(example)).toEqual([]);
  });

  it.each([
    [
      "keep-apart",
      "ptc.yaml",
      (text: string) => text.replace("    accepts: []\n", ""),
      ["not once a customer was read", "nor by way of the own ticket system"],
    ],
    [
      "secrets-stay",
      "rules.cedar",
      without("secrets-never-to-the-web"),
      ["not after a secret was read", "nor its resources"],
    ],
    ["secrets-stay", "rules.cedar", without("few-secrets"), ["the sixth"]],
    [
      "ask-after-untrusted",
      "rules.cedar",
      without("writes-ask-after-untrusted-reads"),
      ["after reading mail a person is asked", "a claim that is no truth value is none"],
    ],
    [
      "ask-after-untrusted",
      "ptc.yaml",
      (text: string) => text.replace("labels: [untrusted]\n  - name: calendar", "\n  - name: calendar"),
      ["a claim that is no truth value is none"],
    ],
    [
      "mail",
      "ptc.yaml",
      (text: string) =>
        text.replace("    labels: [untrusted]\n    tools:\n      send", "    tools:\n      send"),
      [
        "an address that a mail names is no recipient, in this run and the next (run 1, call 2: mail.send)",
        "an address that a mail names is no recipient, in this run and the next (run 2, call 1: mail.send)",
        "colleagues, contacts and whom the user names are recipients (run 2, call 2: calendar.create)",
      ],
    ],
    [
      "mail",
      "ptc.yaml",
      (text: string) => text.replace("*@example.com", "*@other.example"),
      ["colleagues, contacts and whom the user names are recipients (run 1, call 2: mail.send)"],
    ],
    [
      "payments",
      "ptc.yaml",
      (text: string) => text.replace("amount: [], ", ""),
      ["a bill chooses neither account nor amount (call 3: payments.pay)"],
    ],
    [
      "payments",
      "payees.txt",
      () => "# none\n",
      [
        "a bill chooses neither account nor amount (call 2: payments.pay)",
        "a bill chooses neither account nor amount (call 3: payments.pay)",
      ],
    ],
    [
      "web-and-chat",
      "ptc.yaml",
      (text: string) =>
        text.replace('unless: { url: "https://*.example.com/*" }', 'unless: { url: "https://*" }'),
      [
        "the chat stays inside, and pages of strangers choose nobody (call 3: chat.dm)",
        "a page is not ours because its address says so (call 2: chat.dm)",
      ],
    ],
    [
      "web-and-chat",
      "ptc.yaml",
      (text: string) => text.replace("labels: [internal]", "labels: []"),
      ["the chat stays inside, and pages of strangers choose nobody (call 5: web.post)"],
    ],
    [
      "coding-agent",
      "ptc.yaml",
      (text: string) => `${text}labels: { scope: run }\n`,
      ["push", "add_collaborator", "web.fetch", "comment"].map(
        (tool, index) =>
          `an issue gets code, and chooses neither branch nor collaborator (run 2, call ${index + 2}: ${tool.includes(".") ? tool : `hosting.${tool}`})`,
      ),
    ],
  ])("come out otherwise without what they are about (%s, %s)", async (example, file, edit, failing) => {
    expect(await tried(example, file, edit)).toEqual(failing);
  });
});
