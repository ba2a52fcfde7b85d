import { describe, expect, it } from "vitest";
import { parseConfiguration } from "../../configuration/parse.ts";
import type { KnownSession, KnownToken } from "../../console/parts.ts";
import type { Rights, Viewer } from "../../console/viewer.ts";
import { isRefusal } from "../../identity/caller.ts";
import { Tokens } from "../../identity/tokens.ts";
import { tokensForConsole } from "../../project/console/me.ts";
import { newFolder } from "../temporary-folder.ts";
import { ALL, enter, serveConsole } from "./served-console.ts";

const TOKEN: KnownToken = {
  ...{ name: "nightly", principal: "token#nightly", groups: ["ci"], scopes: ["ptc:run"] },
  ...{ createdAt: 1_000, expiresAt: Date.now() + 60_000 },
};
const SESSION: KnownSession = {
  ...{ id: "17 report", name: "report", language: "python", programs: 3, startedAt: 1_000, idleSince: 2_000 },
};

/** What the form of a token must not ask for. */
const TOO_MUCH: [string, Record<string, string>][] = [
  ["a group that they are not in", { group: "admins" }],
  ["a scope that they do not have", { scope: "ptc:admin" }],
  ["a scope that there is not", { scope: "ptc:all" }],
  ["no scope", { scope: "" }],
  ["more days than people may give", { days: "91" }],
  ["no days", { days: "0" }],
  ["days that are no number", { days: "1e1000" }],
  ["a name that is none", { name: "../a" }],
];

const NO_TOKENS = {
  counts: () => true,
  list: async () => [],
  create: async () => ({ why: "none are made here" }),
  learnGroups: async () => {},
  revoke: async () => undefined,
};
const OWN: Rights = { ...ALL, runs: "own", audit: "own" };
const ADA = { principal: "https://login.example.com#ada", name: "Ada", groups: ["staff", "eu"] };
const ISSUER = { issuer: "https://login.example.com" };

/** The console of a viewer, with the tokens of a project. */
async function withTokens(
  rights: Rights,
  viewer: Viewer = { principal: "local", name: "ada" },
  settings: object = { http: { public_url: "https://ptc.example.com/mcp", auth: { issuers: [ISSUER] } } },
) {
  const directory = newFolder();
  const configuration = parseConfiguration(JSON.stringify({ ...settings }), {
    ...{ file: "ptc.yaml", directory, environment: {} },
  });
  const { origin } = await serveConsole({
    tokens: tokensForConsole(() => configuration, {}),
    rightsOf: async () => rights,
    entrance: { enter: async () => ({ kind: "in", viewer, to: "/console/" }) },
  });
  const visitor = await enter(origin, `${origin}/console/open`);
  return { visitor, tokens: Tokens.open(configuration, {}) };
}

async function opened(more: Parameters<typeof serveConsole>[0] = {}) {
  const served = await serveConsole(more);
  return { ...served, visitor: await enter(served.origin, served.address()) };
}

