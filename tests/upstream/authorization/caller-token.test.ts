import { describe, expect, test } from "vitest";
import type { RemoteServerConfiguration } from "../../../configuration/configuration.ts";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { openLoginStore } from "../../../logins/logins.ts";
import { composeAuthorizations } from "../../../project/servers/upstreams.ts";
import { Callers } from "../../../upstream/authorization/callers.ts";
import { connectMcpServer } from "../../../upstream/mcp/connect-mcp-server.ts";
import { ownLoginSecrets } from "../../../upstream/secret-sources.ts";
import { newFolder } from "../../temporary-folder.ts";
import { CLIENT, type ExchangingServer, serveAsserted, serveExchanging } from "./servers/exchange-grants.ts";
import { serveProtected } from "./servers/protected-server.ts";

const client = (issuer: string) => ({ issuer, client_id: CLIENT.id, client_secret: CLIENT.secret });

/** A protected server, and principals who call it through ptc. */
async function setUp(authority: ExchangingServer, auth: object, headers: object = {}) {
  const server = await serveProtected({
    ...{ authorizationServers: [authority.issuer], verifier: authority, scopes: ["read"] },
  });
  const env = { XDG_STATE_HOME: newFolder(), PTC_KEYRING: "off" };
  const text = JSON.stringify({ servers: [{ name: "guarded", url: server.url, auth, headers }] });
  const configuration = parseConfiguration(text, { file: "ptc.yaml", directory: "/", environment: {} });
  const told: string[] = [];
  const events: unknown[] = [];
  const callers = new Callers();
  const open = composeAuthorizations(
    configuration,
    openLoginStore(env),
    { ...ownLoginSecrets(env), onSecret: (secret: string) => void told.push(secret) },
    (event) => events.push(event),
    callers,
  );
  const own = new Map<string, ReturnType<typeof open>>();
  const target = configuration.servers[0] as RemoteServerConfiguration;
  /** Lists the server's tools on behalf of a principal who came with this token. */
  const list = async (principal: string, token?: string) => {
    const release = callers.hold(principal, token === undefined ? undefined : () => token);
    try {
      if (!own.has(principal)) own.set(principal, open(principal, "guarded"));
      const connection = await connectMcpServer(target, {
        ...{ clientVersion: "0", authorization: own.get(principal), connectTimeoutMs: 60_000 },
      });
      const { tools } = await connection.list();
      await connection.close();
      return tools;
    } finally {
      release();
    }
  };
  return { server, told, events, list };
}

const lastOf = (tokens: readonly (string | undefined)[]) =>
  tokens.findLast((token) => token !== undefined) ?? "";

