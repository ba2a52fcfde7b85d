import { describe, expect, it } from "vitest";
import { replayForSomebody } from "../../../execution/replay/replay-for-somebody.ts";
import type { Replayed } from "../../../execution/replay/replay-program.ts";
import type { ReplayRequest } from "../../../execution/replay/replay-run.ts";
import { ReplayTurns } from "../../../execution/replay/replay-turns.ts";
import { MemoryStore } from "../../archive/memory-store.ts";
import { eventually } from "../../eventually.ts";
import { archiveReplayable } from "../../server/reports/sample-archive.ts";

/** A host whose replays end when the test says so. Who is admitted is noted in order. */
async function setUp({ isAdmitted = true } = {}) {
  const archive = new MemoryStore();
  const run = await archiveReplayable(archive);
  const order: string[] = [];
  const running: { end: () => void; request: ReplayRequest }[] = [];
  let ended = 0;
  const replay = replayForSomebody({
    archive,
    replays: new ReplayTurns({
      async admit({ principal }) {
        order.push(principal);
        const failure = {
          type: "Busy" as const,
          message: "no more today",
          retryable: true,
          retryAfterSeconds: 1,
        };
        if (!isAdmitted) return { kind: "refused", failure };
        return {
          kind: "admitted",
          allowance: {
            useCpu() {},
            end: () => void ended++,
            takeCall: async () => undefined,
            useBytes() {},
          } as never,
        };
      },
    }),
    replay: (request) =>
      new Promise((resolve) => {
        const end = () =>
          resolve({ envelope: {}, divergence: undefined, undecided: undefined } as unknown as Replayed);
        running.push({ end, request });
      }),
  });
  const ask = (principal: string, signal = new AbortController().signal) =>
    replay(run, { context: { principal, source: "serve" } }, signal);
  return { ask, run, order, running, ended: () => ended };
}

describe("replays that people ask for over HTTP", () => {
  it("are two at a time, by turns between principals", async () => {
    const { ask, run, order, running, ended } = await setUp();
    const asked = [ask("eve"), ask("eve"), ask("eve"), ask("eve"), ask("ada")];
    await eventually(() => expect(running).toHaveLength(2));
    expect(order).toEqual(["eve", "eve"]);
    running[0]?.end();
    await eventually(() => expect(running).toHaveLength(3));
    expect(order).toEqual(["eve", "eve", "ada"]);
    for (let at = 1; at < 5; at++) {
      await eventually(() => expect(running.length).toBeGreaterThan(at));
      running[at]?.end();
    }
    expect(await Promise.all(asked)).toEqual(
      asked.map(() => ({ run_id: run, same: true, divergence: null, undecided: null, envelope: {} })),
    );
    expect(ended()).toBe(5);
  });

  it("of one principal are eight at most, and another's still wait", async () => {
    const { ask, running } = await setUp();
    for (let each = 0; each < 8; each++) void ask("eve");
    expect(await ask("eve")).toEqual({ error: expect.stringMatching(/^8 replays of yours are under way/) });
    void ask("ada");
    await eventually(() => expect(running).toHaveLength(2));
    running[0]?.end();
    await eventually(() => expect(running).toHaveLength(3));
    // One of eve's has ended.
    const stop = new AbortController();
    const again = ask("eve", stop.signal);
    stop.abort();
    expect(await again).toEqual({ error: "the replay was cancelled while it waited" });
  });

  it("give their turn on when their principal may begin nothing more", async () => {
    const { ask, order } = await setUp({ isAdmitted: false });
    expect(await Promise.all(["eve", "eve", "eve", "ada"].map((who) => ask(who)))).toEqual(
      Array(4).fill({ error: "no more today" }),
    );
    expect(order.sort()).toEqual(["ada", "eve", "eve", "eve"]);
  });
});
