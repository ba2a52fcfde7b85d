import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openForReading, openForWriting } from "../../../archive/sqlite/connection.ts";
import { loadSqlite } from "../../../archive/sqlite/sqlite.ts";
import { storeRun } from "../../../archive/sqlite/store-run.ts";
import { SqliteArchiveWriter } from "../../../archive/sqlite/writer/sqlite-archive-writer.ts";
import { archiveRun, makeArchive, refusal, useFolder } from "../made-archives.ts";
import { listRuns, readRun, verifyArchive } from "../on-connection.ts";
import { sampleRun } from "../sample-runs.ts";
import { mountSmallDisk } from "./small-disk.ts";

const at = useFolder();

const { DatabaseSync } = loadSqlite();
const fresh = (name: string) => at(name, "archive.db");

describe("an archive that cannot be written", () => {
  test("because its disk is full fails that run in one line, keeps the others, and takes runs again", async (context) => {
    const disk = mountSmallDisk(4);
    if (disk === undefined) return context.skip("no small disk can be mounted here");
    try {
      const path = join(disk.path, "private/archive.db");
      const writer = new SqliteArchiveWriter({ path, keepDays: 30 });
      const before = sampleRun();
      expect(await archiveRun(writer, before)).toMatchObject({ ok: true });
      const noise = randomBytes(600_000).toString("base64");
      const large = sampleRun({
        calls: 8,
        answer: (seq) => `${seq}${noise}${seq}`.split("").reverse().join(""),
      });
      const result = await archiveRun(writer, large);
      expect(result).toMatchObject({
        ok: false,
        message: expect.stringMatching(/disk is full: .*`ptc runs prune`/),
      });
      const after = sampleRun();
      expect(await archiveRun(writer, after)).toMatchObject({ ok: true });
      await writer.close();
      const db = openForReading(path);
      expect(await verifyArchive(db)).toMatchObject({ problems: [], runs: 2 });
      for (const { run } of [before, after])
        expect((await readRun(db, run.facts.run_id)).code).toBe(run.code);
      db.close();
    } finally {
      disk.remove();
    }
  });

  test("because its disk is read-only says so, and can still be read", async (context) => {
    const disk = mountSmallDisk(2);
    if (disk === undefined) return context.skip("no small disk can be mounted here");
    try {
      const path = join(disk.path, "archive.db");
      const [runId = ""] = makeArchive(path);
      disk.makeReadOnly();
      const writer = new SqliteArchiveWriter({ path, keepDays: 30 });
      const result = await archiveRun(writer, sampleRun());
      expect(result).toMatchObject({
        ok: false,
        message: expect.stringMatching(/cannot be (?:written|opened).*permissions/),
      });
      await writer.close();
      const db = openForReading(path);
      expect((await readRun(db, runId)).code).toBe("run(0)");
      db.close();
    } finally {
      disk.remove();
    }
  });

  test("because another process keeps it locked says so, and waits its turn before that", async () => {
    const path = fresh("locked");
    makeArchive(path);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const db = openForWriting(path, { busyTimeoutMs: 50 });
    const { run, calls } = sampleRun();
    expect(refusal(() => storeRun(db, run, calls))).toMatchObject({
      code: "busy",
      message: expect.stringMatching(/in use by another process/),
    });
    expect(listRuns(db, { limit: 10 })).toHaveLength(1);
    other.exec("COMMIT");
    other.close();
    storeRun(db, run, calls);
    expect(await verifyArchive(db)).toMatchObject({ runs: 2, problems: [] });
    db.close();
  });
});
