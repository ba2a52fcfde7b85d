import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { LAST_INSTANT_MS, LONGEST_MS, MAX_CALLS, MAX_COUNT } from "../../../archive/bounds.ts";
import { totalOf } from "../../../archive/run-stats.ts";
import type { Database, SqlValue } from "../../../archive/sqlite/database.ts";
import { deleteRunsById, pruneDaily, pruneRuns } from "../../../archive/sqlite/prune.ts";
import {
  findRunIds,
  findRuns,
  listRunPage,
  readStats,
} from "../../../archive/sqlite/sqlite-archive-store.ts";
import { storeSample, useFolder } from "../made-archives.ts";
import { exportRuns, listAllRuns, readRun, verifyArchive } from "../on-connection.ts";
import { openQuickly } from "../sample-runs.ts";

const at = useFolder();

const NOW = Date.UTC(2030, 5, 1);
const DAY_MS = 24 * 60 * 60 * 1000;
const EXTREMES: SqlValue[] = [2n ** 63n - 1n, -(2n ** 63n), Number.MAX_SAFE_INTEGER, 8.64e15 + 1, -1];

let made = 0;

/** An archive of three runs, the second of which is not as ptc writes it. */
function withDamage(edit: (db: Database, runId: string) => void) {
  const path = at(`${made++}.db`);
  const db = openQuickly(path);
  const runIds = [0, 1, 2].map((i) => storeSample(db, { code: `run(${i})`, startedAt: NOW - DAY_MS + i }));
  edit(db, runIds[1] ?? "");
  return { db, path, runIds };
}

const NUMBERS = [
  ...["started_at", "imported_at", "duration_ms", "calls", "failed_calls"],
  ...["result_bytes", "returned_bytes", "redactions"],
];
const cases = NUMBERS.flatMap((column) => EXTREMES.map((value): [string, SqlValue] => [column, value]));

