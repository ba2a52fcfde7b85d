import { expect, it, test } from "vitest";
import { AddressGuard, buildGuardedFetch } from "../../../upstream/authorization/guarded-fetch.ts";
import { grantedBy } from "../../../upstream/authorization/oauth/authorization-server.ts";
import { refreshLogin } from "../../../upstream/authorization/oauth/login-tokens.ts";
import { listen } from "../mcp/upstream-http-servers.ts";
import { serveGuarded } from "./logged-in.ts";
import { serveOidc } from "./servers/oidc-server.ts";

const clock = { wallMs: () => 1_000_000 };

/** What a `fetch` for metadata and tokens makes of an answer. */
async function read(body: string): Promise<string> {
  const origin = await listen((_, response) => void response.writeHead(200).end(body));
  const fetch = buildGuardedFetch({ guard: new AddressGuard(origin) });
  return (await fetch(origin)).text();
}

it.each([
  ['{"a":null,"scope":"x"}', '{"scope":"x"}'],
  [
    '{"expires_in":"3600","client_secret_expires_at":"0"}',
    '{"expires_in":3600,"client_secret_expires_at":0}',
  ],
  ['{"expires_in":"soon","name":"12"}', '{"expires_in":"soon","name":"12"}'],
  ['{"jwks":{"keys":[null]}}', '{"jwks":{"keys":[null]}}'],
  ["[null]", "[null]"],
  ["<html>", "<html>"],
  ["", ""],
])("an answer %j of an authorization server is read as %j", async (body, expected) => {
  expect(await read(body)).toBe(expected);
});

test("a token answer whose optional members are null renews a login", async () => {
  const url = await listen(
    (_, response) =>
      void response.writeHead(200, { "content-type": "application/json" }).end(
        JSON.stringify({
          access_token: "new",
          token_type: "Bearer",
          expires_in: "60",
          refresh_token: null,
          scope: null,
        }),
      ),
  );
  const login = {
    version: 1 as const,
    principal: "local",
    url,
    issuer: url,
    tokenEndpoint: `${url}/token`,
    client: { kind: "configured" as const, id: "ptc" },
    accessToken: "old",
    refreshToken: "kept",
    scope: "read",
  };
  expect(await refreshLogin(login, clock)).toMatchObject({
    accessToken: "new",
    refreshToken: "kept",
    scope: "read",
    expiresAt: 1_060_000,
  });
});

test("metadata whose optional members are null leads to a login", async () => {
  const oidc = await serveOidc();
  const usual = await (await fetch(`${oidc.issuer}/.well-known/openid-configuration`)).json();
  const nulls = { scopes_supported: null, revocation_endpoint: null, op_policy_uri: null, jwks_uri: null };
  const { user, server } = await serveGuarded(oidc);
  oidc.intercept = ({ url }, response) => {
    if (url !== "/.well-known/oauth-authorization-server") return false;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...(usual as object), ...nulls }));
    return true;
  };
  expect(server).toBeDefined();
  expect((await user.begin())?.issuer).toBe(oidc.issuer);
});

test("a token answer without an expiry is valid until it is refused", () => {
  expect(grantedBy({ access_token: "a", token_type: "bearer" }, "x", clock).expiresAt).toBeUndefined();
});
