import { describe, expect, it, vi } from "vitest";
import { LOCAL_PRINCIPAL } from "../../protocol/run-context.ts";
import { type ListingObserver, LiveToolServers } from "../../upstream/live-tool-servers.ts";
import type { Upstream, UpstreamCall } from "../../upstream/upstream.ts";
import { UpstreamPool, type UpstreamSource } from "../../upstream/upstream-pool.ts";
import { FakeConnection, NO_CREDENTIALS } from "./fake-connection.ts";
import { toolCall, upstreamErrorOf } from "./upstream-fixtures.ts";

/** A server of some accounts, each of whose connections lists these tools and notes its calls as `ACCOUNT TOOL`. */
function serverOf(accounts: readonly string[], tools: unknown[] = [{ name: "send" }]) {
  const made: string[] = [];
  const seen: UpstreamCall[] = [];
  const connections = new Map<string, FakeConnection>();
  const sources = (names: readonly string[]): UpstreamSource[] => {
    const sourceOf = (account: string): UpstreamSource => ({
      name: `mail/${account}`,
      isAccount: true,
      identity: "same",
      async connect() {
        const connection = new FakeConnection();
        connection.tools = tools;
        connection.callTool = async (call) => {
          made.push(`${account} ${call.tool}`);
          seen.push(call);
          return { tool: call.tool, args: call.arguments };
        };
        connections.set(account, connection);
        return connection;
      },
    });
    const own = Object.fromEntries(names.map((account) => [account, sourceOf(account)]));
    const connect = () => Promise.reject(new Error("it is connected through its accounts"));
    return [{ name: "mail", accounts: own, connect }];
  };
  const pool = new UpstreamPool(sources(accounts), NO_CREDENTIALS, { monotonicMs: () => 0 });
  const upstream = () => pool.get(LOCAL_PRINCIPAL, "mail") as Upstream;
  const replace = (names: readonly string[]) => pool.replace(sources(names), NO_CREDENTIALS);
  return { pool, upstream, replace, made, seen, connections };
}

const call = (upstream: Upstream, args: unknown, definition?: unknown) =>
  upstream.call(toolCall("send", args, { definition }));

describe("a server with accounts", () => {
  it("lists tools that have to be told the account, and calls that account with the other arguments", async () => {
    const own = { name: "send", inputSchema: { type: "object", properties: { to: {} }, required: ["to"] } };
    const { upstream, made, seen } = serverOf(["work", "private"], [own]);
    const { tools } = await upstream().list();
    expect(tools).toEqual([
      {
        name: "send",
        inputSchema: {
          type: "object",
          properties: {
            account: { type: "string", enum: ["work", "private"], description: expect.any(String) },
            to: {},
          },
          required: ["account", "to"],
        },
      },
    ]);
    await call(upstream(), { account: "private", to: "ada" }, tools[0]);
    await call(upstream(), { account: "work", to: "ada" }, tools[0]);
    expect(made).toEqual(["private send", "work send"]);
    // The server reads its own definition, and its own arguments.
    expect(seen.map((each) => [each.arguments, each.definition])).toEqual([
      [{ to: "ada" }, own],
      [{ to: "ada" }, own],
    ]);
  });

  it.each([[{}], [{ account: "other" }], [{ account: ["work"] }], [{ account: "constructor" }], ["work"]])(
    "calls no account that is not named: %j",
    async (args) => {
      const { upstream, made } = serverOf(["work", "private"]);
      const error = await upstreamErrorOf(call(upstream(), args));
      expect(error.message).toBe("server 'mail' has the accounts work, private");
      expect(made).toEqual([]);
    },
  );

  it("connects to an account when it is first called", async () => {
    const { upstream, connections } = serverOf(["work", "private"]);
    await upstream().list();
    expect([...connections.keys()]).toEqual(["work"]);
    await call(upstream(), { account: "private" });
    expect([...connections.keys()]).toEqual(["work", "private"]);
  });

  const own = { properties: { account: { type: "string" } } };
  it.each([
    [{ $ref: "#/$defs/Args", $defs: { Args: own } }],
    [{ type: "object", allOf: [{ anyOf: [{ properties: {} }, own] }] }],
    [{ oneOf: [own, { required: ["to"] }] }],
    [{ if: { required: ["to"] }, else: own }],
    [{ dependentSchemas: { to: own } }],
    [{ dependentRequired: { to: ["account"] } }],
    [{ properties: { to: {} }, required: ["account"] }],
  ])(
    "leaves out tools with an argument of that name wherever their schema says so: %j",
    async (inputSchema) => {
      const inner = { name: "send", inputSchema: { properties: { to: own } } };
      const { upstream } = serverOf(["work"], [{ name: "switch", inputSchema }, inner]);
      const { tools, problems } = await upstream().list();
      expect(tools).toMatchObject([{ name: "send" }]);
      expect(problems).toMatchObject([{ tool: "switch" }]);
    },
  );

  it("leaves out resources and prompts, and tools with an argument of that name, which it names", async () => {
    const named = { name: "switch", inputSchema: { properties: { account: { type: "string" } } } };
    const { upstream } = serverOf(
      ["work"],
      [named, { name: "resources/list", method: "resources/list" }, { name: "send" }],
    );
    const { tools, problems } = await upstream().list();
    expect(tools).toMatchObject([{ name: "send" }]);
    expect(problems).toMatchObject([{ tool: "switch", message: expect.stringContaining("of its own") }]);
  });

  it("is not listed with accounts that it has no longer, whatever it announces", async () => {
    const { pool, upstream, replace, connections } = serverOf(["work", "private"]);
    const listed: unknown[] = [];
    const failed = vi.fn();
    const observer: ListingObserver = {
      listed: async (_, { tools }) => void listed.push(tools[0]),
      failed,
      isSuperseded: () => false,
    };
    const servers = new LiveToolServers(
      new Map([["mail", { upstreamFor: (who) => pool.get(who, "mail"), callTimeoutMs: 60_000 }]]),
      JSON.stringify,
      { principal: LOCAL_PRINCIPAL, observer },
    );
    await servers.list("mail", LOCAL_PRINCIPAL);
    const before = upstream();
    replace(["work"]);
    const connection = connections.get("work");
    connection?.changeTools();
    await new Promise(setImmediate);
    expect(listed).toHaveLength(1);
    await servers.list("mail", LOCAL_PRINCIPAL);
    connection?.changeTools();
    await expect.poll(() => listed.length).toBe(3);
    expect(listed).toMatchObject(
      [["work", "private"], ["work"], ["work"]].map((accounts) => ({
        inputSchema: { properties: { account: { enum: accounts } } },
      })),
    );
    expect((await upstreamErrorOf(before.list())).code).toBe("cancelled");
    expect(failed).not.toHaveBeenCalled();
  });

  it("is another one once its accounts are others, and keeps the connections of those that stay", async () => {
    const { upstream, replace, connections } = serverOf(["work", "private", "constructor"]);
    const before = upstream();
    expect(upstream()).toBe(before);
    await call(before, { account: "private" });
    await before.list();
    const work = connections.get("work");
    replace(["work"]);
    expect(upstream()).not.toBe(before);
    expect((await upstream().list()).tools).toMatchObject([
      { inputSchema: { properties: { account: { enum: ["work"] } } } },
    ]);
    expect([connections.get("work") === work, work?.closed]).toEqual([true, false]);
    await expect.poll(() => connections.get("private")?.closed).toBe(true);
    for (const account of ["private", "constructor"])
      expect((await upstreamErrorOf(call(before, { account }))).message).toContain(
        `has no account '${account}' any longer`,
      );
  });
});
