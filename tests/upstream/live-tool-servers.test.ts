import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LOCAL_PRINCIPAL } from "../../protocol/run-context.ts";
import { type ListingObserver, LiveToolServers } from "../../upstream/live-tool-servers.ts";
import { CallBudget } from "../../upstream/tool-servers.ts";
import type { ToolsChange, Upstream, UpstreamListing } from "../../upstream/upstream.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";

/** A server whose one tool has the version that it is given, and which keeps count. */
class FakeUpstream implements Upstream {
  readonly name = "x";
  version = 1;
  /** What the process that runs lists, when it was started before. */
  running: number | undefined;
  listings = 0;
  renewals = 0;
  isConnected = true;
  ttlMs: number | undefined;
  answering: Promise<unknown> = Promise.resolve();
  announce: (change: ToolsChange) => void = () => {};

  async startAhead(): Promise<void> {}

  async list(): Promise<UpstreamListing> {
    this.listings++;
    this.running ??= this.version;
    const tools = [{ name: "go", version: this.running }];
    await this.answering;
    const ttl = this.ttlMs === undefined ? {} : { ttlMs: this.ttlMs };
    return { implementation: { name: "x", version: "1" }, protocolVersion: "2025-11-25", tools, ...ttl };
  }

  async call(): Promise<unknown> {
    return {};
  }

  onToolsChanged(listener: (change: ToolsChange) => void): () => void {
    this.announce = listener;
    return () => {};
  }

  renew(): void {
    this.renewals++;
    this.running = undefined;
  }

  async close(): Promise<void> {}
}

function setUp(overrides: Partial<ListingObserver> = {}) {
  const upstream = new FakeUpstream();
  const observer = {
    listed: vi.fn(async (_server: string, _listing: UpstreamListing) => {}),
    failed: vi.fn(),
    isSuperseded: vi.fn(() => false),
    ...overrides,
  };
  const servers = new LiveToolServers(
    new Map([["x", { upstreamFor: () => upstream, callTimeoutMs: 60_000 }]]),
    (definition) => `v${(definition as { version: number }).version}`,
    { principal: LOCAL_PRINCIPAL, observer },
  );
  const signal = new AbortController().signal;
  const digest = async (hasDrifted = false) => {
    const options = { principal: LOCAL_PRINCIPAL, hasDrifted, budget: new CallBudget() };
    return (await servers.connect("x", signal, options)).definitionDigest("go");
  };
  return { upstream, observer, servers, digest };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a server that says for how long its list holds", () => {
  it.each([
    [0, 59_000, 2_000],
    [600_000, 599_000, 2_000],
  ])("%i ms, is listed again after that, and at most every minute", async (ttlMs, fresh, stale) => {
    const { upstream, digest } = setUp();
    upstream.ttlMs = ttlMs;
    expect(await digest()).toBe("v1");
    upstream.running = 2;
    await vi.advanceTimersByTimeAsync(fresh);
    expect(await digest()).toBe("v1");
    await vi.advanceTimersByTimeAsync(stale);
    // Several calls at once share one listing.
    expect(await Promise.all([digest(), digest()])).toEqual(["v2", "v2"]);
    expect(upstream.listings).toBe(2);
  });

  it("is not listed again when it does not say", async () => {
    const { upstream, digest } = setUp();
    await digest();
    await vi.advanceTimersByTimeAsync(86_400_000);
    await digest();
    expect(upstream.listings).toBe(1);
  });
});

