import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LATER } from "../../broker/approvals/approvals.ts";
import type { ProgramFunction } from "../sandbox/in-process-engine.ts";
import { echoServer, PROGRAM, servedProject } from "./served-project.ts";

const SLACK = "http://127.0.0.1:9/x";
const SECRET = "a signing secret";
const ADA = "https://login.example.com#ada";
const APPROVING = `permit (principal == User::"${ADA}", action == Action::"approve", resource is User);
permit (principal, action, resource);
`;
const LEADS =
  'permit (principal in Group::"leads", action == Action::"approve", resource is User);\npermit (principal, action, resource);\n';
const BINDING = 'forbid (principal in Group::"contractors", action == Action::"approve", resource);\n';

/** A question of `local`, which ada answers in Slack. Resolves with what the audit log then has of the answer. */
async function answered(rules: string, approver: unknown, groups: object = {}) {
  const project = servedProject(
    {
      servers: [echoServer("w")],
      approvals: { ask: ["mcp__w__*"] },
      execution: { typecheck: "off" },
      sandbox: { warm: 0 },
      policy: { files: ["x.cedar"], groups },
      notify: {
        slack: {
          ...{ url: SLACK, signing_secret: SECRET },
          approvers: { U024BE7LH: approver },
        },
      },
    },
    { "x.cedar": rules },
  );
  const program: ProgramFunction = async ({ call }) => call("mcp__w__echo", { text: "x" });
  const { host } = await project.open({ program, tools: 2, following: undefined });
  const { suspended, envelope } = await host.run({
    ...{ program: PROGRAM, context: { principal: "local", source: "serve" } },
    ...{ approver: { ask: async () => LATER }, suspends: true, signal: new AbortController().signal },
  });
  expect(envelope.result).toMatchObject({ error: { type: "ApprovalPending" } });
  const ticket = suspended?.ticket ?? "";
  const approvals = await host.pendingApprovals();
  const digest = (await approvals.get(ticket))?.digest;
  const body = new URLSearchParams({
    payload: JSON.stringify({
      ...{ type: "block_actions", user: { id: "U024BE7LH", username: "the boss" } },
      ...{ actions: [{ action_id: "ptc_approve", value: `${ticket} ${digest}` }], response_url: SLACK },
    }),
  }).toString();
  const at = Math.floor(Date.now() / 1_000);
  const signature = createHmac("sha256", SECRET).update(`v0:${at}:${body}`).digest("hex");
  const headers = { "X-Slack-Request-Timestamp": String(at), "X-Slack-Signature": `v0=${signature}` };
  const replied = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response("ok"));
  onTestFinished(() => replied.mockRestore());
  const request = new Request("http://x/notify/slack", { method: "POST", headers, body });
  expect((await host.answerSlack(request)).status).toBe(200);
  await expect.poll(() => replied.mock.calls.length).toBe(1);
  if (!(await approvals.look(ticket))?.isAnswered) return undefined;
  const taken = await host.suspended.take({ principal: "local" }, ticket);
  if (taken.kind !== "taken") throw new Error(taken.kind);
  const { recorded } = await host.run({
    ...{ program: taken.resumed.run.program, context: { principal: "local", source: "serve" } },
    ...{ approver: { ask: async () => LATER }, suspends: true, resumed: taken.resumed },
    signal: new AbortController().signal,
  });
  await recorded;
  const lines = readFileSync(join(project.cwd, ".ptc/audit.jsonl"), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line)).findLast(({ event }) => event === "approval");
}

describe("an approver in Slack, of whom no login says groups,", () => {
  it.each<[string, string, unknown, object, boolean]>([
    ["answers where a rule permits it", APPROVING, ADA, {}, true],
    ["is forbidden what is forbidden to a group of logins", BINDING + APPROVING, ADA, {}, false],
    ["is permitted nothing by a group of logins", LEADS, ADA, {}, false],
    ["has the groups that the settings give", LEADS, { principal: ADA, groups: ["leads"] }, {}, true],
    ["is in no other group then", BINDING + LEADS, { principal: ADA, groups: ["leads"] }, {}, true],
    ["is not in a group of others", BINDING + APPROVING, ADA, { contractors: ["eve"] }, true],
  ])("in Slack, %s", async (_, rules, approver, groups, counts) => {
    const line = await answered(rules, approver, groups);
    expect(line !== undefined).toBe(counts);
    if (line === undefined) return;
    expect(line).toMatchObject({
      approver: ADA,
      how: 'Slack, member U024BE7LH, whose name there is "the boss"',
    });
  });
});
