import { expect, test } from "vitest";
import type { RunnerName } from "../../../protocol/runners/runner-name.ts";
import { shareBounds } from "../../../sandbox/pool/pool-policy.ts";
import { RunnerPools } from "../../../sandbox/pool/runner-pools.ts";
import { NO_OUTPUT, settled, usePool } from "./open-pool.ts";

/** Pools for two runners, over an engine each. */
function openPools(floor: number) {
  const opened: Partial<Record<RunnerName, ReturnType<typeof usePool>>> = {};
  const pools = new RunnerPools({
    bounds: { floor, ceiling: floor },
    runner: "javascript",
    open(runner, share) {
      const pool = usePool({ size: share.floor, maxSize: share.ceiling });
      opened[runner] = pool;
      return pool.pool;
    },
  });
  return { pools, opened };
}

test("the pool of another runner begins to fill when a program needs it, and the two share what one had", async () => {
  const { pools, opened } = openPools(2);
  pools.prime();
  const [javascript] = [opened.javascript?.engine];
  if (javascript === undefined) throw new Error("there is no first pool");
  await settled(javascript, 2);
  expect(opened.python).toBeUndefined();
  expect([pools.ready, pools.isReady("python")]).toEqual([true, false]);
  const sandbox = await pools.acquire(NO_OUTPUT, undefined, "python");
  const python = opened.python?.engine;
  if (python === undefined) throw new Error("there is no second pool");
  expect(python.live.has(sandbox.id)).toBe(true);
  await settled(javascript, 1);
  await settled(python, 2);
  expect([pools.ready, pools.isReady("python")]).toEqual([true, true]);
  await sandbox.dispose();
  await pools.close();
  expect([javascript.live.size, python.live.size]).toEqual([0, 0]);
});

test("the one sandbox that waits has the runner that was used last", async () => {
  const { pools, opened } = openPools(1);
  const used = [await pools.acquire(NO_OUTPUT), await pools.acquire(NO_OUTPUT, undefined, "python")];
  for (const sandbox of used) await sandbox.dispose();
  if (opened.javascript === undefined || opened.python === undefined) throw new Error("a pool is missing");
  await settled(opened.python.engine, 1);
  await settled(opened.javascript.engine, 0);
  await (await pools.acquire(NO_OUTPUT)).dispose();
  await settled(opened.javascript.engine, 1);
  await settled(opened.python.engine, 0);
  await pools.close();
});

test.each([
  {
    floor: 2,
    ceiling: 7,
    pools: 2,
    shares: [
      [1, 4],
      [1, 3],
    ],
  },
  {
    floor: 1,
    ceiling: 1,
    pools: 2,
    shares: [
      [1, 1],
      [0, 0],
    ],
  },
  { floor: 0, ceiling: 8, pools: 1, shares: [[0, 8]] },
])("$floor to $ceiling, shared by $pools", ({ floor, ceiling, pools, shares }) => {
  expect(shareBounds({ floor, ceiling }, pools)).toEqual(
    shares.map(([least, most]) => ({ floor: least, ceiling: most })),
  );
});
