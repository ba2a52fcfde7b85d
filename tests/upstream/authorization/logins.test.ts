import { describe, expect, it } from "vitest";
import type { Challenge } from "../../../upstream/authorization/authorization.ts";
import type { Login, LoginKey, LoginStore } from "../../../upstream/authorization/login-store.ts";
import { MachineLogin, StoredLogin } from "../../../upstream/authorization/logins.ts";

const KEY = { principal: "ada", server: "hub", url: "https://hub.example/mcp" } as unknown as LoginKey;
const unauthorized: Challenge = {
  kind: "unauthorized",
  isOfTokens: true,
  resourceMetadataUrl: undefined,
  scope: undefined,
};
const wants = (scope?: string): Challenge => ({ ...unauthorized, kind: "insufficient_scope", scope });

const loginOf = (more: Partial<Login> = {}) =>
  ({
    accessToken: "a1",
    refreshToken: "r1",
    client: { id: "c", secret: "s1" },
    scope: "read",
    ...more,
  }) as Login;

/** One stored login, what was done with it, and somebody else who changes it. */
function stored(
  login?: Login,
  refresh: (login: Login) => Promise<Login | undefined> = async () => undefined,
) {
  const state = {
    login,
    version: login === undefined ? "" : "1",
    reads: 0,
    nowMs: 0,
    offers: true,
    meanwhile: () => {},
  };
  const [told, events, refreshed]: [string[], unknown[], unknown[]] = [[], [], []];
  const change = (next: Login | undefined) => {
    state.login = next;
    state.version = next === undefined ? "" : `${state.version}'`;
  };
  const store = {
    version: async () => state.version,
    read: async () => {
      state.reads++;
      return state.login;
    },
    write: async (_key: LoginKey, next: Login) => change(next),
    withLock: async (_key: LoginKey, work: () => Promise<unknown>) => {
      state.meanwhile();
      return work();
    },
  } as unknown as LoginStore;
  const authorization = new StoredLogin({
    key: KEY,
    store,
    refresh: (old) => {
      refreshed.push(old.accessToken);
      return refresh(old);
    },
    onSecret: (secret) => told.push(secret),
    offersLogin: async () => state.offers,
    clock: { wallMs: () => state.nowMs },
    onLogin: (event) => events.push(event),
  });
  return { authorization, state, told, events, refreshed, change };
}

