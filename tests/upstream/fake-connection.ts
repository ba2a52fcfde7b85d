import { vi } from "vitest";
import { LOCAL_PRINCIPAL } from "../../protocol/run-context.ts";
import { type CredentialSource, configuredCredentials } from "../../upstream/authorization/credentials.ts";
import type { Upstream, UpstreamCall, UpstreamConnection, UpstreamListing } from "../../upstream/upstream.ts";
import type { UpstreamError } from "../../upstream/upstream-error.ts";
import { type BackoffOptions, UpstreamPool, type UpstreamSource } from "../../upstream/upstream-pool.ts";
import { toolCall } from "./upstream-fixtures.ts";

/** A connection in memory whose behaviour tests set. */
export class FakeConnection implements UpstreamConnection {
  closed = false;
  tools: unknown[] = [{ name: "go" }];
  lose: (reason: UpstreamError) => void = () => {};
  changeTools: () => void = () => {};
  list = async (_signal?: AbortSignal): Promise<UpstreamListing> => ({
    implementation: { name: "fake", version: "1" },
    protocolVersion: "2025-11-25",
    tools: this.tools,
  });
  callTool = async ({ tool, arguments: args }: UpstreamCall) => ({ tool, args });

  /** Makes calls wait. Returns what answers the newest of them. */
  hold(): { answer: (result: { tool: string; args: unknown }) => void; isCalled: boolean } {
    const held = { answer: (_: { tool: string; args: unknown }) => {}, isCalled: false };
    this.callTool = () => {
      const { promise, resolve } = Promise.withResolvers<{ tool: string; args: unknown }>();
      Object.assign(held, { answer: resolve, isCalled: true });
      return promise;
    };
    return held;
  }

  onToolsChanged(listener: () => void): void {
    this.changeTools = listener;
  }

  onLost(listener: (reason: UpstreamError) => void): void {
    this.lose = listener;
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

export const BACKOFF: BackoffOptions = { firstMs: 1_000, maxMs: 5_000, stableMs: 60_000 };
export const NO_CREDENTIALS = configuredCredentials(new Map());

/** The server `x` of one principal, in a new pool. */
export function poolOf(source: Omit<UpstreamSource, "name">, credentials: CredentialSource = NO_CREDENTIALS) {
  const pool = new UpstreamPool([{ name: "x", ...source }], credentials, { monotonicMs: () => 0 });
  return { pool, upstream: pool.get(LOCAL_PRINCIPAL, "x") as Upstream };
}

/** A pool of one server whose connections are all of them fake. */
export function setUp(options: { idleMs?: number } = {}) {
  const clock = { time: 0, monotonicMs: () => clock.time };
  const connections: FakeConnection[] = [];
  const connect = vi.fn(async (_signal: AbortSignal): Promise<UpstreamConnection> => {
    const connection = new FakeConnection();
    connections.push(connection);
    return connection;
  });
  const pool = new UpstreamPool([{ name: "x", connect }], NO_CREDENTIALS, clock, {
    backoff: BACKOFF,
    ...options,
  });
  return { clock, connections, connect, pool, upstream: pool.get(LOCAL_PRINCIPAL, "x") as Upstream };
}

export const go = (upstream: Upstream) => upstream.call(toolCall("go"));
