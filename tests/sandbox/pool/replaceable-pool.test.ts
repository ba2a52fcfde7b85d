import { expect, test } from "vitest";
import { ReplaceablePool } from "../../../sandbox/pool/replaceable-pool.ts";
import { RunnerPools } from "../../../sandbox/pool/runner-pools.ts";
import type { WarmPool } from "../../../sandbox/pool/warm-pool.ts";
import { eventually } from "../../eventually.ts";
import { NO_OUTPUT, settled, usePool } from "./open-pool.ts";

test("a replaced pool still serves whoever waits for it, and then ends; the other serves all who come later", async () => {
  const before = usePool({ size: 1 });
  const after = usePool({ size: 1 });
  const pool = new ReplaceablePool(only(before.pool));
  before.engine.hold();
  const early = pool.acquire(NO_OUTPUT);
  await eventually(() => expect(before.engine.starting).toBeGreaterThan(0));
  pool.replace(only(after.pool));
  const late = await pool.acquire(NO_OUTPUT);
  expect(after.engine.live.has(late.id)).toBe(true);
  before.engine.release("all");
  const sandbox = await early;
  expect(before.engine.live.has(sandbox.id)).toBe(true);
  await settled(before.engine, 1);
  await Promise.all([sandbox.dispose(), late.dispose()]);
  await pool.close();
  expect([before.engine.live.size, after.engine.live.size]).toEqual([0, 0]);
});

/** Pools of one runner only. */
function only(pool: WarmPool): RunnerPools {
  return new RunnerPools({ bounds: { floor: 1, ceiling: 1 }, runner: "javascript", open: () => pool });
}
