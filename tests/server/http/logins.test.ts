import { get } from "node:http";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { openAuthenticator } from "../../../identity/identity.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import type { HttpServerOptions } from "../../../server/http/http-server.ts";
import { PersonLogin } from "../../clients/person-login.ts";
import { freePort } from "../../free-port.ts";
import { serveSigningIssuer } from "../../identity/signing-issuer.ts";
import { newFolder } from "../../temporary-folder.ts";
import { serveOidc } from "../../upstream/authorization/servers/oidc-server.ts";
import { executed, serviceOf, valued } from "../mcp/served.ts";
import { answerOf, modern, post, serveHttpHere } from "./served-http.ts";

const EXECUTE = modern("tools/call", { name: "execute_program", arguments: { code: "1" } });

/** A port that is free now, for a server whose address has to be known before it listens. */
/** ptc over HTTP with these settings of `http.auth`, and what its programs are run for. */
async function serveWith(auth: object, more: object = {}, options: Partial<HttpServerOptions> = {}) {
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}/mcp`;
  const text = JSON.stringify({ http: { public_url: publicUrl, auth, ...more } });
  const configuration = parseConfiguration(text, {
    file: "ptc.yaml",
    directory: newFolder(),
    environment: {},
  });
  const seen: RunContext[] = [];
  const service = serviceOf(async (_, { context }) => {
    seen.push(context);
    return executed({ data: 1 });
  });
  const problems: string[] = [];
  const { url } = await serveHttpHere(service, {
    listen: { host: "127.0.0.1", port, isLoopback: true },
    publicUrl,
    ...options,
    authenticator: openAuthenticator(configuration, {
      env: {},
      onWarning: (line) => void problems.push(line),
    }),
  });
  return { url, seen, problems };
}

describe("a client of the SDK", () => {
  test.for(["jwt", "opaque"] as const)(
    "finds out by itself where to log in, and its programs are its person's: %s tokens",
    async (accessTokenFormat) => {
      const scopes = ["ptc:run", "ptc:approve", "ptc:admin"];
      const claims = { name: "Ada Lovelace", groups: ["leads"] };
      const asking = {
        client_id: "ptc",
        client_secret: "s3cret",
        redirect_uris: [],
        response_types: [],
        grant_types: [],
      };
      const oidc = await serveOidc({ accessTokenFormat, scopes, claims, clients: [{ ...asking }] });
      const introspection = { client_id: "ptc", client_secret: "s3cret" };
      const entry = { issuer: oidc.issuer, ...(accessTokenFormat === "opaque" ? { introspection } : {}) };
      const { url, seen, problems } = await serveWith({ issuers: [entry] });
      const login = new PersonLogin();
      const client = () =>
        new Client({ name: "sdk", version: "1" }, { versionNegotiation: { mode: "auto" } });
      const transport = new StreamableHTTPClientTransport(url, { authProvider: login });
      await expect(client().connect(transport)).rejects.toThrow(UnauthorizedError);
      await transport.finishAuth(login.params ?? new URLSearchParams());
      const connected = client();
      await connected.connect(new StreamableHTTPClientTransport(url, { authProvider: login }));
      const reply = await connected.callTool({ name: "execute_program", arguments: { code: "1" } });
      expect(problems).toEqual([]);
      expect(reply).toMatchObject({ content: valued(1) });
      expect(seen).toMatchObject([
        { principal: `${oidc.issuer}#ada`, source: "serve", client: { name: "sdk" } },
      ]);
      if (accessTokenFormat === "jwt")
        expect(seen).toMatchObject([{ name: "Ada Lovelace", groups: ["leads"] }]);
      await connected.close();
    },
  );
});

