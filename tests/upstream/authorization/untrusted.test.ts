import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { openLoginStore } from "../../../logins/logins.ts";
import { composeAuthorizations } from "../../../project/servers/upstreams.ts";
import { buildAuthorizedFetch } from "../../../upstream/authorization/authorized-fetch.ts";
import { AddressGuard, buildGuardedFetch } from "../../../upstream/authorization/guarded-fetch.ts";
import { ownLoginSecrets } from "../../../upstream/secret-sources.ts";
import { listen } from "../mcp/upstream-http-servers.ts";
import { serveGuarded, useUser } from "./logged-in.ts";
import { ScriptedBrowser } from "./servers/browser.ts";
import { serveOidc } from "./servers/oidc-server.ts";
import type { ProtectionRules } from "./servers/protected-server.ts";
import { serveRouter } from "./servers/router-server.ts";

/** A server behind an OpenID provider, and a user of it. */
async function serveOidcGuarded(...more: [rules?: Partial<ProtectionRules>, settings?: object]) {
  const oidc = await serveOidc();
  return { oidc, ...(await serveGuarded(oidc, ...more)) };
}

/** An authorization server whose metadata says something else than it should. */
async function serveAltered(change: (metadata: Record<string, unknown>) => object) {
  const guarded = await serveOidcGuarded();
  const { oidc } = guarded;
  const response = await fetch(`${oidc.issuer}/.well-known/openid-configuration`);
  const usual = (await response.json()) as Record<string, unknown>;
  oidc.intercept = ({ url }, response) => {
    if (url !== "/.well-known/oauth-authorization-server") return false;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(change(usual)));
    return true;
  };
  return guarded;
}

/** What a browser was sent back with, before anybody has seen it. */
async function answerOf(url: string): Promise<URL> {
  return new URL((await new ScriptedBrowser().open(url, ({ pathname }) => pathname === "/callback")).url);
}

/** What a listener on this machine answers to a request for a target that need be no path. */
async function answerToTarget(port: string, target: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port: Number(port) });
  socket.end(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return text(socket);
}

describe("metadata that cannot be trusted is refused", () => {
  const noPkce = /does not say that it supports PKCE with S256/;
  const clear = (endpoint: string) => `http://example.com/${endpoint}`;
  test.for<[what: string, changed: object, why: RegExp]>([
    [
      "of another issuer",
      { issuer: "https://evil.example" },
      /names the authorization server http:\S+, whose metadata cannot be used: it names another issuer, "https:\/\/evil\.example"$/,
    ],
    ["without PKCE", { code_challenge_methods_supported: undefined }, noPkce],
    ["with plain PKCE alone", { code_challenge_methods_supported: ["plain"] }, noPkce],
    [
      "with a token endpoint in the clear",
      { token_endpoint: clear("token") },
      /token endpoint, which is not https/,
    ],
    [
      "with a login page in the clear",
      { authorization_endpoint: clear("auth") },
      /authorization endpoint, which is not https/,
    ],
    [
      "with a script for a login page",
      { authorization_endpoint: "javascript:alert(1)" },
      /cannot be used|not https/,
    ],
    [
      "of another form",
      { issuer: 7 },
      /metadata cannot be used: its member `issuer` is missing or is not as specified/,
    ],
  ])("%s", async ([, changed, why]) => {
    const { oidc, user } = await serveAltered((usual) => ({ ...usual, ...changed }));
    await expect(user.begin()).rejects.toThrow(why);
    expect(oidc.requests).not.toContain("POST /reg");
    expect(oidc.requests).not.toContain("POST /token");
  });

  test("is named with the member that is wrong", async () => {
    const { user } = await serveAltered((usual) => ({ ...usual, token_endpoint: 7 }));
    await expect(user.begin()).rejects.toThrow(
      /its member `token_endpoint` is missing or is not as specified/,
    );
  });

  test.each(["//[", "http://[", "https://a b", "\\\\[", "http://x:99999", "%", ""])(
    "with %j where a URL should stand, in one line",
    async (odd) => {
      for (const member of ["token_endpoint", "authorization_endpoint", "registration_endpoint"]) {
        const { oidc, user } = await serveAltered((usual) => ({ ...usual, [member]: odd }));
        await expect(user.begin(), member).rejects.toThrow(/^server 'guarded' [^\n]+$/);
        expect(oidc.requests, member).not.toContain("POST /token");
      }
      const { user } = await serveOidcGuarded({ authorizationServers: [odd] });
      await expect(user.begin()).rejects.toThrow(
        /^server 'guarded' has metadata about its login that cannot be used: its member `authorization_servers[^\n]+$/,
      );
      // A challenge that names no URL is as good as one that names none: the well-known place counts.
      const known = await serveOidcGuarded();
      known.server.rules.intercept = ({ url }, response) => {
        if (url !== "/mcp") return false;
        response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${odd}"` }).end();
        return true;
      };
      const waiting = await known.user.begin();
      expect(waiting?.issuer).toBe(known.oidc.issuer);
      waiting?.cancel("the test is over");
    },
  );

  test("of another resource than the server", async () => {
    const metadata = { resource: "https://other.example/mcp" };
    const { oidc, user } = await serveOidcGuarded({ metadata });
    await expect(user.begin()).rejects.toThrow(
      /has metadata for another resource, https:\/\/other\.example\/mcp: it is not trusted/,
    );
    expect(oidc.requests).toEqual([]);
  });

  test("of another authorization server than that of the configuration", async () => {
    const auth = { type: "oauth", issuer: "https://auth.example" };
    const { oidc, user } = await serveOidcGuarded({}, { auth });
    await expect(user.begin()).rejects.toThrow(
      /^server 'guarded' trusts http:.*, and not the `issuer` of its `auth` in ptc\.yaml$/,
    );
    expect(oidc.requests).toEqual([]);
  });
});

