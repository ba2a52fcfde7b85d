import { generateKeyPair, type JWTPayload } from "jose";
import { describe, expect, test } from "vitest";
import type { IssuerSettings } from "../../configuration/configuration.ts";
import { isRefusal } from "../../identity/caller.ts";
import { Issuer } from "../../identity/issuer.ts";
import { serveOidc } from "../upstream/authorization/servers/oidc-server.ts";
import { AUDIENCE, serveSigningIssuer } from "./signing-issuer.ts";

let now = 0;
const clock = { monotonicMs: () => now };

function settingsOf(issuer: string, more: Partial<IssuerSettings> = {}): IssuerSettings {
  return {
    issuer,
    audiences: [AUDIENCE],
    algorithms: ["RS256", "ES256"],
    clockSkewSeconds: 30,
    jwksUrl: undefined,
    claims: { subject: "sub", name: undefined, groups: "groups" },
    scopes: {},
    requestScopes: undefined,
    login: undefined,
    introspection: undefined,
    ...more,
  };
}

function openIssuer(issuer: string, more: Partial<IssuerSettings> = {}) {
  const warnings: string[] = [];
  const opened = new Issuer(settingsOf(issuer, more), {
    audiences: [AUDIENCE],
    clientSecret: async () => "the secret of ptc's client",
    clock,
    onWarning: (message) => void warnings.push(message),
  });
  return { opened, warnings };
}

const seconds = (from: number) => Math.floor(Date.now() / 1_000) + from;

const FORGEABLE = ["none", "HS256"];

const WRONG_CLAIMS: [string, JWTPayload, string][] = [
  ["has expired", { exp: seconds(-31) }, "expired"],
  ["never expires", { exp: undefined as never }, "when it expires"],
  ["does not count yet", { nbf: seconds(60) }, "not count yet"],
  ["is for another audience", { aud: "https://other.example/mcp" }, "another audience"],
  ["is for no audience", { aud: undefined as never }, "another audience"],
  ["is another issuer's", { iss: "https://other.example" }, "another issuer"],
  ["is of nobody", { sub: undefined as never }, "does not say who it is for"],
  ["is of somebody with an invisible name", { sub: "a\u200bb" }, "does not say who it is for"],
  ["is of somebody whose name ends a line", { sub: "a\nb" }, "does not say who it is for"],
];

describe("a signed token", () => {
  test("is of its subject at its issuer, with scopes and groups", async () => {
    const { issuer, sign } = await serveSigningIssuer();
    const { opened } = openIssuer(issuer);
    const token = await sign({
      name: "Ada",
      groups: ["leads"],
      azp: "c-1",
      scope: "openid ptc:run ptc:approve",
    });
    expect(await opened.verify(token)).toEqual({
      context: {
        principal: `${issuer}#ada`,
        source: "serve",
        name: "Ada",
        groups: ["leads"],
        clientId: "c-1",
      },
      scopes: new Set(["ptc:run", "ptc:approve"]),
    });
  });

  test.for(WRONG_CLAIMS)("is refused that %s", async ([, claims, why]) => {
    const { issuer, sign } = await serveSigningIssuer();
    const { opened } = openIssuer(issuer);
    const refusal = { error: "invalid_token", message: expect.stringContaining(why) };
    expect(await opened.verify(await sign(claims))).toEqual(refusal);
  });

  test("counts within the skew of clocks, and for one of several audiences", async () => {
    const { issuer, sign } = await serveSigningIssuer();
    const { opened } = openIssuer(issuer);
    const token = await sign({
      exp: seconds(-20),
      nbf: seconds(20),
      aud: ["https://other.example", AUDIENCE],
    });
    expect(isRefusal(await opened.verify(token))).toBe(false);
  });

  test("is refused that somebody else has signed, under the name of its key too", async () => {
    const { issuer, sign } = await serveSigningIssuer();
    const { opened } = openIssuer(issuer);
    const { privateKey } = await generateKeyPair("ES256");
    expect(await opened.verify(await sign({}, { key: privateKey }))).toMatchObject({
      error: "invalid_token",
    });
  });

  test.for(FORGEABLE)("is refused whose algorithm is %s", async (alg) => {
    const { issuer, sign } = await serveSigningIssuer();
    const { opened } = openIssuer(issuer);
    const [, payload] = (await sign()).split(".");
    const header = Buffer.from(JSON.stringify({ alg, kid: "key-1" })).toString("base64url");
    expect(await opened.verify(`${header}.${payload}.AAAA`)).toMatchObject({ error: "invalid_token" });
  });

  test("is refused whose algorithm is not on the list, however right its signature is", async () => {
    const { issuer, sign } = await serveSigningIssuer("ES384");
    const { opened } = openIssuer(issuer);
    expect(await opened.verify(await sign())).toMatchObject({
      message: expect.stringContaining("algorithm"),
    });
    const listed = openIssuer(issuer, { algorithms: ["ES384"] });
    expect(isRefusal(await listed.opened.verify(await sign()))).toBe(false);
  });

  test("is refused that names a key of nobody, and such tokens do not have the keys fetched each time", async () => {
    const issuer = await serveSigningIssuer();
    const { opened } = openIssuer(issuer.issuer);
    for (let tries = 0; tries < 20; tries++) {
      const token = await issuer.sign({}, { header: { kid: `unknown-${tries}` } });
      expect(await opened.verify(token)).toMatchObject({ error: "invalid_token" });
    }
    expect(issuer.fetches()).toBe(1);
  });

  test("is not refused but put off while the issuer's keys cannot be had, and counts when they can", async () => {
    const issuer = await serveSigningIssuer();
    const { opened, warnings } = openIssuer(issuer.issuer);
    issuer.isDown = true;
    expect(await opened.verify(await issuer.sign())).toMatchObject({ error: "temporarily_unavailable" });
    expect(warnings).toEqual([expect.stringContaining(issuer.issuer)]);
    issuer.isDown = false;
    now += 10_000;
    expect(isRefusal(await opened.verify(await issuer.sign()))).toBe(false);
  });

  test("has the scopes that its groups are given, in place of its own", async () => {
    const { issuer, sign } = await serveSigningIssuer();
    const { opened } = openIssuer(issuer, {
      scopes: { "ptc:run": ["*"], "ptc:approve": ["leads"], "ptc:admin": ["platform"] },
      claims: { subject: "oid", name: undefined, groups: "realm_access.roles" },
    });
    const token = await sign({ oid: "1", scope: "ptc:admin", realm_access: { roles: ["leads"] } });
    expect(await opened.verify(token)).toMatchObject({
      context: { principal: `${issuer}#1`, groups: ["leads"] },
      scopes: new Set(["ptc:run", "ptc:approve"]),
    });
  });
});

