/** A person whose program calls a server that wants a login: they log in with any browser, and nobody else can for them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { usePtc } from "../cli/ptc-process.ts";
import { freePort } from "../free-port.ts";
import { ScriptedBrowser } from "../upstream/authorization/servers/browser.ts";
import { serveOidc } from "../upstream/authorization/servers/oidc-server.ts";
import { serveProtected } from "../upstream/authorization/servers/protected-server.ts";
import { serveRouter } from "../upstream/authorization/servers/router-server.ts";
import { serveHttp } from "./http-clients.ts";
import { PersonLogin } from "./person-login.ts";

const newProject = usePtc();

test("A person logs in at a server with any browser, and somebody else who opens the address is turned away.", async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  let person = "ada";
  const oidc = await serveOidc({
    accessTokenFormat: "jwt",
    scopes: ["ptc:run", "ptc:approve", "ptc:admin"],
    clients: [
      {
        ...{ client_id: "ptc", client_secret: "s3cret", redirect_uris: [`${url}/logins/who`] },
        ...{ grant_types: ["authorization_code"], response_types: ["code"] },
      },
    ],
    person: () => person,
  });
  const router = await serveRouter();
  const guarded = await serveProtected({
    authorizationServers: [router.issuer],
    verifier: router,
    scopes: ["read"],
  });
  const login = { client_id: "ptc", client_secret: "s3cret" };
  const project = newProject({
    "ptc.yaml": {
      servers: [{ name: "guarded", url: guarded.url, auth: "oauth" }],
      http: { public_url: url, auth: { issuers: [{ issuer: oidc.issuer, login }] } },
    },
  });
  // Whoever runs ptc has logged in for themselves, so that the modules could be generated.
  const browser = join(project.directory, "browser.mjs");
  writeFileSync(browser, `#!${process.execPath}\nawait fetch(process.argv[2]);\n`, { mode: 0o755 });
  expect(await project.ptc(["auth", "login", "guarded"], { env: { BROWSER: browser } })).toMatchObject({
    code: 0,
  });
  await project.generate();
  await serveHttp(project, { address: `127.0.0.1:${port}` });

  const ptcLogin = new PersonLogin();
  const asked: { url: string; others: number; own: number }[] = [];
  const open = () => {
    const client = new Client(
      { name: "sdk", version: "1" },
      { capabilities: { elicitation: { form: {}, url: {} } }, versionNegotiation: { mode: "auto" } },
    );
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      const address = (params as { url?: string }).url ?? "";
      person = "mallory";
      const others = await new ScriptedBrowser().open(address);
      person = "ada";
      const own = await new ScriptedBrowser().open(address);
      asked.push({ url: address, others: others.status, own: own.status });
      return { action: "accept" as const };
    });
    return client;
  };
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: ptcLogin });
  await expect(open().connect(transport)).rejects.toThrow(UnauthorizedError);
  await transport.finishAuth(ptcLogin.params ?? new URLSearchParams());
  const client = open();
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider: ptcLogin }));
  const code = 'globalThis.result = await callTool("mcp__guarded__echo", { text: "hi" })';
  const reply = await client.callTool({ name: "execute_program", arguments: { code } });
  expect(asked).toEqual([
    { url: expect.stringContaining(`${url}/logins/start?login=`), others: 403, own: 200 },
  ]);
  expect(reply.isError).toBeUndefined();
  expect(JSON.stringify(reply.content)).toContain("hi");
  await client.close();
});