describe("a row that ptc did not write takes no other run with it", () => {
  test.each(cases)("%s = %s", async (column, value) => {
    const { db, path, runIds } = withDamage((archive, runId) => {
      archive.run(`UPDATE runs SET ${column} = ? WHERE run_id = ?`, value, runId);
      if (column === "started_at") archive.run("UPDATE run_tools SET started_at = ? WHERE run = 2", value);
      if (column === "result_bytes")
        archive.run("UPDATE run_tools SET result_bytes = ? WHERE run = 2", value);
    });
    const [first = "", bad = "", last = ""] = runIds;
    const sound = [last, first];

    const { runs, damaged } = listRunPage(db, { limit: 10 });
    expect(runs.map(({ run_id }) => run_id)).toEqual(expect.arrayContaining(sound));
    expect(runs.length + damaged.length).toBe(3);
    for (const { runId, message } of damaged) {
      expect(runId).toBe(bad);
      expect(message).toMatch(
        new RegExp(`^run ${bad} is not as it was archived: its row holds a wrong ${column}`),
      );
    }
    for (const pageSize of [1, 2, 3]) {
      const named: string[] = [];
      const listed = await listAllRuns(db, {}, ({ runId }) => void named.push(runId), pageSize);
      expect([...listed.map(({ run_id }) => run_id), ...named].sort()).toEqual([...runIds].sort());
    }

    await expect(readRun(db, bad)).rejects.toThrow(expect.objectContaining({ code: "tampered" }));
    for (const runId of sound) expect((await readRun(db, runId)).record.run_id).toBe(runId);
    expect(findRunIds(db, bad)).toEqual([bad]);
    if (damaged.length > 0) expect(() => findRuns(db, bad)).toThrow(/is not as it was archived/);

    const stats = readStats(db);
    expect(stats.runs + stats.undated).toBe(3);
    expect(JSON.stringify(stats)).not.toContain("null");
    const { result_bytes, kept_bytes, duration_ms } = stats.total;
    for (const sum of [
      result_bytes,
      kept_bytes,
      duration_ms,
      ...stats.tools.map((each) => each.result_bytes),
    ])
      expect(sum).toBeLessThan(1e9);
    expect((await verifyArchive(db)).problems.join("\n")).toContain(bad);

    const file = `${path}.ptc`;
    expect(await exportRuns(db, runIds, file)).toMatchObject({
      exported: [first, last],
      damaged: [{ runId: bad }],
    });
    expect(existsSync(file)).toBe(true);

    pruneDaily(db, 30, NOW);
    expect(pruneRuns(db, { beforeMs: NOW - 2 * DAY_MS, nowMs: NOW }).runs).toBeLessThanOrEqual(1);
    for (const runId of sound) expect((await readRun(db, runId)).record.run_id).toBe(runId);
    expect(pruneRuns(db, { beforeMs: Number.POSITIVE_INFINITY, nowMs: NOW }).runs).toBeGreaterThanOrEqual(2);
    expect(readStats(db)).toMatchObject({ runs: 0, undated: 0 });
    db.close();
  });

  const bytes = (calls: number) => calls * MAX_COUNT;
  test.each<[column: string, least: number, most: number, calls?: number]>([
    ["started_at", 0, LAST_INSTANT_MS],
    ["duration_ms", 0, LONGEST_MS],
    ["returned_bytes", 0, Number.MAX_SAFE_INTEGER],
    ["calls", 0, MAX_CALLS, MAX_CALLS],
    ["failed_calls", 0, 2, 2],
    ["result_bytes", 0, bytes(2), 2],
  ])("counts up to the bounds of what a run can have, and no further: %s", (column, least, most, calls) => {
    for (const value of [least, most, BigInt(most) + 1n, -1]) {
      const { db } = withDamage((archive, runId) => {
        archive.run("UPDATE runs SET failed_calls = 0, result_bytes = 0 WHERE run_id = ?", runId);
        if (calls !== undefined) archive.run("UPDATE runs SET calls = ? WHERE run_id = ?", calls, runId);
        archive.run(`UPDATE runs SET ${column} = ? WHERE run_id = ?`, value, runId);
      });
      const isSound = value === least || value === most;
      expect(readStats(db), `${value}`).toMatchObject({ runs: isSound ? 3 : 2, undated: isSound ? 0 : 1 });
      db.close();
    }
  });

  test("and sums stop at the largest number that is exact", () => {
    const once = { runs: 1, failed: 1, calls: 2, duration_ms: 3, result_bytes: 4, kept_bytes: 5 };
    const day = { day: "2030-01-01", ...once };
    const twice = { runs: 2, failed: 2, calls: 4, duration_ms: 6, result_bytes: 8, kept_bytes: 10 };
    expect([totalOf([day]), totalOf([day, day])]).toEqual([once, twice]);
    expect(totalOf([{ ...day, calls: Number.MAX_SAFE_INTEGER - 1 }, day, day]).calls).toBe(
      Number.MAX_SAFE_INTEGER,
    );
  });

  test("and is deleted by its name", async () => {
    const { db, runIds } = withDamage((archive, runId) => {
      const update = "UPDATE runs SET started_at = ?, imported_at = ? WHERE run_id = ?";
      archive.run(update, 2n ** 62n, 2n ** 62n, runId);
    });
    expect(deleteRunsById(db, findRunIds(db, (runIds[1] ?? "").slice(0, 8)), NOW)).toMatchObject({ runs: 1 });
    expect(listRunPage(db, { limit: 10 })).toMatchObject({ damaged: [], runs: [{}, {}] });
    const runId = storeSample(db, { code: "after()" });
    expect((await readRun(db, runId)).code).toBe("after()");
    db.close();
  });

  test("nor a place in the chain that no number holds", async () => {
    const { db } = withDamage((archive) => {
      archive.exec("PRAGMA foreign_keys = OFF");
      archive.run("UPDATE runs SET id = ? WHERE id = 2", 2n ** 60n);
    });
    expect((await verifyArchive(db)).problems.join("\n")).toMatch(/its row holds a wrong id/);
    db.close();
  });
});

describe("a run that says it started in the future", () => {
  const later = NOW + 1_000 * DAY_MS;

  test("is listed, counted and checked like any other", async () => {
    const { db } = withDamage(() => {});
    const runId = storeSample(db, { startedAt: Date.UTC(9999, 11, 31, 23, 59, 59, 999) });
    expect(listRunPage(db, { limit: 1 }).runs).toMatchObject([{ run_id: runId }]);
    expect(readStats(db).days.map(({ day }) => day)).toEqual(["2030-05-31", "9999-12-31"]);
    expect((await verifyArchive(db)).problems).toEqual([]);
    db.close();
  });

  test("is as old as its import where it was imported, and else not old before that time has come", () => {
    const { db, runIds } = withDamage((archive) => {
      archive.run("UPDATE runs SET started_at = ?", later);
    });
    db.run("UPDATE runs SET imported_at = ? WHERE run_id = ?", NOW - 40 * DAY_MS, runIds[0] ?? "");
    expect(pruneRuns(db, { beforeMs: NOW - 40 * DAY_MS, nowMs: NOW }).runs).toBe(0);
    expect(pruneRuns(db, { beforeMs: NOW - 30 * DAY_MS, nowMs: NOW }).runs).toBe(1);
    expect(pruneRuns(db, { beforeMs: later, nowMs: later }).runs).toBe(0);
    expect(pruneRuns(db, { beforeMs: later + 1, nowMs: later }).runs).toBe(2);
    db.close();
  });
});
