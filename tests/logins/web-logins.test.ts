import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { parseConfiguration } from "../../configuration/parse.ts";
import { loginKeyOf, loginServer, openLoginStore } from "../../logins/logins.ts";
import { WebLogins } from "../../logins/web-logins.ts";
import { KeyList } from "../../secrets/sealing.ts";
import { ownLoginSecrets } from "../../upstream/secret-sources.ts";
import { newFolder } from "../temporary-folder.ts";
import { ScriptedBrowser } from "../upstream/authorization/servers/browser.ts";
import { serveOidc } from "../upstream/authorization/servers/oidc-server.ts";
import { serveProtected } from "../upstream/authorization/servers/protected-server.ts";
import { serveRouter } from "../upstream/authorization/servers/router-server.ts";
import { listen } from "../upstream/mcp/upstream-http-servers.ts";

const { signal } = new AbortController();

/** Two replicas behind one URL, at which requests come in turn; an issuer of people; and a server with an authorization server. */
async function setUp() {
  let person = "ada";
  let turn = 0;
  const replicas: WebLogins[] = [];
  const bodies: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const headers = { cookie: request.headers.cookie ?? "" };
    const given = new Request(`${origin}${request.url}`, { method: request.method ?? "GET", headers });
    const answered = await replicas[turn++ % replicas.length]?.handle(given);
    if (answered === undefined) return void response.writeHead(404).end("not about logins");
    response.statusCode = answered.status;
    for (const [name, value] of answered.headers) response.appendHeader(name, value);
    const body = await answered.text();
    bodies.push(body);
    response.end(body);
  };
  const origin = await listen((request, response) => void answer(request, response));
  const publicUrl = `${origin}/mcp`;
  const client = {
    ...{ client_id: "ptc", client_secret: "s3cret", redirect_uris: [`${publicUrl}/logins/who`] },
    ...{ grant_types: ["authorization_code"], response_types: ["code" as const] },
  };
  const idp = await serveOidc({ clients: [client], person: () => person });
  const router = await serveRouter();
  const server = await serveProtected({
    ...{ authorizationServers: [router.issuer], verifier: router, scopes: ["read"] },
  });
  const env = { XDG_STATE_HOME: newFolder(), PTC_KEYRING: "off" };
  const text = JSON.stringify({ servers: [{ name: "guarded", url: server.url, auth: "oauth" }] });
  const configuration = parseConfiguration(text, { file: "ptc.yaml", directory: "/", environment: {} });
  const store = openLoginStore(env);
  const keys = new KeyList([randomBytes(32)]);
  const events: unknown[] = [];
  for (const _ of ["one", "other"])
    replicas.push(
      new WebLogins({
        ...{ publicUrl, store, configuration: () => configuration, onLogin: (event) => events.push(event) },
        secrets: { ...ownLoginSecrets(env), onSecret() {} },
        sealer: async () => keys,
        issuers: async () => [
          {
            ...{ issuer: idp.issuer, clientId: "ptc", clientSecret: client.client_secret },
            ...{ subject: "sub", scopes: [] },
          },
        ],
        principalOf: (issuer, subject) => (typeof subject === "string" ? `${issuer}#${subject}` : undefined),
      }),
    );
  const principalOf = (who: string) => `${idp.issuer}#${who}`;
  const begin = async (who: string) => {
    const begun = await (replicas[0] as WebLogins).begin(principalOf(who), "guarded", signal);
    if (begun === undefined) throw new Error("no login is asked for");
    return begun;
  };
  const loginOf = (who: string) =>
    store.read(loginKeyOf(principalOf(who), loginServer(configuration, "guarded")));
  return {
    ...{ begin, loginOf, bodies, events, idp, router, origin, publicUrl },
    become: (who: string) => {
      person = who;
    },
  };
}

describe("a login at a server with a browser anywhere", () => {
  test("is that of the person at the browser, whichever replicas it passes", async () => {
    const { begin, loginOf, events, router, bodies } = await setUp();
    const waiting = await begin("ada");
    const ended = await new ScriptedBrowser().open(waiting.url);
    expect(bodies.at(-1)).toContain("ptc is logged in at &#39;guarded&#39; for you");
    expect(ended.status).toBe(200);
    await waiting.done;
    const login = await loginOf("ada");
    expect(await router.verify(login?.accessToken ?? "")).toMatchObject({ scopes: ["read"] });
    expect(await loginOf("bob")).toBeUndefined();
    expect(events).toMatchObject([{ event: "logged_in", server: "guarded" }]);
  });

  test("is not finished by anybody else who is given its address", async () => {
    const { begin, loginOf, become, bodies, router } = await setUp();
    const waiting = await begin("ada");
    become("mallory");
    expect((await new ScriptedBrowser().open(waiting.url)).status).toBe(403);
    expect(bodies.at(-1)).toContain("This login is for another person");
    expect([await loginOf("ada"), await loginOf("mallory")]).toEqual([undefined, undefined]);
    expect(router.grants.code).toBe(0);
    waiting.cancel("nobody waits for it");
    await expect(waiting.done).rejects.toThrow("nobody waits for it");
  });

  test("is not finished in another browser with the address that the first was sent back to", async () => {
    const { begin, loginOf, publicUrl } = await setUp();
    const waiting = await begin("ada");
    const first = new ScriptedBrowser();
    const back = await first.open(waiting.url, (url) => url.href.startsWith(`${publicUrl}/logins/callback`));
    expect((await new ScriptedBrowser().open(back.url)).status).toBe(400);
    expect(await loginOf("ada")).toBeUndefined();
    // Nor does an answer to another login count in the browser of this one.
    const forged = new URL(back.url);
    forged.searchParams.set("state", `${forged.searchParams.get("state")?.slice(0, 20)}xyz`);
    expect((await first.open(forged.href)).status).toBe(400);
    expect((await first.open(back.url)).status).toBe(200);
    await waiting.done;
    expect(await loginOf("ada")).toBeDefined();
    // The browser has nothing left of it.
    expect((await first.open(back.url)).status).toBe(400);
  });

  test("is not begun by an address that ptc did not make, or for somebody of an issuer where ptc has no client", async () => {
    const { begin, publicUrl, bodies, origin } = await setUp();
    const browser = new ScriptedBrowser();
    for (const login of ["", "x".repeat(40), (await begin("ada")).url.slice(-60)])
      expect((await browser.open(`${publicUrl}/logins/start?login=${login}`)).status).toBe(400);
    expect((await browser.open(`${publicUrl}/logins/who?code=1&state=<script>`)).status).toBe(400);
    expect(bodies.join()).not.toContain("<script>");
    expect((await browser.open(`${publicUrl}/logins/elsewhere`)).status).toBe(404);
    expect((await browser.open(`${origin}/mcp`)).status).toBe(404);
    expect(bodies.at(-1)).not.toContain("not about logins");
  });

  test("says so when the issuer does not say who it is", async () => {
    const { begin, loginOf, publicUrl, bodies } = await setUp();
    const waiting = await begin("ada");
    const browser = new ScriptedBrowser();
    const back = await browser.open(waiting.url, (url) => url.href.startsWith(`${publicUrl}/logins/who`));
    const denied = new URL(back.url);
    denied.searchParams.delete("code");
    denied.searchParams.set("error", "access_denied");
    expect((await browser.open(denied.href)).status).toBe(400);
    expect(bodies.at(-1)).toContain("did not say who you are: access_denied");
    expect(await loginOf("ada")).toBeUndefined();
  });
});
