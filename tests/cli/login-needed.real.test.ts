import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { useUser } from "../upstream/authorization/logged-in.ts";
import { ScriptedBrowser } from "../upstream/authorization/servers/browser.ts";
import { serveProtected } from "../upstream/authorization/servers/protected-server.ts";
import { serveRouter } from "../upstream/authorization/servers/router-server.ts";
import { usePtc } from "./ptc-process.ts";

describeSandboxed("a program whose server", () => {
  const newProject = usePtc();

  test("needs a login: a client is given the page, or the command where it shows none", async () => {
    const router = await serveRouter();
    const server = await serveProtected({ authorizationServers: [router.issuer], verifier: router });
    const user = useUser(server.url);
    await user.logIn();
    const folder = newProject({ "ptc.yaml": { servers: [{ name: "guarded", url: server.url }] } });
    expect(await folder.ptc(["generate"], { env: user.env })).toMatchObject({ code: 0 });
    const code = 'result = (await mcp__guarded__echo({ text: "hi" }));';
    // Who serves has not logged in yet.
    const env = { XDG_STATE_HOME: folder.directory, PTC_KEYRING: "off" };
    const execute = async (client?: Client) => {
      const served = await folder.serve({ env, ...(client === undefined ? {} : { client }) });
      const { content } = await served.client.callTool({ name: "execute_program", arguments: { code } });
      await served.client.close();
      return JSON.stringify(content);
    };
    expect(await execute()).toContain("server 'guarded' needs a login: run `ptc auth login guarded`");
    const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: { url: {} } } });
    const asked: unknown[] = [];
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      asked.push(params.mode);
      if (params.mode === "url") void new ScriptedBrowser().open(params.url);
      return { action: "accept" };
    });
    const answer = await execute(client);
    expect(answer).toContain("[Script executed successfully]");
    expect(answer).toContain("hi");
    expect(asked).toEqual(["url"]);
  });
});
