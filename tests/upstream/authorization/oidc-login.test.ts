import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { loginKeyOf, loginStatus, logOut, openLoginStore } from "../../../logins/logins.ts";
import type { Client, Login } from "../../../upstream/authorization/login-store.ts";
import { discover } from "../../../upstream/authorization/oauth/authorization-server.ts";
import { chooseClient } from "../../../upstream/authorization/oauth/person-login.ts";
import { toolCall } from "../upstream-fixtures.ts";
import { useUser } from "./logged-in.ts";
import { ScriptedBrowser } from "./servers/browser.ts";
import { type OidcOptions, serveOidc } from "./servers/oidc-server.ts";
import { serveProtected } from "./servers/protected-server.ts";

/** @param settings of the server; `auth` is completed by the issuer that there is. */
async function serveBoth({
  settings,
  ...options
}: OidcOptions & { settings?: { auth?: object; headers?: object } } = {}) {
  const oidc = await serveOidc(options);
  const server = await serveProtected({
    authorizationServers: [oidc.issuer],
    verifier: oidc,
    scopes: ["read"],
  });
  const auth = settings?.auth && { issuer: oidc.issuer, ...settings.auth };
  return { oidc, server, user: useUser(server.url, { ...settings, ...(auth && { auth }) }) };
}

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

  test("is kept in private files of the user, and told to redaction", async () => {
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
    expect(oidc.authorizations.at(-1)?.get("scope")?.split(" ").sort()).toEqual([
      "offline_access",
      "read",
      "write",
    ]);
    expect(await call()).toMatchObject({ content: [{ text: "hi" }] });
    expect(oidc.requests.filter((each) => each === "POST /reg")).toHaveLength(2);
    await user.logIn();
    // The provider still knows the client, which may ask for all of this.
    expect(oidc.requests.filter((each) => each === "POST /reg")).toHaveLength(2);
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
    const folder = mkdtempSync(join(tmpdir(), "ptc-secret-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const secret = join(folder, "secret");
    writeFileSync(secret, `${client.client_secret}\n`);
    const settings = {
      headers: { "x-gateway": { command: [process.execPath, "-p", "'of the gateway'"] } },
      auth: {
        type: "oauth",
        client_id: client.client_id,
        client_secret: { file: secret },
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
      const endpoints = {
        authorization_endpoint: `${oidc.issuer}/auth`,
        token_endpoint: `${oidc.issuer}/token`,
      };
      const document = {
        issuer: oidc.issuer,
        ...endpoints,
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
    [
      "is used again while its secret is valid",
      withClient(() => ({ expiresAt: Number.MAX_SAFE_INTEGER })),
      true,
    ],
    ["is used no more once its secret has expired", withClient(() => ({ expiresAt: 1 })), false],
    ["is used for no other redirect", withClient(otherPath), false],
    ["is not what a document of before named", withClient(() => ({ kind: "document" })), false],
    ["is not what ptc.yaml named before", withClient(() => ({ kind: "configured" })), false],
    [
      "is used no more after a login that was ended, whose client may be unknown by now",
      (login) => ({ ...login, accessToken: undefined }),
      false,
    ],
    [
      "is used at no other authorization server",
      (login) => ({ ...login, issuer: "https://other.example" }),
      false,
    ],
  ])("%s", async ([, change, isUsedAgain]) => {
    const { oidc, server, user } = await serveBoth();
    await user.logIn();
    await user.edit(change);
    await user.logIn();
    const [before, after] = oidc.authorizations.map((each) => each.get("client_id"));
    expect(oidc.requests.filter((each) => each === "POST /reg")).toHaveLength(isUsedAgain ? 1 : 2);
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
    const found = await discover({
      serverUrl: `${issuer}/mcp`,
      resourceMetadataUrl: undefined,
      issuer,
      fetch,
    });
    if (found === undefined) throw new Error("nothing is found");
    const { auth: settings } = useUser("http://127.0.0.1/mcp").server;
    if (settings?.type !== "oauth") throw new Error("a person does not log in");
    return chooseClient(found, {
      settings: { ...settings, clientSecret: undefined },
      redirectUri,
      scope,
      registered,
      wallMs,
      fetch,
    });
  };
  /** Answers the requests for a registration in turn, and keeps what they ask for. */
  const serveRegistrations = async (...answers: [status: number, document: object][]) => {
    const oidc = await serveOidc();
    const asked: Record<string, unknown>[] = [];
    oidc.intercept = (request, response) => {
      if (request.url !== "/reg") return false;
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => {
        const given = JSON.parse(Buffer.concat(chunks).toString());
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
    const { issuer, requests } = await serveOidc();
    expect(await choose(issuer, 4_999)).toBe(registered);
    expect((await choose(issuer, 5_000)).id).not.toBe(registered.id);
    expect(requests.filter((each) => each === "POST /reg")).toHaveLength(1);
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
    expect(strict.requests.filter((each) => each === "POST /reg")).toHaveLength(2);
  });

  test.for<
    [what: string, scope: string | undefined, answers: [number, object][], asked: number, why: RegExp]
  >([
    ["a refusal without a scope", undefined, [refused], 1, /HTTP 400: .*invalid_client_metadata/],
    ["two refusals", "read", [refused, [403, { error: "last" }]], 2, /HTTP 403: .*last/],
    ["an answer that is no client", "read", [[200, { client_id: 7 }]], 1, /form/],
  ])("is asked for no more after %s", async ([, scope, answers, count, why]) => {
    const { issuer, asked } = await serveRegistrations(...answers);
    await expect(choose(issuer, 9_000, scope)).rejects.toThrow(
      new RegExp(`^has an authorization server that did not register ptc as a client: .*${why.source}`),
    );
    expect(asked).toHaveLength(count);
  });
});

describe("a machine with credentials of its own", () => {
  const common = {
    client_id: "machine",
    redirect_uris: [],
    response_types: [],
    grant_types: ["client_credentials"],
    scope: "read write",
  };

  test("gets its tokens by a secret, and again when one has expired", async () => {
    const client = {
      ...common,
      client_secret: "machine secret",
      token_endpoint_auth_method: "client_secret_basic" as const,
    };
    const auth = { type: "client_credentials", client_id: "machine", client_secret: "machine secret" };
    const { oidc, server, user } = await serveBoth({ clients: [client], settings: { auth } });
    const connection = await user.connect();
    const [token] = server.tokens.filter((each) => each !== undefined);
    await (await oidc.provider.ClientCredentials.find(token ?? ""))?.destroy();
    expect((await connection.list()).tools).toHaveLength(3);
    expect(oidc.tokenRequests.map((each) => each.get("grant_type"))).toEqual(
      Array(2).fill("client_credentials"),
    );
    expect(oidc.tokenRequests[0]?.get("resource")).toBe(server.url);
    expect(user.told).toHaveLength(2);
  });

  test("reads its secret when a token is asked for, and says where it cannot be read", async () => {
    const client = {
      ...common,
      client_secret: "machine secret",
      token_endpoint_auth_method: "client_secret_basic" as const,
    };
    const secret = join(mkdtempSync(join(tmpdir(), "ptc-secret-")), "secret");
    onTestFinished(() => rmSync(dirname(secret), { recursive: true }));
    const auth = { type: "client_credentials", client_id: "machine", client_secret: { file: secret } };
    const { user } = await serveBoth({ clients: [client], settings: { auth } });
    await expect(user.connect()).rejects.toThrow(
      `server 'guarded' gets no token: ptc.yaml:1: servers[0].auth.client_secret: the file ${secret} does not exist`,
    );
    writeFileSync(secret, "machine secret\n");
    const connection = await user.connect();
    expect((await connection.list()).tools).toHaveLength(3);
    expect(user.told[0]).toBe("machine secret");
  });

  test("gets them by a key, with which it signs", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const jwks = { keys: [publicKey.export({ format: "jwk" }) as never] };
    const client = {
      ...common,
      jwks,
      token_endpoint_auth_method: "private_key_jwt" as const,
      token_endpoint_auth_signing_alg: "ES256" as const,
    };
    const pem = privateKey.export({ type: "pkcs8", format: "pem" });
    const command = [process.execPath, "-e", "console.log(process.argv[1])", "--", pem];
    const auth = { type: "client_credentials", client_id: "machine", private_key: { command } };
    const { oidc, user } = await serveBoth({ clients: [client], settings: { auth } });
    expect((await (await user.connect()).list()).tools).toHaveLength(3);
    expect(oidc.tokenRequests[0]?.get("client_assertion_type")).toMatch(/jwt-bearer$/);
  });

  test("gets one for more scopes once, and gives up where that does not do", async () => {
    const client = {
      ...common,
      client_secret: "machine secret",
      token_endpoint_auth_method: "client_secret_post" as const,
    };
    const auth = { type: "client_credentials", client_id: "machine", client_secret: "machine secret" };
    const { oidc, server, user } = await serveBoth({ clients: [client], settings: { auth } });
    server.rules.scopesFor = (body) => (body.includes('"tools/list"') ? ["write"] : []);
    const connection = await user.connect();
    expect((await connection.list()).tools).toHaveLength(3);
    expect(oidc.tokenRequests.map((each) => each.get("scope"))).toEqual(["read", "read write"]);
    server.rules.scopesFor = () => ["none such"];
    await expect(connection.list()).rejects.toThrow();
    expect(oidc.tokenRequests.length).toBeLessThanOrEqual(4);
  });

  test("is told what is wrong with its credentials", async () => {
    const auth = { type: "client_credentials", client_id: "machine", client_secret: "wrong secret" };
    const { user } = await serveBoth({ settings: { auth } });
    await expect(user.connect()).rejects.toThrow(
      /^server 'guarded' got no token for its client_credentials: invalid_client/,
    );
    const bad = useUser(user.server.url, {
      auth: { type: "client_credentials", client_id: "m", private_key: "no key" },
    });
    await expect(bad.connect()).rejects.toThrow(/has a `private_key` in ptc\.yaml that cannot sign/);
  });
});
