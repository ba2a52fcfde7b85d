import { describe, expect, it } from "vitest";
import { recentCalls } from "../../console/pages/servers.ts";
import type { BegunLogin } from "../../console/parts.ts";
import { type CheckedServer, ServerChecks } from "../../console/server-checks.ts";
import { MemoryStore } from "../archive/memory-store.ts";
import { archiveIn } from "../server/reports/sample-archive.ts";
import { ALL, enter, serveConsole } from "./served-console.ts";

const SETTINGS = {
  servers: [
    { name: "docs", command: "docs-server" },
    { name: "mail", url: "https://mail.example.com/mcp" },
  ],
};
const VIEWER = { principal: "local", name: "ada" };

async function opened(more: Parameters<typeof serveConsole>[0] = {}) {
  const served = await serveConsole(more, SETTINGS);
  return { ...served, visitor: await enter(served.origin, served.address()) };
}

describe("the page of the servers", () => {
  it("asks them when somebody wants it, and shows which answer, since when, and what has changed of their tools", async () => {
    const asked = Promise.withResolvers<readonly CheckedServer[]>();
    const { visitor } = await opened({ check: async () => asked.promise });
    expect(await visitor.text("/console/servers")).toContain("Ask them now");
    const token = await visitor.token();
    const sent = await visitor.post("/console/servers/check", { token });
    expect(sent.headers.get("location")).toBe("/console/servers#check");
    expect(await visitor.text("/console/servers")).toContain("The servers are asked for their tools");
    asked.resolve([
      {
        server: "docs",
        difference: {
          ...{ added: ["new_tool"], removed: ["old_tool"] },
          changed: [{ tool: "get_document", diff: ["- id: string", "+ id: number"] }],
        },
      },
      { server: "mail", why: "server 'mail' cannot be reached: ECONNREFUSED" },
    ]);
    await expect.poll(() => visitor.text("/console/servers")).toContain("does not answer");
    const page = await visitor.text("/console/servers");
    for (const text of [">answers<", "ECONNREFUSED", "has changed", "3 tools: 1 new, 1 gone, 1 changed"])
      expect(page).toContain(text);
    for (const line of ["+ new_tool", "- old_tool", "- id: string", "+ id: number"])
      expect(page).toContain(`>${line}\n<`);
    expect(page).toMatch(/since <time datetime/);
    expect(page).toMatch(/what this ptc has seen from <time datetime/);
  });

  it("says of each command whether it runs in a sandbox, and what it reaches from there", async () => {
    const servers = [
      { name: "docs", command: "docs-server", sandbox: { network: ["api.docs.example"] } },
      { name: "plain", command: "plain-server", sandbox: false },
      { name: "mail", url: "https://mail.example.com/mcp" },
    ];
    const { origin, address } = await serveConsole({}, { servers });
    const page = await (await enter(origin, address())).text("/console/servers");
    expect(page).toContain("command, docs 1, in a sandbox that reaches api.docs.example<");
    expect(page).toContain("command, as a process of this machine, without a sandbox<");
    expect(page).toContain(">HTTP, mail 1<");
  });

  it("says why no server could be asked", async () => {
    const { visitor } = await opened({ check: async () => ({ why: "two servers share the module 'docs'" }) });
    await visitor.post("/console/servers/check", { token: await visitor.token() });
    await expect
      .poll(() => visitor.text("/console/servers"))
      .toContain("two servers share the module &#39;docs&#39;");
  });

  it("counts failures and times of calls, and when the server last answered", async () => {
    const { visitor, archived } = await opened();
    const call = { tool: "mcp__docs__get_document", from: 0, bytes: 1 };
    await archived({
      startedAt: Date.now() - 60_000,
      calls: [10, 20, 400]
        .map((took) => ({ ...call, took }))
        .concat({ ...call, took: 20, error: "no" } as never),
    });
    const page = await visitor.text("/console/servers");
    expect(page).toContain("p50 20 ms, p95 400 ms");
    expect(page).toContain("25 % failed");
    expect(page).toContain("last answer <time");
  });

  it("looks at no more runs than its bound, and never at replays", async () => {
    const archive = new MemoryStore();
    const calls = [{ tool: "mcp__docs__get_document", from: 0, took: 1 }];
    for (let i = 0; i < 205; i++) await archiveIn(archive, { calls, startedAt: 1_000 + i });
    await archiveIn(archive, { calls, source: "replay", startedAt: 9_000 });
    const { runs, servers } = await recentCalls(archive, {});
    expect(runs).toBeLessThanOrEqual(200);
    expect(servers.get("docs")?.calls).toBe(runs);
    expect(servers.get("docs")?.answeredAt).toBeLessThan(9_000);
  });

  it("begins the viewer's own login by a form, and leads on by a link of the web alone", async () => {
    const begun: [principal: string, server: string, signal: AbortSignal][] = [];
    let answer: BegunLogin = { address: "https://login.example.com/authorize?state=<1>" };
    const { visitor } = await opened({
      logins: async () => [{ server: "mail", state: "none" }],
      connect: async ({ principal }, server, signal) => {
        begun.push([principal, server, signal]);
        return answer;
      },
    });
    expect(await visitor.text("/console/servers")).toContain("/console/servers/mail/connect");
    const token = await visitor.token();
    const connect = async () => (await visitor.post("/console/servers/mail/connect", { token })).text();
    expect(await connect()).toContain('href="https://login.example.com/authorize?state=&lt;1&gt;"');
    answer = { address: "javascript:alert(1)" };
    const refused = await connect();
    expect(refused).toContain("is not at an http or https address");
    expect(refused).not.toContain("javascript:");
    answer = { why: "server 'mail' is off" };
    expect(await connect()).toContain("is off");
    expect(begun.map(([principal, server]) => [principal, server])).toEqual(
      Array.from({ length: 3 }, () => ["local", "mail"]),
    );
    // A later login ends the one before it.
    expect(begun.map(([, , signal]) => signal.aborted)).toEqual([true, true, false]);
    expect((await visitor.post("/console/servers/nobody/connect", { token })).status).toBe(404);
  });

  it("removes the viewer's own login, and says what else is to be known of it", async () => {
    const removed: unknown[] = [];
    let said: { why: string } | undefined;
    const { visitor } = await opened({
      logins: async () => [{ server: "mail", state: "logged_in", issuer: "https://login.example.com" }],
      connect: async () => ({ why: "no" }),
      disconnect: async ({ principal }, server) => {
        removed.push([principal, server]);
        return said;
      },
    });
    const token = await visitor.token();
    const path = "/console/servers/mail/disconnect";
    const done = await visitor.post(path, { token });
    expect(await visitor.text(done.headers.get("location") ?? "")).toContain("is removed");
    said = { why: "You are logged out here, and the tokens were not revoked" };
    expect(await (await visitor.post(path, { token })).text()).toContain("tokens were not revoked");
    expect(removed).toEqual([
      ["local", "mail"],
      ["local", "mail"],
    ]);
  });

  it("does none of this by a form without the session's token, nor by a link", async () => {
    const done: string[] = [];
    const { visitor } = await opened({
      check: async () => {
        done.push("check");
        return [];
      },
      connect: async () => {
        done.push("connect");
        return { why: "" };
      },
      disconnect: async () => void done.push("disconnect"),
    });
    for (const path of ["check", "mail/connect", "mail/disconnect"]) {
      expect((await visitor.post(`/console/servers/${path}`, { token: "A".repeat(24) })).status).toBe(403);
      expect((await visitor.get(`/console/servers/${path}`)).status).toBe(404);
    }
    expect(done).toEqual([]);
  });

  it("counts none but the viewer's own calls for a viewer of their own runs", async () => {
    const { visitor, archived } = await opened({ rightsOf: async () => ({ ...ALL, runs: "own" }) });
    const call = { tool: "mcp__docs__get_document", from: 0, bytes: 1 };
    await archived({ names: "https://login.example.com#eve", calls: [{ ...call, took: 7_000 }] });
    await archived({ startedAt: Date.now(), calls: [{ ...call, took: 30 }] });
    const page = await visitor.text("/console/servers");
    expect(page).toContain("p50 30 ms, p95 30 ms");
    expect(page).toContain("calls of your newest 1 run");
  });
});

