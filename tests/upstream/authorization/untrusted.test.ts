import type { IncomingMessage, ServerResponse } from "node:http";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { openLoginStore } from "../../../logins/logins.ts";
import { ownLoginSecrets } from "../../../logins/user-secrets.ts";
import { AddressGuard, buildGuardedFetch } from "../../../upstream/authorization/guarded-fetch.ts";
import { composeAuthorizations } from "../../../wiring/upstreams.ts";
import { listen } from "../mcp/upstream-http-servers.ts";
import { useUser } from "./logged-in.ts";
import { ScriptedBrowser } from "./servers/browser.ts";
import { serveOidc } from "./servers/oidc-server.ts";
import { serveProtected } from "./servers/protected-server.ts";
import { serveRouter } from "./servers/router-server.ts";

const METADATA = "/.well-known/oauth-authorization-server";

function answerJson(response: ServerResponse, document: unknown): true {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
  return true;
}

/** A server behind an authorization server, and a user of it. */
async function serveGuarded() {
  const oidc = await serveOidc();
  const server = await serveProtected({
    authorizationServers: [oidc.issuer],
    verifier: oidc,
    scopes: ["read"],
  });
  return { oidc, server, user: useUser(server.url) };
}

/** An authorization server whose metadata says something else than it should. */
async function serveAltered(change: (metadata: Record<string, unknown>) => object) {
  const guarded = await serveGuarded();
  const { oidc } = guarded;
  const usual = (await (await fetch(`${oidc.issuer}/.well-known/openid-configuration`)).json()) as Record<
    string,
    unknown
  >;
  oidc.intercept = ({ url }, response) => url === METADATA && answerJson(response, change(usual));
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
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe("metadata that cannot be trusted is refused", () => {
  test.for<[what: string, change: (usual: Record<string, unknown>) => object, why: RegExp]>([
    ["of another issuer", (usual) => ({ ...usual, issuer: "https://evil.example" }), /Issuer mismatch/],
    [
      "without PKCE",
      ({ code_challenge_methods_supported: _, ...usual }) => usual,
      /does not say that it supports PKCE with S256/,
    ],
    [
      "with plain PKCE alone",
      (usual) => ({ ...usual, code_challenge_methods_supported: ["plain"] }),
      /does not say that it supports PKCE with S256/,
    ],
    [
      "with a token endpoint in the clear",
      (usual) => ({ ...usual, token_endpoint: "http://example.com/token" }),
      /token endpoint, which is not https/,
    ],
    [
      "with a login page in the clear",
      (usual) => ({ ...usual, authorization_endpoint: "http://example.com/auth" }),
      /authorization endpoint, which is not https/,
    ],
    [
      "with a script for a login page",
      (usual) => ({ ...usual, authorization_endpoint: "javascript:alert(1)" }),
      /cannot be used|not https/,
    ],
    ["of another form", () => ({ issuer: 7 }), /metadata cannot be used: it does not have the form/],
  ])("%s", async ([, change, why]) => {
    const { oidc, user } = await serveAltered(change);
    await expect(user.begin()).rejects.toThrow(why);
    expect(oidc.requests).not.toContain("POST /reg");
    expect(oidc.requests).not.toContain("POST /token");
  });

  test.each(["//[", "http://[", "https://a b", "\\\\[", "http://x:99999", "%", ""])(
    "with %j where a URL should stand, in one line",
    async (odd) => {
      for (const member of ["token_endpoint", "authorization_endpoint", "registration_endpoint"]) {
        const { oidc, user } = await serveAltered((usual) => ({ ...usual, [member]: odd }));
        await expect(user.begin(), member).rejects.toThrow(/^server 'guarded' [^\n]+$/);
        expect(oidc.requests, member).not.toContain("POST /token");
      }
      const oidc = await serveOidc();
      const server = await serveProtected({ authorizationServers: [odd], verifier: oidc, scopes: ["read"] });
      expect(await useUser(server.url).begin()).toBeUndefined();
      // A challenge that names no URL is as good as one that names none: the well-known place counts.
      const known = await serveProtected({
        authorizationServers: [oidc.issuer],
        verifier: oidc,
        scopes: ["read"],
      });
      known.rules.intercept = ({ url }, response) => {
        if (url !== "/mcp") return false;
        response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${odd}"` }).end();
        return true;
      };
      const waiting = await useUser(known.url).begin();
      expect(waiting?.issuer).toBe(oidc.issuer);
      waiting?.cancel("the test is over");
    },
  );

  test("of another resource than the server", async () => {
    const oidc = await serveOidc();
    const server = await serveProtected({
      authorizationServers: [oidc.issuer],
      verifier: oidc,
      scopes: ["read"],
      metadata: { resource: "https://other.example/mcp" },
    });
    await expect(useUser(server.url).begin()).rejects.toThrow(
      /has metadata for another resource, https:\/\/other\.example\/mcp: it is not trusted/,
    );
    expect(oidc.requests).toEqual([]);
  });

  test("of another authorization server than that of the configuration", async () => {
    const oidc = await serveOidc();
    const server = await serveProtected({
      authorizationServers: [oidc.issuer],
      verifier: oidc,
      scopes: ["read"],
    });
    const user = useUser(server.url, { auth: { type: "oauth", issuer: "https://auth.example" } });
    await expect(user.begin()).rejects.toThrow(
      /^server 'guarded' trusts http:.*, and not the `issuer` of its `auth` in ptc\.yaml$/,
    );
    expect(oidc.requests).toEqual([]);
  });
});

describe("an answer that cannot be trusted is refused", () => {
  test.for<[what: string, change: (answer: URL) => void, why: RegExp]>([
    [
      "of another issuer",
      (answer) => answer.searchParams.set("iss", "https://evil.example"),
      /another authorization server than the one/,
    ],
    [
      "without the issuer that is always named",
      (answer) => answer.searchParams.delete("iss"),
      /another authorization server than the one/,
    ],
    ["with a code of another login", (answer) => answer.searchParams.set("code", "stolen"), /invalid_grant/],
    ["without a code", (answer) => answer.searchParams.delete("code"), /it holds no code/],
  ])("%s", async ([, change, why]) => {
    const { user } = await serveGuarded();
    const waiting = await user.begin();
    const answer = await answerOf(waiting?.url ?? "");
    change(answer);
    expect((await fetch(answer)).status).toBe(400);
    await expect(waiting?.done).rejects.toThrow(why);
    await expect(user.connect()).rejects.toMatchObject({ code: "login_required" });
  });

  test("of nobody's, which does not disturb the login either", async () => {
    const { user } = await serveGuarded();
    const waiting = await user.begin();
    const foreign = new URL(`${waiting?.redirectUri}?code=x&state=y&error=access_denied`);
    expect((await fetch(foreign)).status).toBe(400);
    expect((await fetch(new URL("/", foreign))).status).toBe(404);
    expect(await answerToTarget(foreign.port, "//[")).toMatch(/^HTTP\/1\.1 404 /);
    expect(await answerToTarget(foreign.port, `http://[${foreign.pathname}`)).toMatch(/^HTTP\/1\.1 404 /);
    const answer = await answerOf(waiting?.url ?? "");
    const page = await fetch(answer);
    expect({ status: page.status, store: page.headers.get("cache-control") }).toEqual({
      status: 200,
      store: "no-store",
    });
    await waiting?.done;
    await user.connect();
    // The code that was used is not used again.
    await expect(fetch(answer)).rejects.toThrow();
  });

  test("of an error, which is told in one line", async () => {
    const oidc = await serveOidc();
    const server = await serveProtected({
      authorizationServers: [oidc.issuer],
      verifier: oidc,
      scopes: ["read"],
    });
    const waiting = await useUser(server.url).begin();
    const answer = new URL(`${waiting?.redirectUri}`);
    const state = new URL(waiting?.url ?? "").searchParams.get("state") ?? "";
    for (const [name, value] of Object.entries({
      state,
      iss: oidc.issuer,
      error: "access_denied",
      error_description: "no\n\u001b[31mno",
    }))
      answer.searchParams.set(name, value);
    await fetch(answer);
    await expect(waiting?.done).rejects.toThrow(/answered access_denied: no .{0,12}no$/);
  });
});

describe("the secret of a client goes to the authorization server that gave it out alone", () => {
  /** An authorization server that knows no client without a secret. */
  const serveConfidential = (clients?: NonNullable<Parameters<typeof serveOidc>[0]>["clients"]) =>
    serveOidc({
      ...(clients && { clients }),
      configuration: { clientAuthMethods: ["client_secret_post"] },
    });
  const machine = {
    client_id: "machine",
    client_secret: "machine secret",
    token_endpoint_auth_method: "client_secret_post" as const,
    redirect_uris: [],
    response_types: [],
    grant_types: ["client_credentials"],
    scope: "read write",
  };

  test("where the server names another one later: ptc registers anew there", async () => {
    const one = await serveConfidential();
    const two = await serveConfidential();
    const server = await serveProtected({
      authorizationServers: [one.issuer],
      verifier: one,
      scopes: ["read"],
    });
    const user = useUser(server.url);
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
    const one = await serveOidc();
    const server = await serveProtected({
      authorizationServers: [one.issuer],
      verifier: one,
      scopes: ["read"],
    });
    const user = useUser(server.url);
    await user.logIn();
    await user.edit((login) => ({ ...login, expiresAt: 1 }));
    const before = one.tokenRequests.length;
    const { configuration } = useUser(server.url, {
      auth: { type: "oauth", issuer: "https://auth.example" },
    });
    const secrets = { ...ownLoginSecrets(user.env), onSecret() {} };
    const moved = composeAuthorizations(configuration, openLoginStore(user.env), secrets);
    expect(await moved(user.principal, "guarded")?.token()).toBeUndefined();
    expect(one.tokenRequests.length).toBe(before);
    await expect(user.connect()).rejects.toMatchObject({ code: "login_required" });
  });

  test("where a machine's server names another one than the issuer of ptc.yaml", async () => {
    const good = await serveConfidential([machine]);
    const evil = await serveConfidential([machine]);
    const server = await serveProtected({
      authorizationServers: [evil.issuer],
      verifier: good,
      scopes: ["read"],
    });
    const { client_id, client_secret } = machine;
    const auth = { type: "client_credentials", client_id, client_secret, issuer: good.issuer };
    const user = useUser(server.url, { auth });
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
    const server = await serveProtected({ authorizationServers: [router.issuer], verifier: router });
    const user = useUser(server.url);
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
    const server = await serveProtected({
      authorizationServers: [oidc.issuer],
      verifier: oidc,
      scopes: ["read"],
    });
    await expect(useUser(server.url).logIn()).rejects.toThrow(/was not logged in to: HTTP 307/);
    expect(bodies).toEqual([]);
  });

  test("and one for another resource is of no use", async () => {
    const router = await serveRouter();
    const one = await serveProtected({ authorizationServers: [router.issuer], verifier: router });
    const two = await serveProtected({ authorizationServers: [router.issuer], verifier: router });
    const user = useUser(one.url);
    await user.logIn();
    expect(await user.connect()).toBeDefined();
    await expect(useUser(two.url).connect()).rejects.toMatchObject({ code: "login_required" });
    expect(two.tokens.filter((token) => token !== undefined)).toEqual([]);
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

  test("is told of in one line when it dies", async () => {
    const dying = await listen((_, response) => {
      response.writeHead(200, { "content-length": 1_000 });
      response.write("{", () => response.destroy());
    });
    await expect(ask(dying)).rejects.toThrow(
      /ended its answer in the middle|cannot be reached: (ECONNRESET|aborted)/,
    );
    const router = await serveRouter();
    const gone = await listen(() => {});
    const server = await serveProtected({
      authorizationServers: [gone.replace(/\d+$/, "1")],
      verifier: router,
    });
    await expect(useUser(server.url).begin()).rejects.toThrow(
      /^server 'guarded' names the authorization server http:\/\/127\.0\.0\.1:1, whose metadata cannot be used: 127\.0\.0\.1:1 cannot be reached: ECONNREFUSED$/,
    );
  });
});

test("the redirect of a login is only to be reached from this machine", async () => {
  const oidc = await serveOidc();
  const server = await serveProtected({
    authorizationServers: [oidc.issuer],
    verifier: oidc,
    scopes: ["read"],
  });
  const waiting = await useUser(server.url).begin();
  const { hostname, port } = new URL(waiting?.redirectUri ?? "");
  expect(hostname).toBe("127.0.0.1");
  const other = connect({ host: "127.0.0.2", port: Number(port) });
  await expect(
    new Promise((resolve, reject) => other.on("connect", resolve).on("error", reject)),
  ).rejects.toThrow();
  waiting?.cancel("the test is over");
});