describe("a login that is kept", () => {
  it("has its secrets told before they are used, each once", async () => {
    const { authorization, told, change } = stored(loginOf());
    expect(await authorization.token()).toBe("a1");
    expect(told).toEqual(["a1", "r1", "s1"]);
    change(loginOf({ accessToken: "a2" }));
    expect(await authorization.token()).toBe("a2");
    expect(told).toEqual(["a1", "r1", "s1", "a2"]);
    expect(authorization.secrets()).toEqual(told);
  });

  it("is read anew only when it has changed", async () => {
    const { authorization, state, change } = stored(loginOf());
    for (let i = 0; i < 3; i++) await authorization.token();
    expect(state.reads).toBe(1);
    change(undefined);
    expect(await authorization.token()).toBeUndefined();
    expect(state.reads).toBe(1);
  });

  it.each([
    [15_000, 0, []],
    [14_999, 0, ["a1"]],
    [20_000, 5_000, []],
    [20_000, 5_001, ["a1"]],
  ])("that ends at %i is renewed at %i, or not yet", async (expiresAt, nowMs, renewed) => {
    const { authorization, state, refreshed } = stored(loginOf({ expiresAt }), async (old) => ({
      ...old,
      accessToken: "a2",
    }));
    state.nowMs = nowMs;
    expect(await authorization.token()).toBe(renewed.length === 0 ? "a1" : "a2");
    expect(refreshed).toEqual(renewed);
  });

  it("is used to its end where nothing can renew it, or it has no end", async () => {
    for (const login of [loginOf({ expiresAt: 1, refreshToken: undefined }), loginOf()]) {
      const { authorization, state, refreshed } = stored(login);
      state.nowMs = 100_000;
      expect(await authorization.token()).toBe("a1");
      expect(refreshed).toEqual([]);
    }
  });

  it("is renewed once for all who find it rejected, and is told of", async () => {
    const { authorization, events, refreshed } = stored(loginOf(), async (old) => ({
      ...old,
      accessToken: "a2",
    }));
    expect(await Promise.all([1, 2, 3].map(() => authorization.challenged(unauthorized, "a1")))).toEqual([
      true,
      true,
      true,
    ]);
    expect(refreshed).toEqual(["a1"]);
    expect(events).toEqual([{ principal: "ada", server: "hub", event: "renewed", reason: undefined }]);
    expect(await authorization.token()).toBe("a2");
    // One that was rejected with an older token is sent again with the one there is.
    expect(await authorization.challenged(unauthorized, "a1")).toBe(true);
    expect(refreshed).toHaveLength(1);
  });

  it("that another process renewed meanwhile is not renewed again", async () => {
    const { authorization, refreshed, change } = stored(loginOf());
    await authorization.token();
    change(loginOf({ accessToken: "a2" }));
    expect(await authorization.challenged(unauthorized, "a1")).toBe(true);
    expect(refreshed).toEqual([]);
  });

  it("that another process changed while this one waited for the lock is as that left it", async () => {
    const { authorization, state, refreshed, change } = stored(loginOf());
    state.meanwhile = () => change(loginOf({ accessToken: "a2" }));
    expect(await authorization.challenged(unauthorized, "a1")).toBe(true);
    expect(await authorization.token()).toBe("a2");
    state.meanwhile = () => change(undefined);
    await expect(authorization.challenged(wants("write"), "a2")).rejects.toMatchObject({
      why: "it wants more scopes (write)",
    });
    expect(state.login).toBeUndefined();
    const other = stored(loginOf());
    other.state.meanwhile = () => other.change(undefined);
    await expect(other.authorization.challenged(unauthorized, "a1")).rejects.toMatchObject({
      why: "the last one has expired or was revoked",
    });
    expect([refreshed, other.refreshed]).toEqual([[], []]);
  });

  it("is renewed again when it is rejected again, and is sent where a request had none", async () => {
    let count = 1;
    const { authorization, refreshed } = stored(loginOf(), async (old) => {
      count++;
      return { ...old, accessToken: `a${count}` };
    });
    expect(await authorization.challenged(unauthorized, undefined)).toBe(true);
    for (const rejected of ["a1", "a2"]) await authorization.challenged(unauthorized, rejected);
    expect(refreshed).toEqual(["a1", "a2"]);
    expect(await authorization.token()).toBe("a3");
  });

  it("that cannot be renewed any more has ended, and says so then and later", async () => {
    const { authorization, state, events } = stored(loginOf());
    await expect(authorization.challenged(unauthorized, "a1")).rejects.toMatchObject({
      name: "UnauthorizedError",
      why: "the last one has expired or was revoked",
    });
    expect(state.login).toMatchObject({ accessToken: undefined, refreshToken: undefined, scope: "read" });
    expect(events).toMatchObject([{ event: "ended" }]);
    expect(await authorization.token()).toBeUndefined();
    await expect(authorization.challenged(unauthorized, undefined)).rejects.toMatchObject({
      why: "the last one has ended",
    });
  });

  it("is as it was where its renewal failed, which is told", async () => {
    const { authorization, state, events, refreshed } = stored(loginOf(), () =>
      Promise.reject(new Error("HTTP 500")),
    );
    await expect(authorization.challenged(unauthorized, "a1")).rejects.toThrow("HTTP 500");
    expect(state.login?.accessToken).toBe("a1");
    expect(events).toMatchObject([{ event: "failed", reason: "HTTP 500" }]);
    // Nothing is renewed for somebody who has gone.
    const gone = AbortSignal.abort(new Error("gone"));
    await expect(authorization.challenged(unauthorized, "a1", gone)).rejects.toThrow("gone");
    expect(refreshed).toHaveLength(1);
  });

  it("is asked for where there is none and the server offers one", async () => {
    const { authorization, state } = stored();
    await expect(authorization.challenged(unauthorized, undefined)).rejects.toMatchObject({
      message: "a login is needed",
      why: undefined,
    });
    state.offers = false;
    expect(await authorization.challenged(unauthorized, undefined)).toBe(false);
  });

  it("is widened by the next login where a server wants more scopes, and not where it had those", async () => {
    const { authorization, state } = stored(loginOf({ askedScope: "read admin", wantedScope: "list" }));
    for (const scope of ["read", "admin read", undefined])
      await expect(authorization.challenged(wants(scope), "a1")).rejects.toThrow(
        scope === undefined ? /^wants other scopes, and does not say which: / : `wants the scopes ${scope}: `,
      );
    expect(state.login?.wantedScope).toBe("list");
    await expect(authorization.challenged(wants("write"), "a1")).rejects.toMatchObject({
      why: "it wants more scopes (write)",
    });
    expect(state.login?.wantedScope).toBe("read list write");
    const { version } = state;
    await expect(authorization.challenged(wants("write"), "a1")).rejects.toMatchObject({
      name: "UnauthorizedError",
    });
    expect(state.version).toBe(version);
  });
});

