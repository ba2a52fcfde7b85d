import { expect, it } from "vitest";
import { type Approver, RunApprovals, UNASKED } from "../../broker/approvals/approvals.ts";
import { interceptCalls, offerLogins } from "../../broker/call-interceptors.ts";
import type { CallOutcome } from "../../broker/dispatcher.ts";
import { beginLogin } from "../../logins/log-in.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { serveGuarded } from "../upstream/authorization/logged-in.ts";
import { ScriptedBrowser } from "../upstream/authorization/servers/browser.ts";
import { serveRouter } from "../upstream/authorization/servers/router-server.ts";
import { toolCall } from "../upstream/upstream-fixtures.ts";

it("a person whom their client sends to the login page lets the call go on that needed it", async () => {
  const { user } = await serveGuarded(await serveRouter());
  const signal = new AbortController().signal;
  const inner = {
    async dispatch(): Promise<CallOutcome> {
      try {
        const call = toolCall("echo", { text: "hi" }, { timeoutMs: 60_000, signal });
        const data = await (await user.connect()).callTool(call);
        return { ok: true, data, raw: data, decision: "allowed", bytes: 0 };
      } catch (error) {
        if (!(error instanceof UpstreamError) || error.code !== "login_required") throw error;
        const { message } = error;
        const told = {
          type: "ToolError",
          server: "guarded",
          tool: "echo",
          message,
          retryable: false,
        } as const;
        return { ok: false, loginAt: "guarded", error: told, decision: "unreachable", bytes: 0 };
      }
    },
  };
  const approver: Approver = {
    ask: async () => UNASKED,
    canVisit: () => true,
    async elicit(elicitation) {
      if (elicitation.mode === "url") void new ScriptedBrowser().open(elicitation.url);
      return { action: "accept", values: {} };
    },
  };
  const dispatcher = interceptCalls(inner, [
    offerLogins(() => beginLogin(user.server, user.principal, { env: user.env, signal })),
  ]);
  const run = { approvals: new RunApprovals("run", approver), signal };
  const outcome = await dispatcher.dispatch({ tool: "mcp__guarded__echo", arguments: { text: "hi" } }, run);
  expect(outcome).toMatchObject({ ok: true, data: { content: [{ text: "hi" }] } });
});
