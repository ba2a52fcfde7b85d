/** Months of runs in PostgreSQL: they go as a whole, and nothing goes with them that others need. */
import { randomBytes } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod/mini";
import { openPool } from "../../../archive/postgres/database.ts";
import { openPostgresArchive } from "../../../archive/postgres/postgres.ts";
import { pruneDaily, releaseHeld, sweepAbandoned } from "../../../archive/postgres/prune.ts";
import { archiveRun } from "../made-archives.ts";
import { sampleCall, sampleRun } from "../sample-runs.ts";
import { usePostgres, WITHOUT_POSTGRES } from "./server.ts";

const DAY_MS = 86_400_000;
const Name = z.object({ name: z.string() });
const Count = z.object({ count: z.int() });

describe.skipIf(WITHOUT_POSTGRES !== "")(`in PostgreSQL${WITHOUT_POSTGRES}`, () => {
  const server = usePostgres();

  const open = async () => {
    const url = server().url();
    const archive = await openPostgresArchive(url, { keepDays: 36_500 });
    const db = await openPool(url);
    onTestFinished(async () => {
      await archive.close();
      await db.close();
    });
    const months = async () => {
      const rows = await db.all(
        Name,
        "SELECT relid::text AS name FROM pg_partition_tree('blobs') WHERE isleaf ORDER BY 1",
      );
      return rows.map(({ name }) => name.replace(/^.*blobs_/, ""));
    };
    const count = async (from: string) =>
      (await db.get(Count, `SELECT count(*) AS count FROM ${from}`))?.count ?? 0;
    const keep = async (startedAt: number, answer: string) => {
      const sample = sampleRun({ startedAt, answer: () => answer.repeat(50), code: answer });
      expect(await archiveRun(archive, sample)).toMatchObject({ ok: true });
      return sample.run.facts.run_id;
    };
    return { archive, db, months, count, keep };
  };
  const [january, february, march] = [0, 1, 2].map((month) => Date.UTC(2030, month, 10)) as [
    number,
    number,
    number,
  ];

  it("a month that begins for several processes at once has the runs of all of them", async () => {
    const url = server().url();
    const archives = await Promise.all([0, 1, 2].map(() => openPostgresArchive(url, { keepDays: 36_500 })));
    onTestFinished(async () => {
      await Promise.all(archives.map((archive) => archive.close()));
    });
    for (let month = 0; month < 12; month++) {
      const startedAt = Date.UTC(2031, month, 10);
      const results = await Promise.all(
        archives.map((archive) => archiveRun(archive, sampleRun({ startedAt }))),
      );
      expect(results.filter(({ ok }) => !ok)).toEqual([]);
    }
  });

  it("a month that is old goes with its partitions, but for values that later runs have too", async () => {
    const { archive, months, count, keep } = await open();
    await keep(january, "shared");
    await keep(january + 1, "only in January");
    const later = await keep(march, "shared");
    await keep(february, "February");
    expect(await months()).toEqual(["2030_01", "2030_02", "2030_03"]);
    const shared = await count("(SELECT digest FROM blobs GROUP BY digest HAVING count(*) > 1) AS twice");
    expect(shared).toBe(0);
    const before = await archive.stats({});
    const pruned = await archive.prune({ beforeMs: Date.UTC(2030, 1, 1), nowMs: march });
    expect(pruned.runs).toBe(2);
    expect(pruned.blobs).toBeGreaterThan(0);
    expect(await months()).toEqual(["2030_02", "2030_03"]);
    expect(await archive.verify()).toMatchObject({ runs: 2, pruned: 0, problems: [] });
    const read = await archive.read(later);
    for (const call of read.record.calls)
      expect(await read.outcomeOf(call)).toMatchObject({ data: "shared".repeat(50) });
    const after = await archive.stats({});
    expect([before.runs, after.runs]).toEqual([4, 2]);
    expect(after.tools[0]).toMatchObject({ runs: 2, calls: 4 });
    // The month comes back with a run that belongs there.
    await keep(january, "again");
    expect(await archive.verify()).toMatchObject({ runs: 3, problems: [] });
  });

  it("a new month is begun while somebody reads all others, and a month that is read is not dropped", async () => {
    const { archive, db, months, keep } = await open();
    await keep(january, "a");
    await db.snapshot(async (tx) => {
      await tx.exec("SELECT count(*) FROM runs, run_tools, run_blobs, blobs");
      await keep(february, "b");
      expect(await months()).toEqual(["2030_01", "2030_02"]);
      const all = { beforeMs: Number.POSITIVE_INFINITY, nowMs: march };
      await expect(archive.prune(all)).rejects.toMatchObject({ code: "busy" });
    });
    expect(await archive.verify()).toMatchObject({ runs: 2, problems: [] });
    await archive.prune({ beforeMs: Number.POSITIVE_INFINITY, nowMs: march });
    expect(await archive.verify()).toMatchObject({ runs: 0, problems: [] });
  });

  it("a part of a month goes by rows, once a day and to the day", async () => {
    const { archive, db, months, keep } = await open();
    const old = await keep(january, "a");
    const young = await keep(january + 5 * DAY_MS, "b");
    await pruneDaily(db, 30, january + 33 * DAY_MS);
    await expect(archive.read(old)).rejects.toMatchObject({ code: "missing" });
    expect((await archive.read(young)).record.run_id).toBe(young);
    expect(await months()).toEqual(["2030_01"]);
    await pruneDaily(db, 1, january + 33.5 * DAY_MS);
    expect((await archive.verify()).runs).toBe(1);
    await pruneDaily(db, 1, january + 34 * DAY_MS);
    expect(await archive.verify()).toMatchObject({ runs: 0, blobs: 0, problems: [] });
    expect(await months()).toEqual([]);
  });

  it("what a run had handed over that never ended is swept after three days, and not what others have", async () => {
    const { archive, db, count, keep } = await open();
    await keep(january, "kept");
    const before = await count("blobs");
    const { run } = sampleRun({ calls: 0 });
    const recording = archive.begin(run.facts.run_id);
    // Random, so that it stays large.
    const page = () => randomBytes(1_500_000).toString("base64");
    for (let seq = 0; seq < 4; seq++) await recording.addCall(sampleCall(seq, page()));
    await expect.poll(() => count("held_blobs")).toBeGreaterThan(0);
    expect(await archive.verify()).toMatchObject({ runs: 1, problems: [] });
    await sweepAbandoned(db, Date.now() + 2 * DAY_MS);
    expect(await count("blobs")).toBeGreaterThan(before);
    await sweepAbandoned(db, Date.now() + 4 * DAY_MS);
    expect([await count("blobs"), await count("held_blobs")]).toEqual([before, 0]);
    // The run that goes on all the same is told, and not archived in part.
    expect(await recording.finish(run)).toMatchObject({ ok: false });
    expect(await archive.verify()).toMatchObject({ runs: 1, problems: [] });
  });

  it("a run keeps what was held for it, also where another month has the same, so that nothing is left of no run", async () => {
    const { archive, db, count, keep } = await open();
    const month = Date.UTC(2020, 0);
    await keep(month, "earlier");
    const { run } = sampleRun({ calls: 0 });
    const recording = archive.begin(run.facts.run_id);
    for (let seq = 0; seq < 4; seq++)
      await recording.addCall(sampleCall(seq, randomBytes(1_500_000).toString("base64")));
    await expect.poll(() => count("held_blobs")).toBeGreaterThan(0);
    // Another run of that month hands the same over at the same time.
    await db.run(
      `WITH copy AS (INSERT INTO blobs (month, digest, codec, size, content)
         SELECT $1::bigint, digest, codec, size, content FROM blobs WHERE id IN (SELECT blob FROM held_blobs) ON CONFLICT DO NOTHING RETURNING id)
       INSERT INTO held_blobs (holder, blob, held_at) SELECT 'another', id, $2::bigint FROM copy`,
      ...[month, Date.now()],
    );
    expect(await recording.finish(run)).toMatchObject({ ok: true });
    expect(await archive.verify()).toMatchObject({ runs: 2, problems: [] });
    await releaseHeld(db, "another");
    expect((await archive.read(run.facts.run_id)).record.calls).toHaveLength(4);
    expect(await archive.verify()).toMatchObject({ runs: 2, problems: [] });
  });
});
