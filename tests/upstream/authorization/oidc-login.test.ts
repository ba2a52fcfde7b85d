import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import type { ClientMetadata } from "oidc-provider";
import { describe, expect, onTestFinished, test } from "vitest";
import { loginKeyOf, loginStatus, logOut, openLoginStore } from "../../../logins/logins.ts";
import type { Client, Login } from "../../../upstream/authorization/login-store.ts";
import { discover } from "../../../upstream/authorization/oauth/authorization-server.ts";
import { chooseClient } from "../../../upstream/authorization/oauth/person-login.ts";
import { eventually } from "../../eventually.ts";
import { newFolder } from "../../temporary-folder.ts";
import { listen } from "../mcp/upstream-http-servers.ts";
import { toolCall } from "../upstream-fixtures.ts";
import { serveGuarded, useUser } from "./logged-in.ts";
import { ScriptedBrowser } from "./servers/browser.ts";
import { type OidcOptions, serveOidc } from "./servers/oidc-server.ts";

/** @param settings of the server; `auth` is completed by the issuer that there is. */
async function serveBoth({
  settings,
  ...options
}: OidcOptions & { settings?: { auth?: object; headers?: object } } = {}) {
  const oidc = await serveOidc(options);
  const auth = settings?.auth && { auth: { issuer: oidc.issuer, ...settings.auth } };
  return { oidc, ...(await serveGuarded(oidc, {}, { ...settings, ...auth })) };
}

const registrationsAt = ({ requests }: { requests: string[] }) =>
  requests.filter((each) => each === "POST /reg").length;

