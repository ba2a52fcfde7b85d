import { describe, expect, it } from "vitest";
import { ServersAhead } from "../../execution/servers-ahead.ts";

/** Servers of which two may start at a time. */
function setUp() {
  const started: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const servers = new ServersAhead((module) => {
    started.push(module);
    const end = Promise.withResolvers<void>();
    ends.set(module, end);
    return end.promise;
  }, 2);
  for (const module of ["a", "b", "a", "c", "d"]) servers.start(module);
  return { started, ends, servers };
}

describe("servers that are started ahead of their calls", () => {
  it("start once each, at most so many at the same time, and one that fails leaves its place too", async () => {
    const { started, ends } = setUp();
    expect(started).toEqual(["a", "b"]);
    ends.get("b")?.reject(new Error("planted"));
    await expect.poll(() => started).toEqual(["a", "b", "c"]);
    ends.get("a")?.resolve();
    await expect.poll(() => started).toEqual(["a", "b", "c", "d"]);
  });

  it("do not start once their run is over", async () => {
    const { started, ends, servers } = setUp();
    servers.end();
    servers.start("e");
    ends.get("a")?.resolve();
    ends.get("b")?.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(started).toEqual(["a", "b"]);
  });
});
