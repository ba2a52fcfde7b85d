import { statSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { openForReading } from "../../../archive/sqlite/connection.ts";
import { pruneDaily, pruneRuns } from "../../../archive/sqlite/prune.ts";
import { readStats } from "../../../archive/sqlite/sqlite-archive-store.ts";
import { SqliteArchiveWriter } from "../../../archive/sqlite/writer/sqlite-archive-writer.ts";
import { archiveRun, storeSample, useFolder } from "../made-archives.ts";
import { listRuns, readRun, verifyArchive } from "../on-connection.ts";
import { openQuickly, type SampleOptions, sampleRun } from "../sample-runs.ts";

const at = useFolder();

const DAY_MS = 24 * 60 * 60 * 1000;
const NOW = Date.UTC(2030, 5, 1);

function makeArchive(name: string, samples: SampleOptions[]) {
  const path = at(name);
  const db = openQuickly(path);
  return { path, db, runIds: samples.map((options) => storeSample(db, options)) };
}

describe("pruning", () => {
  test("deletes old runs and what only they refer to, and keeps what others share with them", async () => {
    const shared = "the same long answer ".repeat(1_000);
    const { db, runIds } = makeArchive("shared.db", [
      {
        startedAt: NOW - 40 * DAY_MS,
        answer: (seq) => (seq === 0 ? shared : "only of the old one ".repeat(500)),
      },
      { startedAt: NOW - DAY_MS, answer: () => shared },
    ]);
    const before = (await verifyArchive(db)).blobs;
    const pruned = pruneRuns(db, { beforeMs: NOW - 30 * DAY_MS, nowMs: NOW });
    // Its own: one answer, envelope, environment, record.
    expect(pruned).toMatchObject({ runs: 1, blobs: 4 });
    expect(pruned.bytes).toBeGreaterThan(0);
    expect(await verifyArchive(db)).toMatchObject({ runs: 1, blobs: before - 4, problems: [] });
    const kept = await readRun(db, runIds[1] ?? "");
    expect(await Promise.all(kept.record.calls.map((call) => kept.outcomeOf(call)))).toEqual([
      { ok: true, data: shared },
      { ok: true, data: shared },
    ]);
    await expect(readRun(db, runIds[0] ?? "")).rejects.toThrow(/not in the archive/);
    db.close();
  });

  test("gives the space back to the disk", () => {
    const noise = () => Array.from({ length: 40_000 }, () => Math.random().toString(36)).join("");
    const { path, db } = makeArchive("space.db", [
      ...Array.from({ length: 8 }, () => ({ startedAt: NOW - 40 * DAY_MS, answer: noise })),
      { startedAt: NOW },
    ]);
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const before = statSync(path).size;
    pruneRuns(db, { beforeMs: NOW, nowMs: NOW });
    expect(statSync(path).size).toBeLessThan(before / 10);
    db.close();
  });

  test("leaves its mark on the chain, from the beginning or the middle, so that what is missing is known", async () => {
    const ages = [40, 10, 50, 60, 5, 45];
    const { db, runIds } = makeArchive(
      "marks.db",
      ages.map((days) => ({ startedAt: NOW - days * DAY_MS })),
    );
    pruneRuns(db, { beforeMs: NOW - 30 * DAY_MS, nowMs: NOW });
    // The first is where the chain begins now; three more are places in it.
    expect(await verifyArchive(db)).toMatchObject({ runs: 2, pruned: 3, problems: [] });
    expect(db.all(z.unknown(), "SELECT * FROM prunings")).toHaveLength(1);
    storeSample(db, { startedAt: NOW });
    expect((await verifyArchive(db)).problems).toEqual([]);
    expect((await readRun(db, runIds[4] ?? "")).record.run_id).toBe(runIds[4]);
    pruneRuns(db, { beforeMs: NOW + 1, nowMs: NOW });
    expect(await verifyArchive(db)).toMatchObject({ runs: 0, blobs: 0, pruned: 0, problems: [] });
    // The one that says the most is all that is left.
    expect(db.all(z.unknown(), "SELECT * FROM prunings")).toHaveLength(1);
    expect(readStats(db)).toMatchObject({ runs: 0, tools: [], days: [] });
    expect(db.all(z.unknown(), "SELECT * FROM tools")).toEqual([]);
    db.close();
  });

  test("goes through any number of runs", async () => {
    const samples = Array.from({ length: 450 }, () => ({ startedAt: NOW - 40 * DAY_MS, calls: 1 }));
    const { db } = makeArchive("many.db", [...samples, { startedAt: NOW }]);
    expect(pruneRuns(db, { beforeMs: NOW, nowMs: NOW }).runs).toBe(450);
    expect(await verifyArchive(db)).toMatchObject({ runs: 1, problems: [] });
    db.close();
  });
});

describe("keep_days", () => {
  const old = { startedAt: NOW - 31 * DAY_MS, calls: 1 };
  const recent = { startedAt: NOW - 29 * DAY_MS, calls: 1 };

  test("is applied once a day", () => {
    const { db } = makeArchive("daily.db", [old, recent]);
    pruneDaily(db, 30, NOW);
    expect(listRuns(db, { limit: 10 })).toHaveLength(1);
    storeSample(db, old);
    pruneDaily(db, 30, NOW + DAY_MS - 1);
    expect(listRuns(db, { limit: 10 })).toHaveLength(2);
    pruneDaily(db, 30, NOW + DAY_MS);
    expect(listRuns(db, { limit: 10 })).toHaveLength(1);
    db.close();
  });

  test("takes an archive that has fallen behind in steps that nobody waits long for", () => {
    const { db } = makeArchive(
      "behind.db",
      Array.from({ length: 500 }, () => old),
    );
    pruneDaily(db, 30, NOW);
    expect(listRuns(db, { limit: 1_000 })).toHaveLength(100);
    pruneDaily(db, 30, NOW);
    expect(listRuns(db, { limit: 1_000 })).toHaveLength(0);
    db.close();
  });

  test("is applied by a writer, after the run that it archives", async () => {
    const path = at("writer.db");
    const writer = new SqliteArchiveWriter({ path, keepDays: 30 });
    for (const startedAt of [Date.now() - 31 * DAY_MS, Date.now()]) {
      expect(await archiveRun(writer, sampleRun({ startedAt, calls: 1 }))).toMatchObject({ ok: true });
    }
    await writer.close();
    const db = openForReading(path);
    expect(listRuns(db, { limit: 10 })).toHaveLength(1);
    db.close();
  });
});