describe("the token of a machine", () => {
  function machine(expiresAt?: number) {
    const state = { nowMs: 0, problem: undefined as Error | undefined };
    const [told, events, fetched]: [string[], unknown[], unknown[]] = [[], [], []];
    const login = new MachineLogin({
      fetch: async (wanted) => {
        fetched.push(wanted);
        if (state.problem !== undefined) throw state.problem;
        return { token: `t${fetched.length}`, expiresAt };
      },
      onSecret: (secret) => told.push(secret),
      clock: { wallMs: () => state.nowMs },
      onToken: (problem) => events.push(problem ?? "received"),
    });
    return { login, state, told, events, fetched };
  }

  it("is got when a server first asks for one, once for all who wait", async () => {
    const { login, told, events, fetched } = machine();
    expect(await login.token()).toBeUndefined();
    const challenge = { ...unauthorized, resourceMetadataUrl: "https://hub.example/m", scope: "read" };
    expect(await Promise.all([1, 2].map(() => login.challenged(challenge, undefined)))).toEqual([true, true]);
    expect(fetched).toEqual([{ resourceMetadataUrl: "https://hub.example/m", scope: "read" }]);
    expect([await login.token(), told, login.secrets(), events]).toEqual([
      "t1",
      ["t1"],
      ["t1"],
      ["received"],
    ]);
    // Who was rejected with another token, or none, tries again with this one.
    expect(await login.challenged(unauthorized, undefined)).toBe(true);
    expect(fetched).toHaveLength(1);
  });

  it.each([
    [15_000, 0, "t1"],
    [14_999, 0, "t2"],
    [20_000, 5_000, "t1"],
    [20_000, 5_001, "t2"],
    [undefined, 5_000, "t1"],
  ])("that ends at %s is got anew before then, at %i", async (expiresAt, nowMs, token) => {
    const { login, state } = machine(expiresAt);
    await login.challenged(unauthorized, undefined);
    state.nowMs = nowMs;
    expect(await login.token()).toBe(token);
  });

  it("is got anew when it is rejected, with all scopes that were asked for, and not where they are not enough", async () => {
    const { login, fetched } = machine();
    const first = { ...unauthorized, resourceMetadataUrl: "https://hub.example/m", scope: "read" };
    await login.challenged(first, undefined);
    await login.challenged(wants("write"), "t1");
    expect(fetched.at(-1)).toEqual({ resourceMetadataUrl: "https://hub.example/m", scope: "read write" });
    await expect(login.challenged(wants("read"), "t2")).rejects.toThrow(/^wants the scopes read: /);
    await login.challenged(unauthorized, "t2");
    expect(fetched).toHaveLength(3);
    expect(login.secrets()).toEqual(["t1", "t2", "t3"]);
  });

  it("that is refused is told, and asked for again by the next", async () => {
    const { login, state, events } = machine();
    state.problem = new Error("HTTP 401");
    await expect(login.challenged(unauthorized, undefined)).rejects.toThrow("HTTP 401");
    state.problem = undefined;
    expect(await login.challenged(unauthorized, undefined)).toBe(true);
    expect(events).toEqual(["HTTP 401", "received"]);
  });
});
