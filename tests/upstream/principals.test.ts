import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Redactor } from "../../secrets/redaction.ts";
import {
  type CredentialSource,
  configuredCredentials,
  type ServerCredentials,
  tellingSecrets,
} from "../../upstream/authorization/credentials.ts";
import { LiveToolServers } from "../../upstream/live-tool-servers.ts";
import { withCredentials } from "../../upstream/mcp/mcp-server-target.ts";
import { redactConnection } from "../../upstream/redact-connection.ts";
import { CallBudget } from "../../upstream/tool-servers.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { UpstreamPool, type UpstreamSource } from "../../upstream/upstream-pool.ts";
import { BACKOFF, FakeConnection, go, poolOf } from "./fake-connection.ts";
import { connect, fixture, jsonOf, toolCall, upstreamErrorOf } from "./upstream-fixtures.ts";

/** Makes a new token for each connection of Ada's and of Bob's, and has none for anybody else. */
class Tokens implements CredentialSource {
  count = 0;

  async credentialsFor(principal: string, server: string): Promise<ServerCredentials> {
    await new Promise((resolve) => setImmediate(resolve));
    if (principal === "eve")
      throw new UpstreamError("start_failed", `server '${server}' has no place for eve`);
    if (principal !== "ada" && principal !== "bob") throw new Error("who is that?");
    const token = `${principal}-token-${++this.count}`;
    return { values: { authorization: `Bearer ${token}` }, secrets: [token] };
  }
}

function setUp(options: { idleMs?: number } = {}) {
  const clock = { time: 0, monotonicMs: () => clock.time };
  const made: { connection: FakeConnection; credentials: ServerCredentials }[] = [];
  const source = {
    name: "x",
    async connect(_signal: AbortSignal, credentials: ServerCredentials) {
      const connection = new FakeConnection();
      made.push({ connection, credentials });
      return connection;
    },
  };
  const pool = new UpstreamPool([source], new Tokens(), clock, { backoff: BACKOFF, ...options });
  const of = (principal: string) => pool.get(principal, "x") as Upstream;
  return { clock, made, pool, of };
}

const LOST = new UpstreamError("disconnected", "server 'x' exited with code 1");

describe("a server that two principals use", () => {
  it("has a connection for each, made with the credentials of each", async () => {
    const { made, pool, of } = setUp();
    await Promise.all([go(of("ada")), go(of("ada"))]);
    await go(of("bob"));
    expect(made.map(({ credentials }) => credentials)).toEqual([
      { values: { authorization: "Bearer ada-token-1" }, secrets: ["ada-token-1"] },
      { values: { authorization: "Bearer bob-token-2" }, secrets: ["bob-token-2"] },
    ]);
    expect(of("ada")).toBe(of("ada"));
    expect(of("ada")).not.toBe(of("bob"));
    await pool.close();
    expect(made.map(({ connection }) => connection.closed)).toEqual([true, true]);
    expect(await upstreamErrorOf(go(of("ada")))).toMatchObject({ code: "cancelled" });
    expect(made).toHaveLength(2);
  });

  it("is started anew for one of them with new credentials, while the other goes on", async () => {
    const { made, of } = setUp();
    await go(of("ada"));
    await go(of("bob"));
    made[0]?.connection.lose(LOST);
    await go(of("ada"));
    await go(of("bob"));
    const tokens = made.map(({ credentials }) => credentials.secrets[0]);
    expect(tokens).toEqual(["ada-token-1", "bob-token-2", "ada-token-3"]);
  });

  it("pauses after the failures of one of them for that one alone", async () => {
    const { made, of } = setUp();
    await go(of("bob"));
    for (const connection of [1, 2]) {
      await go(of("ada"));
      made[connection]?.connection.lose(LOST);
    }
    expect(await upstreamErrorOf(go(of("ada")))).toMatchObject({ code: "backing_off" });
    made[0]?.connection.lose(LOST);
    await expect(go(of("bob"))).resolves.toEqual({ tool: "go", args: {} });
  });

  it("ends as idle for one of them while the other uses it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { made, of } = setUp({ idleMs: 1_000 });
    await go(of("ada"));
    await go(of("bob"));
    await vi.advanceTimersByTimeAsync(600);
    await go(of("bob"));
    await vi.advanceTimersByTimeAsync(600);
    expect(made.map(({ connection }) => connection.closed)).toEqual([true, false]);
  });

  it("is not started for whom there are no credentials, and says why", async () => {
    const { made, of } = setUp();
    expect(await upstreamErrorOf(go(of("eve")))).toMatchObject({
      code: "start_failed",
      message: "server 'x' has no place for eve",
    });
    expect(await upstreamErrorOf(go(of("mallory")))).toMatchObject({
      code: "start_failed",
      message: "server 'x' is not started: there are no credentials for it (who is that?)",
    });
    await go(of("ada"));
    expect(made).toHaveLength(1);
  });

  it("is not waited for when its credentials never come", async () => {
    const never = { credentialsFor: () => new Promise<never>(() => {}) };
    const { pool, upstream } = poolOf({ connect: async () => new FakeConnection() }, never);
    const call = upstreamErrorOf(go(upstream));
    await pool.close();
    expect(await call).toMatchObject({ code: "cancelled" });
  });

  it("runs as a process for each, with separate variables", async () => {
    const credentials: CredentialSource = {
      credentialsFor: async (principal) => ({ values: { WHO: principal }, secrets: [] }),
    };
    const start: UpstreamSource["connect"] = (_, { values }) =>
      connect(withCredentials(fixture("env-dump.mjs"), values));
    const { pool } = poolOf({ connect: start }, credentials);
    for (const principal of ["ada", "bob"]) {
      const upstream = pool.get(principal, "x") as Upstream;
      const answer = jsonOf(await upstream.call(toolCall("go")));
      expect(answer).toMatchObject({ env: { WHO: principal } });
    }
    await pool.close();
  });
});

