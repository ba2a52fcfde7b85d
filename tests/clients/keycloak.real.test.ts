/** The example for a team at a real Keycloak: clients log in, groups decide who approves, the console opens, tokens are exchanged. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { eventually } from "../eventually.ts";
import { freePort } from "../free-port.ts";
import { type ProtectedServer, serveProtected } from "../upstream/authorization/servers/protected-server.ts";
import { logInFromTerminal } from "./claude-login.ts";
import { connectStateless, serveHttp } from "./http-clients.ts";
import { claudeVariables, describeClient, findClaudeCode, runClient } from "./installed-client.ts";
import { describeKeycloak, type Realm, type Team } from "./keycloak.ts";
import { serveModel, toolResultOf } from "./model-api.ts";
import { PersonLogin, REDIRECT } from "./person-login.ts";
import type { Person } from "./sdk-sessions.ts";
import { PROGRAM, REPLY, useServedProject } from "./served-project.ts";

const served = useServedProject();
const EXAMPLE = readFileSync(join(import.meta.dirname, "../../examples/team/ptc.yaml"), "utf8");
const EXECUTE = "mcp__ptc__execute_program";
const DELETE = `import { deleteDocument } from "./servers/my_documents/index.js";
console.log((await deleteDocument({ documentId: "a" })) !== undefined);`;

/** With this, whoever runs ptc lists the tools of a server. */
const SHARED = "shared";

interface Changes {
  change?: (realm: Realm) => void;
  servers?: (team: Team) => object[];
}

/** Bob is in no group. */
function addBob({ users }: Realm): void {
  const [ada] = users;
  if (ada === undefined) throw new Error("the example has nobody");
  users.push({ ...ada, username: "bob", email: "bob@example.com", groups: [] } as typeof ada);
}