describe("checks of servers", () => {
  it("keep since when a server answers, for each viewer alone", async () => {
    let now = 1_000;
    let why: string | undefined;
    const checks = new ServerChecks(
      async () => [{ server: "docs", why }],
      () => now,
    );
    const { signal } = new AbortController();
    const check = async () => {
      checks.begin(VIEWER, signal);
      await expect.poll(() => checks.of(VIEWER).isUnderWay).toBe(false);
      return checks.of(VIEWER).servers.get("docs")?.since;
    };
    expect(await check()).toBe(1_000);
    now = 2_000;
    expect(await check()).toBe(1_000);
    now = 3_000;
    why = "gone";
    expect(await check()).toBe(3_000);
    now = 4_000;
    why = "gone for another reason";
    expect(await check()).toBe(3_000);
    expect(checks.of({ principal: "eve", name: "eve" })).toMatchObject({ at: undefined });
  });

  it("of too many viewers at once are refused", () => {
    const checks = new ServerChecks(() => new Promise(() => {}), Date.now);
    const { signal } = new AbortController();
    const begun = Array.from({ length: 6 }, (_, i) => checks.begin({ principal: `p${i}`, name: "" }, signal));
    expect(begun).toEqual([true, true, true, true, false, false]);
    expect(checks.begin({ principal: "p0", name: "" }, signal)).toBe(true);
  });
});