describe("an answer that cannot be trusted is refused", () => {
  const another = /another authorization server than the one/;
  test.for<[what: string, name: string, value: string | undefined, why: RegExp]>([
    ["of another issuer", "iss", "https://evil.example", another],
    ["without the issuer that is always named", "iss", undefined, another],
    ["with a code of another login", "code", "stolen", /invalid_grant/],
    ["without a code", "code", undefined, /it holds no code/],
  ])("%s", async ([, name, value, why]) => {
    const { user } = await serveOidcGuarded();
    const waiting = await user.begin();
    const answer = await answerOf(waiting?.url ?? "");
    if (value === undefined) answer.searchParams.delete(name);
    else answer.searchParams.set(name, value);
    expect((await fetch(answer)).status).toBe(400);
    await expect(waiting?.done).rejects.toThrow(why);
    await expect(user.connect()).rejects.toMatchObject({ code: "login_required" });
  });

  test("of nobody's, which does not disturb the login either", async () => {
    const { oidc, user } = await serveOidcGuarded();
    const waiting = await user.begin();
    const foreign = new URL(`${waiting?.redirectUri}?code=x&state=y&error=access_denied`);
    expect((await fetch(foreign)).status).toBe(400);
    expect((await fetch(new URL("/", foreign))).status).toBe(404);
    expect(await answerToTarget(foreign.port, "//[")).toMatch(/^HTTP\/1\.1 404 /);
    expect(await answerToTarget(foreign.port, `http://[${foreign.pathname}`)).toMatch(/^HTTP\/1\.1 404 /);
    const answer = await answerOf(waiting?.url ?? "");
    // Of two redirects with one code, the first counts.
    const pages = await Promise.all([fetch(answer), fetch(answer)]);
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 400]);
    for (const { headers } of pages) expect(headers.get("cache-control")).toBe("no-store");
    await waiting?.done;
    expect(oidc.tokenRequests).toHaveLength(1);
    await user.connect();
    // The code that was used is not used again.
    await expect(fetch(answer)).rejects.toThrow();
  });

  test("of an error, which is reported in one line", async () => {
    const { oidc, user } = await serveOidcGuarded();
    const waiting = await user.begin();
    const state = new URL(waiting?.url ?? "").searchParams.get("state") ?? "";
    const error = { error: "access_denied", error_description: "no\n\u001b[31mno" };
    await fetch(`${waiting?.redirectUri}?${new URLSearchParams({ state, iss: oidc.issuer, ...error })}`);
    await expect(waiting?.done).rejects.toThrow(/answered access_denied: no .{0,12}no$/);
  });
});