describe("a login at an OpenID provider", () => {
  test("is asked for by name, and then lets every call through", async () => {
    const { oidc, server, user } = await serveBoth();
    await expect(user.connect()).rejects.toMatchObject({
      code: "login_required",
      message: "server 'guarded' needs a login: run `ptc auth login guarded`",
    });
    expect(await user.logIn()).toMatchObject({ status: 200 });
    const connection = await user.connect();
    expect((await connection.list()).tools).toHaveLength(3);
    const [authorization] = oidc.authorizations;
    expect(authorization?.get("resource")).toBe(server.url);
    expect(authorization?.get("code_challenge_method")).toBe("S256");
    expect(authorization?.get("scope")).toBe("read offline_access");
    expect(authorization?.get("redirect_uri")).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect(oidc.tokenRequests[0]?.get("resource")).toBe(server.url);
    expect(oidc.tokenRequests[0]?.get("code_verifier")).toMatch(/^[\w.~-]{43,128}$/);
  });

  test("is kept in private files of the user, and known to redaction", async () => {
    const { server, user } = await serveBoth();
    await user.logIn();
    await user.connect();
    const folder = join(user.folder, "ptc/logins");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const files = readdirSync(folder).map((name) => join(folder, name));
    for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
    const [token = ""] = server.tokens.filter((each) => each !== undefined);
    expect(files.some((file) => readFileSync(file, "utf8").includes(token))).toBe(true);
    expect(user.told).toContain(token);
  });

  test("is that of the one server, the one URL and the one principal", async () => {
    const { user, server } = await serveBoth();
    await user.logIn();
    const other = { ...user.server, url: `${server.url}?other` };
    const env = user.env;
    const stateOf = async (each: typeof other, principal = user.principal) =>
      (await loginStatus({ servers: [each] }, principal, env))[0]?.state;
    expect(await stateOf(user.server)).toBe("logged_in");
    expect(await stateOf(other)).toBe("none");
    expect(await stateOf({ ...user.server, name: "another" })).toBe("none");
    expect(await stateOf(user.server, "somebody else")).toBe("none");
  });

  test("asks for the scopes that it has and for those that are wanted, when more are wanted", async () => {
    const { oidc, server, user } = await serveBoth();
    server.rules.scopesFor = (body) => (body.includes('"tools/call"') ? ["write"] : []);
    await user.logIn();
    const connection = await user.connect();
    const call = () => connection.callTool(toolCall("echo", { text: "hi" }, { timeoutMs: 60_000 }));
    await expect(call()).rejects.toMatchObject({
      code: "login_required",
      message: "server 'guarded' needs a login (it wants more scopes (write)): run `ptc auth login guarded`",
    });
    const [status] = await loginStatus(user.configuration, user.principal, user.env);
    expect(status).toMatchObject({ state: "logged_in", wantedScope: "read write" });
    // What was granted goes on meanwhile.
    expect((await connection.list()).tools).toHaveLength(3);
    await user.logIn();
    const asked = oidc.authorizations.at(-1)?.get("scope")?.split(" ");
    expect(asked?.sort()).toEqual(["offline_access", "read", "write"]);
    expect(await call()).toMatchObject({ content: [{ text: "hi" }] });
    expect(registrationsAt(oidc)).toBe(2);
    await user.logIn();
    // The provider still knows the client, which may ask for all of this.
    expect(registrationsAt(oidc)).toBe(2);
  });

  test("is not asked for again where the server wants what was asked for already", async () => {
    const { server, user } = await serveBoth();
    server.rules.scopesFor = (body) => (body.includes('"tools/call"') ? ["admin"] : []);
    await user.logIn();
    const connection = await user.connect();
    const call = () => connection.callTool(toolCall("echo", { text: "hi" }, { timeoutMs: 60_000 }));
    await expect(call()).rejects.toMatchObject({ code: "login_required" });
    // The provider knows no such scope, and grants what it knows of those that are asked for.
    await user.logIn();
    const before = server.tokens.length;
    await expect(call()).rejects.toMatchObject({
      code: "remote_error",
      message: expect.stringMatching(
        /^server 'guarded' wants the scopes admin: its authorization server was asked for them/,
      ),
    });
    expect(server.tokens.length - before).toBe(1);
  });

  test("uses the client of the configuration, with its secret", async () => {
    const client = {
      client_id: "ptc client",
      client_secret: "a secret: with + and %",
      application_type: "native" as const,
      redirect_uris: ["http://localhost/callback"],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code" as const],
      token_endpoint_auth_method: "client_secret_basic" as const,
    };
    const secret = join(newFolder(), "secret");
    writeFileSync(secret, `${client.client_secret}\n`);
    const settings = {
      headers: { "x-gateway": { command: [process.execPath, "-p", "'of the gateway'"] } },
      auth: {
        ...{ type: "oauth", client_id: client.client_id, client_secret: { file: secret } },
        callback_host: "localhost",
      },
    };
    const { oidc, server, user } = await serveBoth({ clients: [client], registration: false, settings });
    const gateways: unknown[] = [];
    server.rules.intercept = ({ url, headers }) => {
      if (url === "/mcp") gateways.push(headers["x-gateway"]);
      return false;
    };
    await user.logIn();
    expect(gateways).toEqual(["of the gateway"]);
    expect(oidc.requests).not.toContain("POST /reg");
    expect(user.told).toEqual(expect.arrayContaining([client.client_secret, "of the gateway"]));
    rmSync(secret);
    await expect(user.begin()).rejects.toThrow(
      /^server 'guarded' gets no token: .*: the file .* does not exist$/,
    );
  });

  test("says how to register a client where the server registers none", async () => {
    const { user } = await serveBoth({ registration: false });
    await expect(user.begin()).rejects.toThrow(
      /^server 'guarded' needs a client that is registered with http:\/\/127\.0\.0\.1:\d+, which registers none by itself: register one there with the redirect http:\/\/127\.0\.0\.1:PORT\/callback, and write its `client_id` under `auth` in ptc\.yaml$/,
    );
  });

  test("uses the document of the configuration where the provider takes such clients", async () => {
    const url = "https://ptc.example/client.json";
    const { oidc, user } = await serveBoth({
      settings: { auth: { type: "oauth", client_metadata_url: url } },
    });
    oidc.intercept = (request, response) => {
      if (request.url !== "/.well-known/oauth-authorization-server") return false;
      const { issuer } = oidc;
      const document = {
        ...{ issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` },
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        client_id_metadata_document_supported: true,
      };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
      return true;
    };
    const waiting = await user.begin();
    expect(new URL(waiting?.url ?? "").searchParams.get("client_id")).toBe(url);
    waiting?.cancel("the test is over");
    await expect(waiting?.done).rejects.toThrow("server 'guarded' was not logged in to: the test is over");
  });

  test("takes the address of a browser that runs elsewhere", async () => {
    const { user } = await serveBoth();
    const waiting = await user.begin();
    const browser = new ScriptedBrowser();
    const ended = await browser.open(waiting?.url ?? "", (url) => url.pathname === "/callback");
    expect(waiting?.paste("hello")).toMatch(/not the address/);
    expect(waiting?.paste(ended.url.replace(/state=[^&]*/, "state=x"))).toMatch(/another login/);
    expect(waiting?.paste(`  ${ended.url}\n`)).toBeUndefined();
    await waiting?.done;
    expect((await (await user.connect()).list()).tools).toHaveLength(3);
  });

  test("comes back to the previous port, or to another if that is taken, unless ptc.yaml names the port", async () => {
    const { oidc, server, user } = await serveBoth();
    await user.logIn();
    const portOf = async (each: typeof user) => {
      const waiting = await each.begin();
      waiting?.cancel("the test is over");
      return new URL(waiting?.redirectUri ?? "").port;
    };
    const port = new URL(oidc.authorizations[0]?.get("redirect_uri") ?? "").port;
    await eventually(async () => expect(await portOf(user)).toBe(port));
    const taken = createServer();
    onTestFinished(() => void taken.close());
    await eventually(() => once(taken.listen(Number(port), "127.0.0.1"), "listening"));
    expect(await portOf(user)).not.toBe(port);
    const named = useUser(server.url, { auth: { type: "oauth", callback_port: Number(port) } });
    await expect(named.begin()).rejects.toThrow(
      `server 'guarded' cannot be logged in to: port ${port} cannot be listened on (EADDRINUSE); end what uses it, or change callback_port in ptc.yaml`,
    );
  });

  test("ends with a logout, which revokes its tokens", async () => {
    const { oidc, server, user } = await serveBoth();
    await user.logIn();
    await user.connect();
    const token = server.tokens.at(-1) ?? "";
    expect(await oidc.verify(token)).toBeDefined();
    const out = await logOut(user.server, user.principal, user.env);
    expect(out).toEqual({ wasLoggedIn: true, isRevoked: true, problem: undefined });
    expect(await oidc.verify(token)).toBeUndefined();
    await expect(user.connect()).rejects.toMatchObject({ code: "login_required" });
    expect(await logOut(user.server, user.principal, user.env)).toMatchObject({ wasLoggedIn: false });
  });
});

describe("the client that was registered for a login", () => {
  const withClient = (change: (client: Client) => Partial<Client>) => (login: Login) => ({
    ...login,
    client: { ...login.client, ...change(login.client) },
  });
  const otherPath = ({ redirectUri = "" }: Client) => ({
    redirectUri: redirectUri.replace("/callback", "/other"),
  });

  test.for<[what: string, change: (login: Login) => object, isUsedAgain: boolean]>([
    ["is used again where nothing has changed", (login) => login, true],
    ["is used again while its secret is valid", withClient(() => ({ expiresAt: 2 ** 52 })), true],
    ["is used no more once its secret has expired", withClient(() => ({ expiresAt: 1 })), false],
    ["is used for no other redirect", withClient(otherPath), false],
    ["is not the client of an earlier metadata document", withClient(() => ({ kind: "document" })), false],
    ["is not the client that ptc.yaml named before", withClient(() => ({ kind: "configured" })), false],
    [
      "is used no more after a login that was ended",
      (login) => ({ ...login, accessToken: undefined }),
      false,
    ],
    ["is used at no other issuer", (login) => ({ ...login, issuer: "https://other.example" }), false],
  ])("%s", async ([, change, isUsedAgain]) => {
    const { oidc, server, user } = await serveBoth();
    await user.logIn();
    await user.edit(change);
    await user.logIn();
    const [before, after] = oidc.authorizations.map((each) => each.get("client_id"));
    expect(registrationsAt(oidc)).toBe(isUsedAgain ? 1 : 2);
    expect(after === before).toBe(isUsedAgain);
    const kept = await openLoginStore(user.env).read(loginKeyOf(user.principal, user.server));
    expect(kept?.client).toMatchObject({ kind: "registered", id: after });
    expect(kept?.client.redirectUri).toBe(oidc.authorizations[1]?.get("redirect_uri"));
    expect((await (await user.connect()).list()).tools).toHaveLength(3);
    expect(server.tokens.at(-1)).toBe(kept?.accessToken);
  });

  const redirectUri = "http://127.0.0.1:7/callback";
  const registered: Client = { kind: "registered", id: "of before", redirectUri, expiresAt: 5_000 };
  /** Chooses the client at a time, for a redirect to which one was registered. */
  const choose = async (issuer: string, wallMs: number, scope?: string) => {
    const options = { serverUrl: `${issuer}/mcp`, resourceMetadataUrl: undefined, issuer, fetch };
    const found = (await discover(options)) ?? expect.fail("nothing is found");
    const { auth } = useUser("http://127.0.0.1/mcp").server;
    if (auth?.type !== "oauth") throw new Error("a person does not log in");
    const settings = { ...auth, clientSecret: undefined };
    return chooseClient(found, { settings, redirectUri, scope, registered, wallMs, fetch });
  };
  /** Answers the requests for a registration in turn, and keeps what they ask for. */
  const serveRegistrations = async (...answers: [status: number, document: object][]) => {
    const oidc = await serveOidc();
    const asked: Record<string, unknown>[] = [];
    oidc.intercept = (request, response) => {
      if (request.url !== "/reg") return false;
      void json(request).then((body) => {
        const given = body as Record<string, unknown>;
        asked.push(given);
        const [status, document] = answers[asked.length - 1] ?? [500, {}];
        const answer = status === 201 ? { ...given, ...document } : document;
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
      });
      return true;
    };
    return { issuer: oidc.issuer, asked };
  };
  const refused: [number, object] = [400, { error: "invalid_client_metadata" }];

  test("expires in the moment that the provider has named", async () => {
    const oidc = await serveOidc();
    expect(await choose(oidc.issuer, 4_999)).toBe(registered);
    expect((await choose(oidc.issuer, 5_000)).id).not.toBe(registered.id);
    expect(registrationsAt(oidc)).toBe(1);
  });

  test("has its expiry from the provider, in seconds, where zero is never", async () => {
    const client = { client_id: "made", client_secret: "of it" };
    const { issuer } = await serveRegistrations(
      [201, { ...client, client_secret_expires_at: 7 }],
      [201, { ...client, client_secret_expires_at: 0 }],
    );
    const made = { kind: "registered", id: "made", secret: "of it", authMethod: "none", redirectUri };
    expect(await choose(issuer, 9_000)).toEqual({ ...made, expiresAt: 7_000 });
    expect(await choose(issuer, 9_000)).toEqual(made);
  });

  test("is asked for once more without a scope, where a provider refuses one with it", async () => {
    const { issuer, asked } = await serveRegistrations(refused, [201, { client_id: "made" }]);
    expect(await choose(issuer, 9_000, "read")).toMatchObject({ id: "made" });
    expect(asked.map(({ scope }) => scope)).toEqual(["read", undefined]);
    expect(asked[1]).toEqual({ ...asked[0], scope: undefined });
    // This provider knows no such scope.
    const strict = await serveOidc();
    expect((await choose(strict.issuer, 9_000, "read special")).kind).toBe("registered");
    expect(registrationsAt(strict)).toBe(2);
  });

  type Refusals = [what: string, scope: string | undefined, answers: [number, object][], number, why: string];
  test.for<Refusals>([
    ["a refusal without a scope", undefined, [refused], 1, "HTTP 400: .*invalid_client_metadata"],
    ["two refusals", "read", [refused, [403, { error: "last" }]], 2, "HTTP 403: .*last"],
    [
      "an answer that is no client",
      "read",
      [[200, { client_id: 7 }]],
      1,
      "its member `redirect_uris` is missing",
    ],
  ])("is asked for no more after %s", async ([, scope, answers, count, why]) => {
    const { issuer, asked } = await serveRegistrations(...answers);
    const what = "^has an authorization server that did not register ptc as a client";
    await expect(choose(issuer, 9_000, scope)).rejects.toThrow(new RegExp(`${what}: .*${why}`));
    expect(asked).toHaveLength(count);
  });
});

describe("a machine with credentials of its own", () => {
  const common = {
    ...{ client_id: "machine", redirect_uris: [], response_types: [], scope: "read write" },
    grant_types: ["client_credentials"],
  };
  /** @param auth beside the usual of ptc.yaml. @param client beside the usual at the provider. */
  const serveMachine = (auth: object, client: Partial<ClientMetadata> = {}) => {
    const own = { type: "client_credentials", client_id: "machine", ...auth };
    const secret = { client_secret: "machine secret", token_endpoint_auth_method: "client_secret_basic" };
    return serveBoth({ clients: [{ ...common, ...secret, ...client } as never], settings: { auth: own } });
  };
  const client_secret = "machine secret";

  test("gets its tokens by a secret, and again when one has expired", async () => {
    const { oidc, server, user } = await serveMachine({ client_secret });
    const connection = await user.connect();
    const [token] = server.tokens.filter((each) => each !== undefined);
    await (await oidc.provider.ClientCredentials.find(token ?? ""))?.destroy();
    expect((await connection.list()).tools).toHaveLength(3);
    const grants = oidc.tokenRequests.map((each) => each.get("grant_type"));
    expect(grants).toEqual(Array(2).fill("client_credentials"));
    expect(oidc.tokenRequests[0]?.get("resource")).toBe(server.url);
    expect(user.told).toHaveLength(2);
  });

  test("reads its secret when a token is asked for, and says where it cannot be read", async () => {
    const file = join(newFolder(), "secret");
    const { user } = await serveMachine({ client_secret: { file } });
    await expect(user.connect()).rejects.toThrow(
      `server 'guarded' gets no token: ptc.yaml:1: servers[0].auth.client_secret: the file ${file} does not exist`,
    );
    writeFileSync(file, "machine secret\n");
    const connection = await user.connect();
    expect((await connection.list()).tools).toHaveLength(3);
    expect(user.told[0]).toBe("machine secret");
  });

  test("gets them by a key, with which it signs", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = privateKey.export({ type: "pkcs8", format: "pem" });
    const command = [process.execPath, "-e", "console.log(process.argv[1])", "--", pem];
    const { oidc, user } = await serveMachine(
      { private_key: { command } },
      {
        jwks: { keys: [publicKey.export({ format: "jwk" }) as never] },
        client_secret: undefined,
        token_endpoint_auth_method: "private_key_jwt",
        token_endpoint_auth_signing_alg: "ES256",
      },
    );
    expect((await (await user.connect()).list()).tools).toHaveLength(3);
    expect(oidc.tokenRequests[0]?.get("client_assertion_type")).toMatch(/jwt-bearer$/);
  });

  test("gets one for more scopes once, and gives up where that does not do", async () => {
    const client = { token_endpoint_auth_method: "client_secret_post" } as const;
    const { oidc, server, user } = await serveMachine({ client_secret }, client);
    server.rules.scopesFor = (body) => (body.includes('"tools/list"') ? ["write"] : []);
    const connection = await user.connect();
    expect((await connection.list()).tools).toHaveLength(3);
    expect(oidc.tokenRequests.map((each) => each.get("scope"))).toEqual(["read", "read write"]);
    server.rules.scopesFor = () => ["none such"];
    await expect(connection.list()).rejects.toThrow();
    expect(oidc.tokenRequests.length).toBeLessThanOrEqual(4);
  });

  test("fails with what is wrong with its credentials", async () => {
    const { user } = await serveMachine({ client_secret: "wrong secret" });
    const why = /^server 'guarded' got no token for its client_credentials: invalid_client/;
    await expect(user.connect()).rejects.toThrow(why);
    const pem = { type: "pkcs8", format: "pem" } as const;
    const keys = [
      "no key",
      '{"kty":"none"}',
      generateKeyPairSync("ed25519").privateKey.export(pem).toString(),
      generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey.export(pem).toString(),
    ];
    for (const private_key of keys) {
      const bad = useUser(user.server.url, {
        auth: { type: "client_credentials", client_id: "m", private_key },
      });
      await expect(bad.connect()).rejects.toThrow(
        "server 'guarded' has a `private_key` in ptc.yaml that cannot sign; write a key in PKCS#8 PEM or as a JWK, for RSA or an EC curve",
      );
    }
  });
});

describe("a server that refuses whoever comes, and does not say that it takes tokens", () => {
  const refusing = (metadata: (origin: string) => Record<string, object | string>) => {
    const origin = listen(async ({ url = "" }, response) => {
      const found = metadata(await origin)[url];
      if (url.startsWith("/.well-known/"))
        response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
      else response.writeHead(401);
      response.end(found === undefined ? "" : JSON.stringify(found));
    });
    return origin.then((url) => useUser(`${url}/mcp`));
  };
  const own = (origin: string, token = `${origin}/token`) => ({
    ...{ issuer: origin, authorization_endpoint: `${origin}/auth`, token_endpoint: token },
    ...{ response_types_supported: ["code"], code_challenge_methods_supported: ["S256"] },
  });

  test.for<[what: string, metadata: (origin: string) => Record<string, object | string>]>([
    ["is its own authorization server", (url) => ({ "/.well-known/oauth-authorization-server": own(url) })],
    [
      "has one that cannot be used, which the login then says",
      (url) => ({ "/.well-known/oauth-authorization-server": own(url, "http://example.com/token") }),
    ],
  ])("asks for a login where it %s", async ([, metadata]) => {
    const user = await refusing(metadata);
    await expect(user.connect()).rejects.toMatchObject({ code: "login_required" });
  });

  test.for<[what: string, metadata: Record<string, object | string>]>([
    ["has none", {}],
    ["has a page in its place", { "/.well-known/oauth-authorization-server": "a page" }],
  ])("is told to have refused where it %s", async ([, metadata]) => {
    const user = await refusing(() => metadata);
    await expect(user.connect()).rejects.toThrow(/refused the connection with HTTP 401; check its headers$/);
  });
});