describe("a server that announces changes", () => {
  it("is listed again at once, and calls wait for what it lists", async () => {
    const { upstream, observer, digest } = setUp();
    expect(await digest()).toBe("v1");
    await vi.advanceTimersByTimeAsync(1_000);
    upstream.running = 2;
    upstream.announce("announced");
    expect(await digest()).toBe("v2");
    expect(observer.listed).toHaveBeenCalledTimes(2);
  });

  it("without end is listed with growing pauses, in which its last listing holds", async () => {
    const { upstream, digest } = setUp();
    await digest();
    const flood = setInterval(() => {
      upstream.running = (upstream.running ?? 0) + 1;
      for (let i = 0; i < 50; i++) upstream.announce("announced");
    }, 10);
    const seen: number[] = [];
    for (let second = 0; second < 120; second++) {
      await vi.advanceTimersByTimeAsync(1_000);
      seen.push(upstream.listings);
      await digest();
    }
    clearInterval(flood);
    expect(seen.slice(0, 8)).toEqual([2, 2, 3, 3, 3, 3, 4, 4]);
    expect(seen.at(-1)).toBe(8);
  });

  it("is listed once more after a listing that it interrupted, not for each announcement", async () => {
    const { upstream, digest } = setUp();
    await digest();
    await vi.advanceTimersByTimeAsync(5_000);
    const { promise, resolve: answer } = Promise.withResolvers<void>();
    upstream.answering = promise;
    for (let i = 0; i < 100; i++) upstream.announce("announced");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(upstream.listings).toBe(2);
    answer();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(upstream.listings).toBe(3);
  });

  it("is not listed again before its last listing has been taken in", async () => {
    const { promise: taken, resolve: done } = Promise.withResolvers<void>();
    const { upstream, digest } = setUp({ listed: () => taken });
    await digest();
    upstream.announce("announced");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(upstream.listings).toBe(1);
    done();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(upstream.listings).toBe(2);
  });

  it("is as quick to be listed as ever after it was quiet", async () => {
    const { upstream, digest } = setUp();
    await digest();
    for (let second = 0; second < 20; second++) {
      upstream.announce("announced");
      await vi.advanceTimersByTimeAsync(1_000);
    }
    await vi.advanceTimersByTimeAsync(120_000);
    const before = upstream.listings;
    upstream.announce("announced");
    await vi.advanceTimersByTimeAsync(10);
    upstream.announce("announced");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(upstream.listings).toBe(before + 2);
  });

  it("and cannot be listed is reported, and asked again by the next call", async () => {
    const { upstream, observer, digest } = setUp();
    await digest();
    await vi.advanceTimersByTimeAsync(1_000);
    const error = new UpstreamError("protocol_error", "server 'x' lists too much");
    upstream.answering = Promise.reject(error);
    upstream.announce("announced");
    await vi.advanceTimersByTimeAsync(0);
    expect(observer.failed).toHaveBeenCalledExactlyOnceWith("x", error);
    upstream.answering = Promise.resolve();
    expect(await digest()).toBe("v1");
  });

  it("and is no longer needed is not reported", async () => {
    const { upstream, observer, digest } = setUp();
    await digest();
    await vi.advanceTimersByTimeAsync(1_000);
    upstream.answering = Promise.reject(new UpstreamError("cancelled", "ptc is ending"));
    upstream.announce("announced");
    await vi.advanceTimersByTimeAsync(0);
    expect(upstream.listings).toBe(2);
    expect(observer.failed).not.toHaveBeenCalled();
  });

  it("and is then lost is not started for it", async () => {
    const { upstream, digest } = setUp();
    await digest();
    upstream.announce("announced");
    upstream.announce("disconnected");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(upstream.listings).toBe(1);
    await digest();
    expect(upstream.listings).toBe(2);
  });
});

it("what a lost connection still lists, or fails to, does not count", async () => {
  const { upstream, digest } = setUp();
  const held = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const begin = (index: number) => {
    upstream.answering = held[index]?.promise ?? Promise.resolve();
    upstream.running = index;
    upstream.announce("disconnected");
    return digest();
  };
  const [first, second, third] = [begin(0), begin(1), begin(2)];
  held[0]?.reject(new UpstreamError("disconnected", "it is lost"));
  await expect(first).rejects.toThrow("it is lost");
  const another = digest();
  held[2]?.resolve();
  expect(await Promise.all([third, another])).toEqual(["v2", "v2"]);
  held[1]?.resolve();
  expect(await second).toBe("v1");
  expect(await digest()).toBe("v2");
  expect(upstream.listings).toBe(3);
});