describe("a server with few connections", () => {
  const use = (maxConnections: number) => ({ maxConnections, maxParallelCalls: 9, maxQueuedCalls: 9 });
  function setUpUse(options: Partial<UpstreamSource>) {
    const made: FakeConnection[] = [];
    const source = {
      ...{ name: "x", ...options },
      async connect() {
        const connection = new FakeConnection();
        made.push(connection);
        return connection;
      },
    };
    const pool = new UpstreamPool([source], configuredCredentials(new Map()), { monotonicMs: () => 0 });
    return { made, pool, of: (principal: string) => pool.get(principal, "x") as Upstream };
  }

  it("ends the one that was unused the longest for another principal", async () => {
    const { made, of } = setUpUse({ use: use(2) });
    for (const principal of ["ada", "bob", "ada", "eve"]) await go(of(principal));
    expect(made.map(({ closed }) => closed)).toEqual([false, true, false]);
    await go(of("bob"));
    expect(made.map(({ closed }) => closed)).toEqual([true, true, false, false]);
  });

  it("takes none away that is in use, and says so to another", async () => {
    const { made, of } = setUpUse({ use: use(1) });
    await go(of("ada"));
    const held = made[0]?.hold();
    const call = go(of("ada"));
    expect(await upstreamErrorOf(go(of("bob")))).toMatchObject({
      code: "busy",
      message: "server 'x' is not started: 1 connections, the most at a time, are in use; try again later",
    });
    held?.answer({ tool: "go", args: {} });
    await call;
    await expect(go(of("bob"))).resolves.toBeDefined();
  });

  it("has one for everybody where it is shared, whose calls wait by turns", async () => {
    const { made, of, pool } = setUpUse({ isShared: true, use: { ...use(1), maxParallelCalls: 1 } });
    await Promise.all([go(of("ada")), go(of("bob"))]);
    expect(made).toHaveLength(1);
    expect(of("ada")).toBe(of("bob"));
    await pool.close();
    expect(made[0]?.closed).toBe(true);
  });

  it("leaves the calls of other servers alone while all of its own wait", async () => {
    const never = new Promise<never>(() => {});
    const slow = async () => Object.assign(new FakeConnection(), { callTool: () => never });
    const fast = async () => new FakeConnection();
    const pool = new UpstreamPool(
      [
        { name: "slow", connect: slow, use: { ...use(9), maxParallelCalls: 2, maxQueuedCalls: 1 } },
        { name: "fast", connect: fast, use: { ...use(9), maxParallelCalls: 2, maxQueuedCalls: 1 } },
      ],
      configuredCredentials(new Map()),
      { monotonicMs: () => 0 },
    );
    const call = (server: string) => go(pool.get("ada", server) as Upstream);
    for (let n = 0; n < 3; n++) void call("slow").catch(() => {});
    expect(await upstreamErrorOf(call("slow"))).toMatchObject({ code: "busy" });
    await expect(call("fast")).resolves.toBeDefined();
    await pool.close();
  });
});

describe("a token that was fetched for a connection", () => {
  it("is known to the redactor before the server has it", async () => {
    const redactor = new Redactor([]);
    const credentials = tellingSecrets(new Tokens(), (secret) => redactor.add(secret));
    const start: UpstreamSource["connect"] = async (_, { values }) => {
      const connection = new FakeConnection();
      connection.tools = [{ name: "go", description: `uses ${values.authorization}` }];
      return redactConnection(connection, { redactor, known: [] });
    };
    const { pool } = poolOf({ connect: start }, credentials);
    const { tools } = await (pool.get("ada", "x") as Upstream).list();
    expect(tools).toEqual([{ name: "go", description: "uses Bearer [REDACTED]" }]);
    await pool.close();
  });
});

describe("what a server lists to each of two principals", () => {
  it("is kept apart, and only what ptc's own user is shown becomes modules", async () => {
    const tools: Record<string, unknown[]> = {
      local: [{ name: "go", version: 1 }],
      bob: [{ name: "go", version: 2 }, { name: "drop" }],
    };
    const start: UpstreamSource["connect"] = async (_, { values }) =>
      Object.assign(new FakeConnection(), { tools: tools[values.who ?? ""] });
    const credentials: CredentialSource = {
      credentialsFor: async (principal) => ({ values: { who: principal }, secrets: [] }),
    };
    const { pool } = poolOf({ connect: start }, credentials);
    const listed = vi.fn(async () => {});
    const server = { upstreamFor: (principal: string) => pool.get(principal, "x"), callTimeoutMs: 60_000 };
    const observer = { listed, failed() {}, isSuperseded: () => false };
    const followed = { principal: "local", observer };
    const servers = new LiveToolServers(new Map([["x", server]]), JSON.stringify, followed);
    const { signal } = new AbortController();
    const digest = async (principal: string) =>
      (await servers.connect("x", signal, { principal, budget: new CallBudget() })).definitionDigest("go");
    expect(await digest("bob")).toBe('{"name":"go","version":2}');
    expect(listed).not.toHaveBeenCalled();
    expect(await digest("local")).toBe('{"name":"go","version":1}');
    expect(listed).toHaveBeenCalledExactlyOnceWith("x", expect.objectContaining({ tools: tools.local }));
    await pool.close();
  });
});