describe("an opaque token", () => {
  async function serveOpaque() {
    const client = {
      ...{ client_id: "ptc", client_secret: "the secret of ptc's client", redirect_uris: [] },
      ...{ grant_types: ["client_credentials"], response_types: [] },
    };
    const oidc = await serveOidc({ scopes: ["ptc:run"], clients: [client] });
    const introspection = {
      ...{ clientId: "ptc", clientSecret: "", url: undefined, cacheMs: 10_000 },
    };
    const { opened } = openIssuer(oidc.issuer, {
      introspection,
      claims: { subject: "client_id", name: undefined, groups: "groups" },
    });
    const ask = async (resource: string) => {
      const response = await fetch(`${oidc.issuer}/token`, {
        method: "POST",
        headers: {
          Authorization: `Basic ${Buffer.from(`ptc:${encodeURIComponent("the secret of ptc's client")}`).toString("base64")}`,
        },
        body: new URLSearchParams({ grant_type: "client_credentials", scope: "ptc:run", resource }),
      });
      return ((await response.json()) as { access_token: string }).access_token;
    };
    return { oidc, opened, ask };
  }

  test("is asked about at its issuer, and the answer counts for a moment", async () => {
    const { oidc, opened, ask } = await serveOpaque();
    const token = await ask(AUDIENCE);
    const asked = () => oidc.requests.filter((each) => each === "POST /token/introspection").length;
    for (let tries = 0; tries < 3; tries++)
      expect(await opened.introspect(token)).toMatchObject({
        context: { principal: `${oidc.issuer}#ptc` },
        scopes: new Set(["ptc:run"]),
      });
    expect(asked()).toBe(1);
    await (await oidc.provider.ClientCredentials.find(token))?.destroy();
    now += 10_001;
    expect(await opened.introspect(token)).toMatchObject({ error: "invalid_token" });
  });

  test("is asked about no more often than strangers may have it, and those who were known are asked about as before", async () => {
    const { oidc, opened, ask } = await serveOpaque();
    const asked = () => oidc.requests.filter((each) => each === "POST /token/introspection").length;
    const token = await ask(AUDIENCE);
    await opened.introspect(token, "192.0.2.1");
    const before = asked();
    const guess = (i: number, from: string) => opened.introspect(`made-up-${i}`, from);
    for (let i = 0; i < 60; i++) await guess(i, "192.0.2.1");
    expect(asked() - before).toBeLessThanOrEqual(30);
    expect(await guess(61, "192.0.2.1")).toMatchObject({ error: "temporarily_unavailable" });
    // The same made-up token is refused from memory.
    const after = asked();
    expect(await guess(0, "192.0.2.1")).toMatchObject({ error: "invalid_token" });
    expect(asked()).toBe(after);
    expect(await guess(62, "192.0.2.2")).toMatchObject({ error: "invalid_token" });
    now += 10_001;
    expect(await opened.introspect(token, "192.0.2.1")).toMatchObject({ scopes: new Set(["ptc:run"]) });
  });

  test("is refused that is for another audience, or of nobody", async () => {
    const { opened, ask } = await serveOpaque();
    const refusal = { error: "invalid_token", message: expect.stringContaining("another audience") };
    expect(await opened.introspect(await ask("https://other.example/mcp"))).toEqual(refusal);
    expect(await opened.introspect("made-up")).toMatchObject({ error: "invalid_token" });
  });
});