describe("a definition that is not what programs were made for", () => {
  it("has the server started anew when another process knows of a newer one", async () => {
    const superseded = { value: false };
    const { upstream, digest } = setUp({ isSuperseded: () => superseded.value });
    expect(await digest()).toBe("v1");
    upstream.version = 2;
    superseded.value = true;
    expect(await digest()).toBe("v1");
    const found = await Promise.all([digest(true), digest(true), digest(true)]);
    expect(found[0]).toBe("v2");
    expect(await digest()).toBe("v2");
    expect(upstream).toMatchObject({ renewals: 1, listings: 2 });
  });

  it("is reported after the observer has processed it, without asking the server again", async () => {
    const { promise: taken, resolve: done } = Promise.withResolvers<void>();
    const { upstream, digest } = setUp({ listed: () => taken });
    await digest();
    const told = vi.fn();
    const found = digest(true).then(told);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(told).not.toHaveBeenCalled();
    done();
    await found;
    expect(told).toHaveBeenCalledExactlyOnceWith("v1");
    expect(upstream).toMatchObject({ renewals: 0, listings: 1 });
  });

  it("does not have two processes start their servers for ever", async () => {
    const { upstream, digest } = setUp({ isSuperseded: () => true });
    await digest();
    for (let second = 0; second < 600; second++) {
      await digest(true);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(upstream.renewals).toBeLessThan(30);
  });
});

describe("the time limit of a call", () => {
  const never = new Promise<never>(() => {});
  const setUpCall = (upstream: FakeUpstream) => {
    const server = { upstreamFor: () => upstream, callTimeoutMs: 3_000 };
    const servers = new LiveToolServers(new Map([["x", server]]), () => "d");
    const signal = new AbortController().signal;
    return (budget: CallBudget) => servers.connect("x", signal, { principal: LOCAL_PRINCIPAL, budget });
  };
  const outcomeOf = (promise: Promise<unknown>) =>
    promise.then(
      () => "ready",
      (error: unknown) => error,
    );

  it.each([
    [false, "it has not started"],
    [true, "it has not listed its tools"],
  ])("is also one for starting and listing its server (started: %j)", async (isConnected, missing) => {
    const upstream = new FakeUpstream();
    upstream.isConnected = isConnected;
    upstream.answering = never;
    const connect = setUpCall(upstream);
    const outcome = outcomeOf(connect(new CallBudget()));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await outcome).toMatchObject({
      code: "connect_timeout",
      retryable: true,
      message: `server 'x' was not sent the call: ${missing} within 3 s, the time limit of a call; it goes on with that, so a later call may find it ready`,
    });
  });

  it("does not end the listing, which later calls find done", async () => {
    const upstream = new FakeUpstream();
    const { promise, resolve: answer } = Promise.withResolvers<void>();
    upstream.answering = promise;
    const connect = setUpCall(upstream);
    const first = outcomeOf(connect(new CallBudget()));
    await vi.advanceTimersByTimeAsync(2_000);
    const second = outcomeOf(connect(new CallBudget()));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await first).toMatchObject({ code: "connect_timeout" });
    answer();
    expect(await second).toBe("ready");
    expect(upstream.listings).toBe(1);
  });

  it("does not run while nothing is waited for, as when a person is asked", async () => {
    const upstream = new FakeUpstream();
    const connect = setUpCall(upstream);
    const budget = new CallBudget();
    await connect(budget);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(await outcomeOf(connect(budget))).toBe("ready");
    expect(budget.spentMs).toBeLessThan(3_000);
  });

  it("holds under a server that announces changes and never lists them", async () => {
    const upstream = new FakeUpstream();
    const connect = setUpCall(upstream);
    await connect(new CallBudget());
    await vi.advanceTimersByTimeAsync(1_000);
    upstream.answering = never;
    upstream.announce("announced");
    const outcome = outcomeOf(connect(new CallBudget()));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await outcome).toMatchObject({ code: "connect_timeout" });
  });
});

describe("a server that may have to be installed first", () => {
  it("is waited for beyond the time of a call, which begins when it has started", async () => {
    const { upstream, servers } = setUp();
    const { promise: started, resolve: start } = Promise.withResolvers<void>();
    Object.assign(upstream, { isConnected: false, startsApart: true, startAhead: () => started });
    const budget = new CallBudget();
    const signal = new AbortController().signal;
    const connecting = servers.connect("x", signal, { principal: LOCAL_PRINCIPAL, budget });
    await vi.advanceTimersByTimeAsync(240_000);
    upstream.isConnected = true;
    start();
    expect((await connecting).definitionDigest("go")).toBe("v1");
    expect(budget.spentMs).toBe(0);
  });

  it("is not waited for once the run has ended", async () => {
    const { upstream, servers } = setUp();
    Object.assign(upstream, {
      isConnected: false,
      startsApart: true,
      startAhead: () => new Promise(() => {}),
    });
    const run = new AbortController();
    const options = { principal: LOCAL_PRINCIPAL, budget: new CallBudget() };
    const connecting = servers.connect("x", run.signal, options);
    run.abort();
    await expect(connecting).rejects.toThrow("the run has ended");
  });

  it("fails a call with the reason why it did not start", async () => {
    const { upstream, servers } = setUp();
    const reason = new UpstreamError("start_failed", "server 'x' did not start");
    const fail = () => Promise.reject(reason);
    Object.assign(upstream, { isConnected: false, startsApart: true, startAhead: fail, list: fail });
    const options = { principal: LOCAL_PRINCIPAL, budget: new CallBudget() };
    await expect(servers.connect("x", new AbortController().signal, options)).rejects.toBe(reason);
  });
});