describe("a request", () => {
  test("without a token is told where to log in, and what for", async () => {
    const { issuer } = await serveSigningIssuer();
    const { url } = await serveWith({ issuers: [{ issuer }] });
    const refused = await post(url, EXECUTE);
    const metadata = `${url.origin}/.well-known/oauth-protected-resource/mcp`;
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
      401,
      `Bearer scope="ptc:run ptc:approve ptc:admin", resource_metadata="${metadata}"`,
    ]);
    expect(await (await fetch(metadata)).json()).toMatchObject({
      resource: url.href,
      authorization_servers: [issuer],
      scopes_supported: ["ptc:run", "ptc:approve", "ptc:admin"],
    });
  });

  test("asks for no scope of ptc's where groups are mapped to them", async () => {
    const { issuer } = await serveSigningIssuer();
    const scopes = { "ptc:run": ["*"], "ptc:approve": ["leads"], "ptc:admin": ["platform"] };
    const { url } = await serveWith({ issuers: [{ issuer, scopes }] });
    expect((await post(url, EXECUTE)).headers.get("www-authenticate")).not.toContain("scope=");
  });

  test.for([
    ["a token that nobody knows", "Bearer made-up", 401, "invalid_token"],
    ["credentials of another kind", "Basic YTpi", 401, "invalid_token"],
    ["two tokens", "Bearer a, Bearer b", 401, "invalid_token"],
    ["a token that is too long", `Bearer ${"a".repeat(20_000)}`, 431, undefined],
  ] as const)("with %s is refused", async ([, authorization, status, error]) => {
    const { issuer } = await serveSigningIssuer();
    const { url, seen } = await serveWith({ issuers: [{ issuer }] });
    const refused = await post(url, EXECUTE, { Authorization: authorization });
    expect(refused.status).toBe(status);
    if (error !== undefined) expect(refused.headers.get("www-authenticate")).toContain(`error="${error}"`);
    expect(seen).toEqual([]);
  });

  test("without the scope to run programs is refused, and says which one", async () => {
    const { issuer, sign } = await serveSigningIssuer();
    const { url, seen } = await serveWith({ issuers: [{ issuer, audience: "https://ptc.example.com/mcp" }] });
    const authorization = `Bearer ${await sign({ scope: "openid" })}`;
    const refused = await post(url, EXECUTE, { Authorization: authorization });
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
    expect(await refused.text()).toContain("ptc:run");
    expect(seen).toEqual([]);
  });

  test("with a token in its address is not let in by it", async () => {
    const issuer = await serveSigningIssuer();
    const { url } = await serveWith({
      issuers: [{ issuer: issuer.issuer, audience: "https://ptc.example.com/mcp" }],
    });
    const inQuery = new URL(`?access_token=${await issuer.sign()}`, url);
    expect((await post(inQuery, EXECUTE)).status).toBe(401);
  });

  test("is put off while its issuer cannot be asked", async () => {
    const issuer = await serveSigningIssuer();
    issuer.isDown = true;
    const { url } = await serveWith({
      issuers: [{ issuer: issuer.issuer, audience: "https://ptc.example.com/mcp" }],
    });
    const put = await post(url, EXECUTE, { Authorization: `Bearer ${await issuer.sign()}` });
    expect([put.status, put.headers.get("retry-after")]).toEqual([503, "2"]);
  });

  test("with the token of another audience than this ptc is refused", async () => {
    const issuer = await serveSigningIssuer();
    const { url } = await serveWith({ issuers: [{ issuer: issuer.issuer }] });
    const refused = await post(url, EXECUTE, { Authorization: `Bearer ${await issuer.sign()}` });
    expect(await answerOf(refused)).toMatchObject({
      error: { message: "the token is for another audience" },
    });
  });
});

test("metrics are for this machine, and for administrators from behind a proxy", async () => {
  const issuer = await serveSigningIssuer();
  const auth = { issuers: [{ issuer: issuer.issuer, audience: "https://ptc.example.com/mcp" }] };
  const { url } = await serveWith(auth, {}, { metrics: async () => "ptc_runs_total 1\n" });
  const metrics = new URL("/metrics", url);
  expect(await (await fetch(metrics)).text()).toBe("ptc_runs_total 1\n");
  const statusFor = async (scope: string) => {
    const authorization = `Bearer ${await issuer.sign({ scope })}`;
    return (await fetch(metrics, { headers: { "X-Forwarded-For": "192.0.2.1", authorization } })).status;
  };
  expect([await statusFor("ptc:run"), await statusFor("ptc:admin")]).toEqual([403, 200]);
});

test("metrics are given to whoever names ptc by its address and has a token for it, and to no page that names it so", async () => {
  const issuer = await serveSigningIssuer();
  const auth = { issuers: [{ issuer: issuer.issuer, audience: "https://ptc.example.com/mcp" }] };
  const { url } = await serveWith(auth, {}, { metrics: async () => "ptc_runs_total 1\n" });
  const statusFor = (authorization?: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = { host: "10.1.2.3:8080", ...(authorization && { authorization }) };
      get(new URL("/metrics", url), { headers }, ({ statusCode = 0 }) => resolve(statusCode)).on(
        "error",
        reject,
      );
    });
  const token = (scope: string) => issuer.sign({ scope }).then((signed) => `Bearer ${signed}`);
  expect(await statusFor()).toBe(403);
  expect(await statusFor("Bearer nothing")).toBe(401);
  expect(await statusFor(await token("ptc:run"))).toBe(403);
  expect(await statusFor(await token("ptc:admin"))).toBe(200);
});