describe("the secret of a client goes to the authorization server that gave it out alone", () => {
  /** An authorization server that knows no client without a secret. */
  const serveConfidential = (clients?: NonNullable<Parameters<typeof serveOidc>[0]>["clients"]) =>
    serveOidc({ ...(clients && { clients }), configuration: { clientAuthMethods: ["client_secret_post"] } });
  const machine = {
    ...{ client_id: "machine", client_secret: "machine secret", redirect_uris: [], response_types: [] },
    ...{ grant_types: ["client_credentials"], scope: "read write" },
    token_endpoint_auth_method: "client_secret_post" as const,
  };

  test("where the server names another one later: ptc registers anew there", async () => {
    const one = await serveConfidential();
    const two = await serveConfidential();
    const { server, user } = await serveGuarded(one);
    await user.logIn();
    const secret = one.tokenRequests[0]?.get("client_secret") ?? "";
    expect(secret).not.toBe("");
    Object.assign(server.rules, { authorizationServers: [two.issuer], verifier: two });
    await user.logIn();
    expect(two.requests).toContain("POST /reg");
    expect(two.tokenRequests.map((each) => each.get("client_secret"))).not.toContain(secret);
    expect((await (await user.connect()).list()).tools).toHaveLength(3);
    // At its own one, the client is used again.
    await user.logIn();
    expect(two.requests.filter((each) => each === "POST /reg")).toHaveLength(1);
  });

  test("where ptc.yaml names another issuer since the login: that has ended, and is not renewed", async () => {
    const { oidc, server, user } = await serveOidcGuarded();
    await user.logIn();
    await user.edit((login) => ({ ...login, expiresAt: 1 }));
    const before = oidc.tokenRequests.length;
    const auth = { type: "oauth", issuer: "https://auth.example" };
    const { configuration } = useUser(server.url, { auth });
    const secrets = { ...ownLoginSecrets(user.env), onSecret() {} };
    const moved = composeAuthorizations(configuration, openLoginStore(user.env), secrets);
    expect(await moved(user.principal, "guarded")?.token()).toBeUndefined();
    expect(oidc.tokenRequests.length).toBe(before);
    await expect(user.connect()).rejects.toMatchObject({ code: "login_required" });
  });

  test("where a machine's server names another one than the issuer of ptc.yaml", async () => {
    const good = await serveConfidential([machine]);
    const evil = await serveConfidential([machine]);
    const { client_id, client_secret } = machine;
    const auth = { type: "client_credentials", client_id, client_secret, issuer: good.issuer };
    const { server, user } = await serveGuarded(good, { authorizationServers: [evil.issuer] }, { auth });
    await expect(user.connect()).rejects.toThrow(/and not the `issuer` of its `auth` in ptc\.yaml$/);
    expect([...evil.requests, ...good.requests]).toEqual([]);
    server.rules.authorizationServers = [evil.issuer, good.issuer];
    expect((await (await user.connect()).list()).tools).toHaveLength(3);
    expect(evil.requests).toEqual([]);
  });
});

