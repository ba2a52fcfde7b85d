import { describe, expect, it } from "vitest";
import type { KnownSession, KnownToken } from "../../console/pages/me.ts";
import { ALL, enter, serveConsole } from "./served-console.ts";

const TOKEN: KnownToken = {
  ...{ name: "nightly", principal: "token#nightly", groups: ["ci"], scopes: ["ptc:run"] },
  ...{ createdAt: 1_000, expiresAt: Date.now() + 60_000 },
};
const SESSION: KnownSession = {
  ...{ id: "17 report", name: "report", language: "python", programs: 3, startedAt: 1_000, idleSince: 2_000 },
};

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
        list: async () => tokens,
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
      tokens: { list: async () => ({ why: "tokens.json cannot be used" }), revoke: async () => undefined },
      sessions: () => ({
        list: async () => ({ why: "the state folder is not private" }),
        end: async () => false,
      }),
    });
    const page = await visitor.text("/console/me");
    for (const text of ["tokens.json cannot be used", "the state folder is not private", "Leave the console"])
      expect(page).toContain(text);
  });

  it("shows and revokes no token for a viewer who does not see the whole project", async () => {
    const revoked: string[] = [];
    const { visitor } = await opened({
      rightsOf: async () => ({ ...ALL, runs: "own" }),
      tokens: {
        list: async () => [TOKEN],
        revoke: async (name) => {
          revoked.push(name);
          return undefined;
        },
      },
    });
    expect(await visitor.text("/console/me")).not.toContain("nightly");
    const token = await visitor.token();
    expect((await visitor.post("/console/me/tokens/revoke", { token, name: "nightly" })).status).toBe(404);
    expect(revoked).toEqual([]);
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
