import { expect, it } from "vitest";
import { LOCAL_PRINCIPAL } from "../../protocol/run-context.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import { UpstreamPool } from "../../upstream/upstream-pool.ts";
import { eventually } from "../eventually.ts";
import { FakeConnection, go, NO_CREDENTIALS } from "./fake-connection.ts";
import { upstreamErrorOf } from "./upstream-fixtures.ts";

function open() {
  const connections = new Map<string, FakeConnection[]>();
  const source = (name: string, identity = "as it was") => ({
    name,
    identity,
    async connect() {
      const connection = new FakeConnection();
      connections.set(name, [...(connections.get(name) ?? []), connection]);
      return connection;
    },
  });
  const names = ["same", "changed", "gone"];
  const pool = new UpstreamPool(
    names.map((name) => source(name)),
    NO_CREDENTIALS,
    { monotonicMs: () => 0 },
  );
  const of = (name: string) => pool.get(LOCAL_PRINCIPAL, name) as Upstream;
  const replace = () =>
    pool.replace([source("same"), source("changed", "anew"), source("added")], NO_CREDENTIALS);
  return { pool, of, connections, replace };
}

it("keeps servers that are as they were, ends changed ones and those that are gone, and starts new ones", async () => {
  const { pool, of, connections, replace } = open();
  const before = ["same", "changed", "gone"].map(of);
  await Promise.all(before.map(go));
  replace();
  expect([of("same") === before[0], of("changed") === before[1], pool.get(LOCAL_PRINCIPAL, "gone")]).toEqual([
    true,
    false,
    undefined,
  ]);
  await Promise.all(["same", "changed", "added"].map((name) => go(of(name))));
  expect([...connections].map(([name, made]) => [name, made.map(({ closed }) => closed)])).toEqual([
    ["same", [false]],
    ["changed", [true, false]],
    ["gone", [true]],
    ["added", [false]],
  ]);
  await pool.close();
  expect([...connections.values()].flat().every(({ closed }) => closed)).toBe(true);
});

it("lets a call that is under way come to its end, and refuses the next on the same server with the reason", async () => {
  const { of, connections, replace } = open();
  const gone = of("gone");
  await go(gone);
  const [connection] = connections.get("gone") ?? [];
  let answer: ((result: { tool: string; args: unknown }) => void) | undefined;
  if (connection !== undefined)
    connection.callTool = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
  const call = go(gone);
  await eventually(() => expect(answer).toBeDefined());
  replace();
  expect(connection?.closed).toBe(false);
  expect(await upstreamErrorOf(go(gone))).toMatchObject({
    message: "server 'gone' is not used: it is not configured any more",
  });
  answer?.({ tool: "go", args: {} });
  await call;
  expect(connection?.closed).toBe(true);
});

it("ends a server that is still being started", async () => {
  const { pool, of, connections, replace } = open();
  const call = upstreamErrorOf(go(of("changed")));
  replace();
  expect(await call).toMatchObject({ code: "cancelled" });
  await eventually(() =>
    expect(connections.get("changed")?.every(({ closed }) => closed) ?? true).toBe(true),
  );
  await pool.close();
});
