import { expect, test } from "vitest";
import { freePort } from "../free-port.ts";
import { ScriptedBrowser } from "../upstream/authorization/servers/browser.ts";
import { serveOidc } from "../upstream/authorization/servers/oidc-server.ts";
import { logInFromTerminal } from "./claude-login.ts";
import { serveHttp } from "./http-clients.ts";
import { claudeVariables, describeClient, findClaudeCode, runClient } from "./installed-client.ts";
import { serveModel, toolResultOf } from "./model-api.ts";
import { PROGRAM, REPLY, useServedProject } from "./served-project.ts";

const served = useServedProject();
const EXECUTE = "mcp__ptc__execute_program";

describeClient("Claude Code, at a ptc for a team", findClaudeCode, (claude) => {
  test("logs in at the company's provider, and runs a program over HTTP as its person", async () => {
    const { folder, home } = served();
    const oidc = await serveOidc({
      accessTokenFormat: "jwt",
      scopes: ["ptc:run", "ptc:approve", "ptc:admin"],
      claims: { name: "Ada Lovelace" },
    });
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/mcp`;
    const configuration = JSON.parse(folder.read("ptc.yaml"));
    folder.write("ptc.yaml", {
      ...configuration,
      http: { public_url: url, auth: { issuers: [{ issuer: oidc.issuer }] } },
    });
    await serveHttp(folder, { address: `127.0.0.1:${port}` });
    const model = await serveModel([{ tool: EXECUTE, input: { code: PROGRAM } }, { text: "Done." }]);
    const env = claudeVariables(home, model.origin);
    const added = await runClient(claude, ["mcp", "add", "--transport", "http", "ptc", url], {
      cwd: home,
      env,
    });
    expect(added).toMatchObject({ code: 0 });

    const ended = await logInFromTerminal(claude, { home, env }, new ScriptedBrowser());
    expect(ended.status).toBe(200);

    const args = ["-p", "Go on.", "--output-format", "json", "--allowedTools", EXECUTE];
    const ran = await runClient(claude, args, { cwd: home, env });
    expect(ran).toMatchObject({ code: 0 });
    const [, last = expect.fail("the model was not given the reply")] = model.requests;
    expect(toolResultOf(last)).toEqual({ text: REPLY, isError: false });
  });
});
