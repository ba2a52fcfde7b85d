import { expect, it } from "vitest";
import { replayForSomebody } from "../../../execution/replay/replay-for-somebody.ts";
import type { Replayed } from "../../../execution/replay/replay-program.ts";
import { ReplayTurns } from "../../../execution/replay/replay-turns.ts";
import { replayForConsole } from "../../../project/console/replay.ts";
import { MemoryStore } from "../../archive/memory-store.ts";
import { eventually } from "../../eventually.ts";
import { archiveReplayable } from "../../server/reports/sample-archive.ts";

it("replays in the console take turns with each other and with those over HTTP, and who asks for many keeps nobody from theirs", async () => {
  const archive = new MemoryStore();
  const run = await archiveReplayable(archive);
  const order: string[] = [];
  const running: (() => void)[] = [];
  const replays = new ReplayTurns({
    admit: async ({ principal }) => {
      order.push(principal);
      return { kind: "admitted", allowance: { end() {} } as never };
    },
  });
  const replay = () =>
    new Promise<Replayed>((resolve) =>
      running.push(() =>
        resolve({
          ...{ undecided: undefined, divergence: undefined },
          envelope: {
            ...{ output_digest: "sha256:1" },
            result: { ok: true, data: 1, metrics: { tool_calls: 0 } },
          },
        } as unknown as Replayed),
      ),
    );
  const host = { archive, replays, replay };
  const { signal } = new AbortController();
  const asked = Array.from({ length: 9 }, () =>
    replayForConsole(host, archive, { principal: "eve", name: "Eve" }, run, signal),
  );
  const ada = replayForConsole(host, archive, { principal: "ada", name: "Ada" }, run, signal);
  const bob = replayForSomebody(host)(run, { context: { principal: "bob", source: "serve" } }, signal);
  expect(await asked[8]).toMatchObject({ kind: "impossible", message: expect.stringMatching(/^8 replays/) });
  for (let at = 0; at < 10; at++) {
    await eventually(() => expect(running.length).toBeGreaterThan(at));
    running[at]?.();
  }
  expect(order.slice(0, 4)).toEqual(["eve", "eve", "ada", "bob"]);
  expect(await asked[0]).toMatchObject({ kind: "same" });
  expect(await ada).toMatchObject({ kind: "same" });
  expect(await bob).toMatchObject({ same: true });
});