describe("a token goes to its own server alone", () => {
  test("and not where the server redirects to", async () => {
    const router = await serveRouter();
    const elsewhere: IncomingMessage["headers"][] = [];
    const other = await listen(({ headers }, response) => {
      elsewhere.push(headers);
      response.writeHead(404).end();
    });
    const { server, user } = await serveGuarded(router, { scopes: [] });
    await user.logIn();
    const connection = await user.connect();
    server.rules.intercept = ({ url }, response) => {
      if (url !== "/mcp") return false;
      response.writeHead(307, { location: `${other}/mcp` }).end();
      return true;
    };
    await expect(connection.list()).rejects.toThrow();
    await expect(user.connect()).rejects.toThrow();
    expect(elsewhere.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  });

  test("and a code or a refresh token not where the token endpoint redirects to", async () => {
    const oidc = await serveOidc();
    const bodies: string[] = [];
    const other = await listen((request, response) => {
      request.on("data", (chunk) => bodies.push(String(chunk)));
      request.on("end", () => response.writeHead(404).end());
    });
    oidc.intercept = ({ url }, response) => {
      if (url !== "/token") return false;
      response.writeHead(307, { location: `${other}/token` }).end();
      return true;
    };
    const { user } = await serveGuarded(oidc);
    await expect(user.logIn()).rejects.toThrow(/was not logged in to: HTTP 307/);
    expect(bodies).toEqual([]);
  });

  /** What a server is sent whose answers are these, and the challenges that are handled; each is answered with `isAnother`. */
  async function sendTo(urls: string[], status: number, challenge: string, isAnother = false) {
    const sent: unknown[][] = [];
    const challenges: unknown[] = [];
    const inner = async (url: string | URL, init: RequestInit = {}) => {
      sent.push([String(url), new Headers(init.headers).get("authorization"), init.redirect]);
      return new Response(null, { status, headers: { "www-authenticate": challenge } });
    };
    const fetch = buildAuthorizedFetch(inner, new URL("https://mcp.example/mcp"), {
      token: async () => "t",
      challenged: async (each) => challenges.push(each) > 0 && isAnother,
      secrets: () => [],
    });
    for (const url of urls) await fetch(url);
    return { sent, challenges };
  }

  test("and not to another origin, whose challenges are not its own", async () => {
    const others = ["https://mcp.example:8443/mcp", "http://mcp.example/mcp", "https://example/mcp"];
    const { sent, challenges } = await sendTo(["https://mcp.example/x", ...others], 401, "Bearer");
    const without = others.map((url) => [url, null, undefined]);
    expect(sent).toEqual([["https://mcp.example/x", "Bearer t", "manual"], ...without]);
    expect(challenges).toHaveLength(1);
  });

  test("and three times at most for one request", async () => {
    expect((await sendTo(["https://mcp.example/mcp"], 401, "Bearer", true)).sent).toHaveLength(3);
  });

  const unauthorized = { kind: "unauthorized", isOfTokens: true };
  test.for<[status: number, challenge: string, handled: object[]]>([
    [
      401,
      'Bearer resource_metadata="https://m/", scope="a b"',
      [{ ...unauthorized, resourceMetadataUrl: "https://m/", scope: "a b" }],
    ],
    [401, "Basic realm=x, bearer Scope=a, scope=b", [{ ...unauthorized, scope: "a" }]],
    [401, 'Bearer scope="a\\"b"', [{ ...unauthorized, scope: 'a"b' }]],
    [401, 'Basic realm="Bearer"', [{ kind: "unauthorized", isOfTokens: false }]],
    [
      403,
      'Bearer error="insufficient_scope", scope=w',
      [{ kind: "insufficient_scope", isOfTokens: true, scope: "w" }],
    ],
    [403, 'Bearer error="invalid_token"', []],
    [404, "Bearer", []],
  ])("and a challenge is one of tokens, and known whole: %i %s", async ([status, challenge, handled]) => {
    const { challenges } = await sendTo(["https://mcp.example/mcp"], status, challenge);
    expect(challenges).toEqual(handled);
  });

  test("and one for another resource is of no use", async () => {
    const router = await serveRouter();
    const one = await serveGuarded(router, { scopes: [] });
    const two = await serveGuarded(router, { scopes: [] });
    await one.user.logIn();
    expect(await one.user.connect()).toBeDefined();
    await expect(two.user.connect()).rejects.toMatchObject({ code: "login_required" });
    expect(two.server.tokens.filter((token) => token !== undefined)).toEqual([]);
  });
});

describe("an authorization server that floods, hangs or dies", () => {
  const ask = (url: string, patienceMs = 60_000) =>
    buildGuardedFetch({ guard: new AddressGuard(url), patienceMs })(url);

  test("is not read to the end", async () => {
    let sent = 0;
    const chunk = Buffer.alloc(64 * 1024, " ");
    const origin = await listen((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const more = () => {
        while (sent < 10 * 1024 * 1024 && !response.destroyed) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", more);
        }
        response.end();
      };
      more();
    });
    await expect(ask(origin)).rejects.toThrow(/answered with more than 512 KiB/);
    expect(sent).toBeLessThan(9 * 1024 * 1024);
  });

  test("is not read at all where it says how much it has", async () => {
    const origin = await listen((_, response) =>
      response.writeHead(200, { "content-length": 10 * 1024 * 1024 }).write("{"),
    );
    await expect(ask(origin)).rejects.toThrow(/answered with more than 512 KiB/);
  });

  test("is given up on, before and in the middle of its answer", async () => {
    const silent = await listen(() => {});
    await expect(ask(silent, 100)).rejects.toThrow(/did not answer within 0.1 s/);
    const slow = await listen((_, response) => response.writeHead(200).write("{"));
    await expect(ask(slow, 100)).rejects.toThrow(/did not answer within 0.1 s/);
  });

  test("is reported in one line when it dies", async () => {
    const dying = await listen((_, response) => {
      response.writeHead(200, { "content-length": 1_000 });
      response.write("{", () => response.destroy());
    });
    await expect(ask(dying)).rejects.toThrow(
      /ended its answer in the middle|cannot be reached: (ECONNRESET|aborted)/,
    );
    const router = await serveRouter();
    const gone = await listen(() => {});
    const { user } = await serveGuarded(router, { authorizationServers: [gone.replace(/\d+$/, "1")] });
    await expect(user.begin()).rejects.toThrow(
      /^server 'guarded' names the authorization server http:\/\/127\.0\.0\.1:1, whose metadata cannot be used: 127\.0\.0\.1:1 cannot be reached: ECONNREFUSED$/,
    );
  });
});

test("the redirect of a login is only to be reached from this machine", async () => {
  const { user } = await serveOidcGuarded();
  const waiting = await user.begin();
  const { hostname, port } = new URL(waiting?.redirectUri ?? "");
  expect(hostname).toBe("127.0.0.1");
  const other = connect({ host: "127.0.0.2", port: Number(port) });
  await expect(once(other, "connect")).rejects.toThrow();
  waiting?.cancel("the test is over");
});
