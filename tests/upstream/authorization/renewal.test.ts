import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { loginStatus, logOut } from "../../../logins/logins.ts";
import { withLock } from "../../../upstream/authorization/login-store.ts";
import { newFolder } from "../../temporary-folder.ts";
import { tries } from "../../tries.ts";
import { toolCall } from "../upstream-fixtures.ts";
import { serveGuarded } from "./logged-in.ts";
import { serveRouter } from "./servers/router-server.ts";

const PROCESSES = tries(8);

async function serveBoth() {
  const router = await serveRouter();
  return { router, ...(await serveGuarded(router)) };
}

function start(file: string, ...args: string[]) {
  const script = join(import.meta.dirname, "processes", file);
  const child = spawn(process.execPath, [script, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, line: async () => String((await lines.next()).value) };
}

describe("a login whose token has expired", () => {
  test("is renewed in the middle of a connection, once for many calls", async () => {
    const { router, server, user } = await serveBoth();
    await user.logIn();
    const connection = await user.connect();
    router.expireAll();
    const options = { timeoutMs: 60_000 };
    const calls = Array.from({ length: 8 }, (_, i) =>
      connection.callTool(toolCall("echo", { text: `${i}` }, options)),
    );
    expect(await Promise.all(calls)).toHaveLength(8);
    expect(router.grants.refresh).toBe(1);
    const [first, second, ...others] = new Set(server.tokens.filter((each) => each !== undefined));
    expect([first, second].map((token) => user.told.includes(token ?? ""))).toEqual([true, true]);
    expect(others).toEqual([]);
  });

  test("is renewed before it expires, without a request in vain", async () => {
    const { router, server, user } = await serveBoth();
    router.ttl = 5;
    await user.logIn();
    router.ttl = 3_600;
    await user.connect();
    expect(router.grants.refresh).toBe(1);
    expect(new Set(server.tokens).size).toBe(2);
  });

  test("without a refresh token is used to its end", async () => {
    const { router, user } = await serveBoth();
    await user.logIn();
    await user.edit((login) => ({ ...login, refreshToken: undefined, expiresAt: Date.now() + 1_000 }));
    expect((await (await user.connect()).list()).tools).toHaveLength(3);
    expect(router.grants.refresh).toBe(0);
    router.expireAll();
    await expect(user.connect()).rejects.toMatchObject({ code: "login_required" });
  });

  test(`is renewed once for ${PROCESSES} processes that need it at the same time`, async () => {
    const { router, server, user } = await serveBoth();
    router.ttl = 5;
    await user.logIn();
    router.ttl = 3_600;
    const all = Array.from({ length: PROCESSES }, () =>
      start("renewing-process.ts", server.url, user.folder),
    );
    await Promise.all(all.map(({ line }) => line()));
    for (const { child } of all) child.stdin.write("go\n");
    const tokens = await Promise.all(all.map(({ line }) => line()));
    expect(new Set(tokens).size).toBe(1);
    expect(await router.verify(tokens[0] ?? "")).toBeDefined();
    expect(router.grants.refresh).toBe(1);
  });

  test("is ended where its refresh token was revoked, and says so from then on", async () => {
    const { router, user } = await serveBoth();
    await user.logIn();
    const connection = await user.connect();
    router.revokeAll();
    const message =
      "server 'guarded' needs a login (the last one has expired or was revoked): run `ptc auth login guarded`";
    await expect(connection.list()).rejects.toMatchObject({ code: "login_required", message });
    await expect(user.connect()).rejects.toMatchObject({ code: "login_required" });
    expect(router.grants.refresh).toBe(1);
    const status = await loginStatus(user.configuration, user.principal, user.env);
    expect(status).toMatchObject([{ state: "ended" }]);
    await user.logIn();
    // The earlier connection goes on with the new login.
    expect((await connection.list()).tools).toHaveLength(3);
  });

  test("is kept where the authorization server fails, which says nothing about it", async () => {
    const { router, server, user } = await serveBoth();
    await user.logIn();
    const connection = await user.connect();
    const tokenEndpoint = `${new URL(server.url).origin}/nothing`;
    const file = await user.edit((login) => ({ ...login, tokenEndpoint }));
    // From now on anything that reaches for the server renews the login.
    router.expireAll();
    const why = /^server 'guarded' cannot have its login renewed: HTTP 404/;
    await expect(connection.list()).rejects.toThrow(why);
    await file.restore();
    expect((await connection.list()).tools).toHaveLength(3);
  });

  test("notices a logout of another process", async () => {
    const { router, user } = await serveBoth();
    await user.logIn();
    const connection = await user.connect();
    expect(await logOut(user.server, user.principal, user.env)).toMatchObject({ isRevoked: true });
    expect(router.grants.revoked).toHaveLength(2);
    await expect(connection.list()).rejects.toMatchObject({ code: "login_required" });
  });

  test("is used for no other server, whatever the file says", async () => {
    const { user } = await serveBoth();
    await user.logIn();
    await user.edit((login) => ({ ...login, url: "https://other.example/mcp" }));
    await expect(user.connect()).rejects.toMatchObject({ code: "login_required" });
    await user.edit(() => "damaged");
    await expect(user.connect()).rejects.toMatchObject({ code: "login_required" });
  });
});

describe("the lock of a login", () => {
  test("is let go of when its holder is killed", async () => {
    const path = join(newFolder(), "a.lock");
    const { child, line } = start("locking-process.ts", path);
    expect(await line()).toBe("locked");
    let isHeld = false;
    const mine = withLock(path, async () => {
      isHeld = true;
    });
    const other = new AbortController();
    const gaveUp = withLock(path, async () => {}, other.signal);
    other.abort();
    await expect(gaveUp).rejects.toThrow();
    expect(isHeld).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    await mine;
    expect(isHeld).toBe(true);
  });
});