describe("the page about the viewer", () => {
  it("lists the tokens of the project and revokes one", async () => {
    const tokens = [TOKEN, { ...TOKEN, name: "old", expiresAt: 5 }];
    const revoked: string[] = [];
    const { visitor } = await opened({
      tokens: {
        ...NO_TOKENS,
        list: async () => tokens,
        learnGroups: async () => {},
        revoke: async (name) => {
          if (name !== "nightly") return { why: `there is no token '${name}'` };
          revoked.push(name);
          return undefined;
        },
      },
    });
    const page = await visitor.text("/console/me");
    for (const text of ["token#nightly", "ptc:run", "has expired", "Revoke: nightly"])
      expect(page).toContain(text);
    const token = await visitor.token();
    const done = await visitor.post("/console/me/tokens/revoke", { token, name: "nightly" });
    expect(await visitor.text(done.headers.get("location") ?? "")).toContain("The token is revoked");
    const missing = await visitor.post("/console/me/tokens/revoke", { token, name: "<b>" });
    expect([missing.status, await missing.text()]).toEqual([409, expect.stringContaining("&#39;&lt;b&gt;")]);
    expect((await visitor.post("/console/me/tokens/revoke", { name: "nightly" })).status).toBe(403);
    expect(revoked).toEqual(["nightly"]);
  });

  it("says of tokens and sessions that cannot be read why, and shows everything else", async () => {
    const { visitor } = await opened({
      tokens: { ...NO_TOKENS, list: async () => ({ why: "tokens.json cannot be used" }) },
      sessions: () => ({
        list: async () => ({ why: "the state folder is not private" }),
        end: async () => false,
      }),
    });
    const page = await visitor.text("/console/me");
    for (const text of ["tokens.json cannot be used", "the state folder is not private", "Leave the console"])
      expect(page).toContain(text);
  });

  it("makes a token of the project for whoever sees all of it, and shows it in this one answer", async () => {
    const { visitor, tokens } = await withTokens(ALL);
    const token = await visitor.token();
    const sent = await visitor.post("/console/me/tokens", {
      ...{ token, name: "nightly", days: "400", scope: "ptc:admin", group: "ci, ops" },
    });
    const [secret = ""] = /ptc_[\w-]{43}/.exec(await sent.text()) ?? [];
    expect(await tokens.callerOf(secret)).toEqual({
      context: { principal: "token#nightly", source: "serve", name: "nightly", groups: ["ci", "ops"] },
      scopes: new Set(["ptc:admin"]),
    });
    expect(await visitor.text("/console/me")).not.toContain(secret);
    const again = await visitor.post("/console/me/tokens", {
      token,
      name: "nightly",
      days: "1",
      scope: "ptc:run",
    });
    expect([again.status, await again.text()]).toEqual([400, expect.stringContaining("there is a token")]);
    expect(
      (await visitor.post("/console/me/tokens", { name: "a", days: "1", scope: "ptc:run" })).status,
    ).toBe(403);
    expect(await tokens.list()).toHaveLength(1);
  });

  it("lets a person make a token that acts as them, with what they have and choose, and revoke it", async () => {
    const { visitor, tokens } = await withTokens(OWN, ADA);
    const token = await visitor.token();
    const sent = await visitor.post("/console/me/tokens", {
      ...{ token, name: "laptop", days: "30", scope: "ptc:run", group: "staff" },
    });
    const [secret = ""] = /ptc_[\w-]{43}/.exec(await sent.text()) ?? [];
    expect(await tokens.callerOf(secret)).toEqual({
      context: {
        ...{ principal: ADA.principal, source: "serve", name: "laptop", groups: ["staff"] },
        boundGroups: ["eu"],
        withOwnToken: true,
      },
      scopes: new Set(["ptc:run"]),
    });
    expect(await visitor.text("/console/me")).toContain("Revoke: laptop");
    await visitor.post("/console/me/tokens/revoke", { token, name: "laptop" });
    expect(await tokens.list()).toEqual([]);
  });

  it.each(TOO_MUCH)("gives a token of a person not %s", async (_, more) => {
    const { visitor, tokens } = await withTokens(OWN, { ...ADA, approves: true });
    const sent = await visitor.post("/console/me/tokens", {
      ...{
        token: await visitor.token(),
        name: "laptop",
        days: "30",
        scope: "ptc:run",
        group: "staff",
        ...more,
      },
    });
    expect([sent.status, await sent.text()]).toEqual([400, expect.not.stringMatching(/ptc_[\w-]{43}/)]);
    expect(await tokens.list()).toEqual([]);
  });

  it("gives a token of somebody who may not answer questions no scope that does", async () => {
    const { visitor, tokens } = await withTokens({ ...OWN, approves: false }, ADA);
    expect(await visitor.text("/console/me")).not.toContain("ptc:approve");
    const fields = { name: "laptop", days: "30", scope: "ptc:approve" };
    const sent = await visitor.post("/console/me/tokens", { token: await visitor.token(), ...fields });
    expect([sent.status, await tokens.list()]).toEqual([400, []]);
  });

  it("keeps another's tokens, and those of the project, from a person: they are neither listed nor revoked, and their names are free", async () => {
    const { visitor, tokens } = await withTokens(OWN, ADA);
    const given = { groups: [], scopes: ["ptc:run" as const], expiresAt: Date.now() + 60_000 };
    const theirs = await tokens.create("bobs-laptop", { ...given, owner: "https://login.example.com#bob" });
    const shared = await tokens.create("nightly", given);
    const page = await visitor.text("/console/me");
    for (const name of ["bobs-laptop", "nightly"]) expect(page).not.toContain(name);
    const token = await visitor.token();
    for (const owner of ["", "https://login.example.com#bob"])
      for (const name of ["bobs-laptop", "nightly"]) {
        const sent = await visitor.post("/console/me/tokens/revoke", { token, name, owner });
        expect([sent.status, await sent.text()]).toEqual([409, expect.stringContaining("there is no token")]);
      }
    for (const each of [theirs, shared]) expect(isRefusal(await tokens.callerOf(each))).toBe(false);
    const own = { token, name: "nightly", days: "1", scope: "ptc:run" };
    expect((await visitor.post("/console/me/tokens", own)).status).toBe(200);
    await visitor.post("/console/me/tokens/revoke", { token, name: "nightly" });
    expect((await tokens.list()).map(({ name }) => name)).toEqual(["bobs-laptop", "nightly"]);
  });

  it("lists and revokes everybody's tokens for whoever sees the whole project", async () => {
    const { visitor, tokens } = await withTokens(ALL);
    const given = { groups: [], scopes: ["ptc:run" as const], expiresAt: Date.now() + 60_000 };
    await tokens.create("laptop", { ...given, owner: ADA.principal });
    await tokens.create("laptop", given);
    expect((await visitor.text("/console/me")).match(/Revoke: laptop/g)).toHaveLength(2);
    const token = await visitor.token();
    await visitor.post("/console/me/tokens/revoke", { token, name: "laptop", owner: ADA.principal });
    expect(await tokens.list()).toMatchObject([{ name: "laptop" }]);
    expect((await tokens.list())[0]?.owner).toBeUndefined();
  });

  it("has nothing of tokens for people where none are taken", async () => {
    const { visitor } = await withTokens(OWN, ADA, {
      http: { auth: { tokens: false, issuers: [ISSUER] }, public_url: "https://ptc.example.com/mcp" },
    });
    expect(await visitor.text("/console/me")).not.toContain("Make a token");
    const own = { token: await visitor.token(), name: "nightly", days: "1", scope: "ptc:run" };
    expect((await visitor.post("/console/me/tokens", own)).status).toBe(404);
  });

  it("lists the viewer's own sessions of programs and ends one", async () => {
    const ended: unknown[] = [];
    const { visitor } = await opened({
      sessions: ({ principal }) => ({
        list: async () => [SESSION],
        end: async (id) => {
          ended.push([principal, id]);
          return id === SESSION.id;
        },
      }),
    });
    expect(await visitor.text("/console/me")).toContain('value="17 report"');
    const token = await visitor.token();
    const end = (session: string) => visitor.post("/console/me/sessions/end", { token, session });
    expect((await end("17 report")).headers.get("location")).toBe("/console/me?done=ended");
    expect((await end("another's")).status).toBe(409);
    expect(ended).toEqual([
      ["local", "17 report"],
      ["local", "another's"],
    ]);
  });

  it("lists logins that there are, with a way out of each", async () => {
    const { visitor } = await opened({
      logins: async () => [
        { server: "docs", state: "logged_in", issuer: "https://login.example.com", renews: true },
        { server: "mail", state: "none" },
      ],
      connect: async () => ({ why: "" }),
      disconnect: async () => undefined,
    });
    const page = await visitor.text("/console/me");
    expect(page).toContain("renewed by itself");
    expect(page).toContain("/console/servers/docs/disconnect");
    expect(page).not.toContain("/console/servers/mail/");
  });

  it("ends the viewer's other sessions of the console, and neither this one, nor later ones, nor another's", async () => {
    let principal = "local";
    let now = Date.now();
    const { origin } = await serveConsole({
      now: () => now,
      entrance: {
        enter: async () => ({ kind: "in", viewer: { principal, name: principal }, to: "/console/" }),
      },
    });
    const come = () => enter(origin, `${origin}/console/open`);
    const [thief, own] = [await come(), await come()];
    principal = "eve";
    const eve = await come();
    now += 1_000;
    await own.post("/console/me/sessions/others", { token: await own.token() });
    now += 1_000;
    principal = "local";
    const later = await come();
    const status = async (visitor: typeof own) =>
      (await visitor.post("/console/nothing", { token: "" })).status;
    expect(await Promise.all([thief, own, eve, later].map(status))).toEqual([401, 403, 403, 403]);
  });
});