describeKeycloak("the example for a team, at Keycloak", (keycloak) => {
  /** ptc with the example's `http`, at a realm of its own. */
  async function serveTeam({ change = () => {}, servers }: Changes = {}) {
    const { folder } = served();
    const port = await freePort();
    const origin = `http://localhost:${port}`;
    const team = await keycloak().addTeam(origin, (realm) => {
      addBob(realm);
      const [client] = realm.clients;
      if (client !== undefined) client.redirectUris = [REDIRECT];
      change(realm);
    });
    const text = EXAMPLE.replaceAll("http://localhost:8080", origin)
      .replaceAll("http://localhost:8081/realms/team", team.issuer)
      .replaceAll("$" + "{PTC_CLIENT_SECRET}", "ptc-example");
    const { http } = parse(text) as { http: object };
    const before = JSON.parse(folder.read("ptc.yaml"));
    onTestFinished(() => folder.write("ptc.yaml", before));
    folder.write("ptc.yaml", { ...before, http, servers: [...before.servers, ...(servers?.(team) ?? [])] });
    if (servers !== undefined) await folder.generate();
    const { url } = await serveHttp(folder, { address: `127.0.0.1:${port}` });
    const enter = async (username: string, person?: Person) => {
      const login = new PersonLogin({
        browser: team.browserOf(username),
        client: { client_id: "claude-code", issuer: team.issuer },
      });
      const transport = new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { authProvider: login });
      const client = new Client({ name: "sdk", version: "1" }, { versionNegotiation: { mode: "auto" } });
      await expect(client.connect(transport)).rejects.toThrow(UnauthorizedError);
      await transport.finishAuth(login.params ?? new URLSearchParams());
      return connectStateless(new URL(`${origin}/mcp`), {
        authProvider: login,
        ...(person && { person }),
      });
    };
    return { origin, url, team, folder, enter };
  }

  test("people log in, and who is in the group answers what their programs ask", async () => {
    const { enter, folder, team } = await serveTeam();
    const asked: string[] = [];
    const person: Person = (question) => {
      asked.push(question);
      return { action: "accept", content: { decision: "once" } };
    };
    const ada = await enter("ada", person);
    const reply = await ada.call("execute_program", { code: DELETE });
    expect(reply).toMatchObject({ content: [{ text: "[Script executed successfully]\ntrue" }] });
    expect(asked).toEqual([expect.stringContaining("delete_document")]);
    const bob = await enter("bob", person);
    expect(await bob.call("execute_program", { code: DELETE })).toMatchObject({
      content: [{ text: expect.stringMatching(/^\[Script waits for an approval\]/) }],
    });
    expect(asked).toHaveLength(1);
    const { stdout } = await folder.ptc(["runs", "list", "--json"]);
    const principals = JSON.parse(stdout).map(({ principal }: { principal: string }) => principal);
    expect(principals).toEqual([expect.stringMatching(new RegExp(`^${team.issuer}#[0-9a-f-]{36}$`))]);
  });

  test("a token for another audience is refused", async () => {
    const { enter } = await serveTeam({
      change({ clientScopes }) {
        const scope = clientScopes.find(({ name }) => name === "ptc");
        if (scope !== undefined)
          scope.protocolMappers = scope.protocolMappers.filter(({ name }) => name !== "audience");
      },
    });
    await expect(enter("ada")).rejects.toThrow("401");
  });

  test("the console opens for a person of the realm", async () => {
    const { origin, team } = await serveTeam();
    const browser = team.browserOf("ada");
    expect(await browser.open(`${origin}/console/`)).toMatchObject({ status: 200 });
    const page = await (await browser.ask(`${origin}/console/me`)).text();
    expect(page).toMatch(/<dt>Name<\/dt><dd>Ada Lovelace<\/dd>.*<dt>Groups<\/dt><dd>leads<\/dd>/);
    expect(page).toContain("<dt>Answers questions</dt><dd>their own");
    expect(page).toContain(`${team.issuer}#`);
  });

  test("a caller's token is exchanged for one of the same person for a server", async () => {
    let guarded: ProtectedServer | undefined;
    const keys = new Map<string, ReturnType<typeof createRemoteJWKSet>>();
    let team: Team | undefined;
    const subjects: unknown[] = [];
    guarded = await serveProtected({
      authorizationServers: [],
      verifier: {
        async verify(token) {
          if (token === SHARED || team === undefined) return { scopes: [], audience: guarded?.url };
          const { issuer } = team;
          const set =
            keys.get(issuer) ?? createRemoteJWKSet(new URL(`${issuer}/protocol/openid-connect/certs`));
          keys.set(issuer, set);
          const { payload } = await jwtVerify(token, set, { issuer, audience: "crm" });
          subjects.push(payload.sub);
          return { scopes: [], audience: guarded?.url };
        },
      },
    });
    const opened = await serveTeam({
      change({ clients, clientScopes }) {
        const ptc = clients.find(({ clientId }) => clientId === "ptc");
        if (ptc !== undefined)
          Object.assign(ptc, { attributes: { "standard.token.exchange.enabled": "true" } });
        clients.push({ clientId: "crm", enabled: true, secret: "crm" });
        const audience = (name: string) => ({
          ...{ name, protocol: "openid-connect", protocolMapper: "oidc-audience-mapper" },
          config: { "included.client.audience": name, "access.token.claim": "true" },
        });
        clientScopes.find(({ name }) => name === "ptc")?.protocolMappers.push(audience("ptc"));
        clientScopes.push({
          name: "crm",
          protocol: "openid-connect",
          protocolMappers: [audience("crm")],
        } as never);
        Object.assign(ptc ?? {}, { defaultClientScopes: ["crm"] });
      },
      servers: (found) => {
        team = found;
        return [
          {
            name: "guarded",
            url: guarded?.url,
            headers: { Authorization: `Bearer ${SHARED}` },
            auth: {
              token_exchange: {
                issuer: found.issuer,
                client_id: "ptc",
                client_secret: "ptc-example",
                audience: "crm",
                actor: false,
              },
            },
          },
        ];
      },
    });
    const ada = await opened.enter("ada");
    const code = 'globalThis.result = await callTool("mcp__guarded__echo", { text: "hi" })';
    expect(await ada.call("execute_program", { code })).toMatchObject({
      content: [{ text: '[Script executed successfully]\n"hi"' }],
    });
    expect(subjects).not.toEqual([]);
    await eventually(async () => {
      const { stdout } = await opened.folder.ptc(["runs", "list", "--json"]);
      const principals = JSON.parse(stdout).map((run: { principal: string }) => run.principal);
      for (const subject of subjects) expect(principals).toContain(`${opened.team.issuer}#${subject}`);
    });
  });

  describeClient("Claude Code", findClaudeCode, (claude) => {
    test("logs in as the client that the realm knows, and runs a program", async () => {
      const { home } = served();
      const callback = await freePort();
      const { origin, team } = await serveTeam({
        change({ clients: [client] }) {
          client?.redirectUris?.push(`http://localhost:${callback}/callback`);
        },
      });
      const model = await serveModel([{ tool: EXECUTE, input: { code: PROGRAM } }, { text: "Done." }]);
      const env = claudeVariables(home, model.origin);
      const options = ["--transport", "http", "--client-id", "claude-code", "--callback-port", `${callback}`];
      const added = await runClient(claude, ["mcp", "add", ...options, "ptc", `${origin}/mcp`], {
        cwd: home,
        env,
      });
      expect(added).toMatchObject({ code: 0 });
      expect(await logInFromTerminal(claude, { home, env }, team.browserOf("ada"))).toMatchObject({
        status: 200,
      });
      const args = ["-p", "Go on.", "--output-format", "json", "--allowedTools", EXECUTE];
      expect(await runClient(claude, args, { cwd: home, env })).toMatchObject({ code: 0 });
      const [, last = expect.fail("the model was not given the reply")] = model.requests;
      expect(toolResultOf(last)).toEqual({ text: REPLY, isError: false });
    });
  });
});