describe("the token of a caller", () => {
  test("is exchanged for one of the same person for the server, which says that ptc acts", async () => {
    const idp = await serveExchanging();
    const { server, told, list } = await setUp(idp, { token_exchange: client(idp.issuer) });
    const subject = await idp.callerToken("ada");
    expect(await list("idp#ada", subject)).toHaveLength(3);
    const sent = lastOf(server.tokens);
    expect(sent).not.toBe(subject);
    expect(server.tokens).not.toContain(subject);
    expect(await idp.claimsOf(sent)).toMatchObject({ sub: "ada", act: { sub: "ptc" } });
    const request = idp.tokenRequests.at(-1);
    expect(Object.fromEntries(request ?? [])).toMatchObject({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
      resource: server.url,
    });
    expect(told).toEqual(expect.arrayContaining([subject, sent]));
  });

  test("is exchanged once for many requests, and again for another token", async () => {
    const idp = await serveExchanging();
    const { list } = await setUp(idp, { token_exchange: { ...client(idp.issuer), actor: false } });
    const [one, other] = [await idp.callerToken("ada"), await idp.callerToken("ada", "less")];
    await Promise.all([list("idp#ada", one), list("idp#ada", one)]);
    await list("idp#ada", one);
    expect(idp.tokenRequests).toHaveLength(1);
    await list("idp#ada", other);
    expect(idp.tokenRequests).toHaveLength(2);
  });

  test("is exchanged again when it has expired", async () => {
    const idp = await serveExchanging({ expiresIn: 16 });
    const { list } = await setUp(idp, { token_exchange: client(idp.issuer) });
    const token = await idp.callerToken("ada");
    await list("idp#ada", token);
    const before = idp.tokenRequests.length;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await list("idp#ada", token);
    expect(idp.tokenRequests.length).toBeGreaterThan(before);
  });

  test("of one person is of no use to another", async () => {
    const idp = await serveExchanging();
    const { server, list } = await setUp(idp, { token_exchange: client(idp.issuer) });
    await list("idp#ada", await idp.callerToken("ada"));
    await list("idp#bob", await idp.callerToken("bob"));
    expect(await idp.claimsOf(lastOf(server.tokens))).toMatchObject({ sub: "bob" });
    await expect(list("idp#eve")).rejects.toThrow(
      "server 'guarded' is used on behalf of whoever calls ptc over HTTP with a token of an issuer, and this call came without one",
    );
  });

  test("is that of the person's latest request in progress, and each request ends its own alone", () => {
    const callers = new Callers();
    const endFirst = callers.hold("idp#ada", () => "first");
    const endSecond = callers.hold("idp#ada", () => "second");
    callers.hold("idp#bob", () => "another");
    callers.hold("idp#ada", undefined)();
    expect(callers.tokenOf("idp#ada")).toBe("second");
    endSecond();
    expect(callers.tokenOf("idp#ada")).toBe("first");
    endFirst();
    expect(callers.tokenOf("idp#ada")).toBeUndefined();
    const endThird = callers.hold("idp#ada", () => "third");
    for (const end of [endFirst, endSecond]) end();
    expect(callers.tokenOf("idp#ada")).toBe("third");
    endThird();
    expect(callers.tokenOf("idp#ada")).toBeUndefined();
    expect(callers.tokenOf("idp#bob")).toBe("another");
  });

  test("that is refused leaves nothing else to be tried, though there is a machine's login", async () => {
    const idp = await serveExchanging();
    idp.refused.add("mallory");
    const machine = { type: "client_credentials", ...client(idp.issuer) };
    const { server, events, list } = await setUp(idp, { ...machine, token_exchange: client(idp.issuer) });
    await expect(list("idp#mallory", await idp.callerToken("mallory"))).rejects.toThrow(
      /^server 'guarded' is used on behalf of the caller, and http:\S+ did not exchange the caller's token: invalid_grant: the subject token is not taken/,
    );
    expect(server.tokens).toEqual([]);
    expect(events).toMatchObject([{ principal: "idp#mallory", event: "failed" }]);
    // An agent with a token of ptc's own has none to exchange, and is the machine.
    expect(await list("token#ci")).toHaveLength(3);
  });

  test.each([
    [null, {}],
    ["read", { scopes: ["read"] }],
  ])(
    "is exchanged for an assertion of the scope %j, for which the server's own authorization server gives a token",
    async (scope, scopes) => {
      const idp = await serveExchanging();
      const theirs = await serveAsserted(idp);
      const { server, list } = await setUp(theirs, {
        ...{ issuer: theirs.issuer, client_id: CLIENT.id, client_secret: CLIENT.secret, ...scopes },
        identity_assertion: client(idp.issuer),
      });
      const subject = await idp.callerToken("ada");
      expect(await list("idp#ada", subject)).toHaveLength(3);
      expect(await theirs.claimsOf(lastOf(server.tokens))).toMatchObject({ sub: "theirs ada" });
      expect(Object.fromEntries(idp.tokenRequests[0] ?? [])).toMatchObject({
        ...{ audience: theirs.issuer, resource: server.url },
        requested_token_type: "urn:ietf:params:oauth:token-type:id-jag",
      });
      for (const [request] of [idp.tokenRequests, theirs.tokenRequests])
        expect(request?.get("scope")).toBe(scope);
      // What the caller came with stays at its own issuer.
      expect(theirs.tokenRequests.map((request) => String(request)).join()).not.toContain(subject);
      expect(idp.requests.concat(theirs.requests).filter((each) => each.includes("/token"))).toHaveLength(2);
    },
  );

  test("never goes to an authorization server that the server names and the configuration does not", async () => {
    const [idp, other] = [await serveExchanging(), await serveExchanging()];
    const { server, list } = await setUp(other, { token_exchange: client(idp.issuer) });
    await expect(list("idp#ada", await idp.callerToken("ada"))).rejects.toThrow("guarded");
    expect(other.tokenRequests).toEqual([]);
    expect(server.tokens.length).toBeGreaterThan(0);
  });
});
