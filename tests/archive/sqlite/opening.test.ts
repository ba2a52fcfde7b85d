import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { ArchiveError } from "../../../archive/archive-error.ts";
import { entryDigest } from "../../../archive/chain.ts";
import { dropUnused } from "../../../archive/sqlite/blobs.ts";
import {
  MIGRATIONS,
  migrate,
  openForReading,
  openForWriting,
  versionsBehind,
} from "../../../archive/sqlite/connection.ts";
import { Database } from "../../../archive/sqlite/database.ts";
import { archiveErrorFrom, loadSqlite } from "../../../archive/sqlite/sqlite.ts";
import { readStats } from "../../../archive/sqlite/sqlite-archive-store.ts";
import { makeArchive, refusal, useFolder } from "../made-archives.ts";
import { listRuns, readRun, verifyArchive } from "../on-connection.ts";

const at = useFolder();

const { DatabaseSync } = loadSqlite();
const Head = z.object({ id: z.int(), link: z.string() });
const RecordDigest = z.object({ record_digest: z.string() });
const Id = z.object({ id: z.int() });

/** Makes an archive of some runs as ptc made it before the chain said what was pruned, and by whom runs were begun. */
function openOlder(path: string, runs: number): Database {
  makeArchive(path, runs);
  const db = new Database(path, new DatabaseSync(path));
  for (const column of ["user", "host", "client"]) db.exec(`ALTER TABLE runs DROP COLUMN ${column}`);
  db.exec("DROP INDEX runs_by_principal; DROP TABLE prunings; PRAGMA user_version = 2");
  return db;
}

const fresh = (name: string) => at(name, "archive.db");

describe("a file that is no archive of this ptc's", () => {
  test("is named and left alone when it is another program's, or a newer ptc's", () => {
    const foreign = fresh("foreign");
    mkdirSync(join(foreign, ".."));
    const other = new DatabaseSync(foreign);
    other.exec("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
    other.close();
    const newer = fresh("newer");
    makeArchive(newer);
    const raw = new DatabaseSync(newer);
    raw.exec("PRAGMA user_version = 99");
    raw.close();
    for (const [path, code] of [
      [foreign, "foreign"],
      [newer, "newer"],
    ] as const) {
      const before = readFileSync(path);
      expect(refusal(() => openForWriting(path)).code).toBe(code);
      expect(refusal(() => openForReading(path)).code).toBe(code);
      expect(readFileSync(path).equals(before)).toBe(true);
    }
    expect(refusal(() => openForReading(newer)).message).toMatch(
      new RegExp(`version 99, and this ptc supports at most ${MIGRATIONS.length}: use a newer ptc`),
    );
  });

  test("is reported as damaged when it is no database, and as missing when there is nothing", () => {
    const path = fresh("garbage");
    mkdirSync(join(path, ".."));
    writeFileSync(path, randomBytes(10_000));
    expect(refusal(() => openForWriting(path))).toMatchObject({
      code: "corrupt",
      message: expect.stringMatching(/move it away/),
    });
    expect(refusal(() => openForReading(path)).code).toBe("corrupt");
    expect(refusal(() => openForReading(fresh("nothing"))).code).toBe("missing");
    const empty = fresh("empty");
    mkdirSync(join(empty, ".."));
    writeFileSync(empty, "");
    expect(refusal(() => openForReading(empty)).code).toBe("missing");
  });

  test("is not written to by those who read it", () => {
    const path = fresh("read-only");
    makeArchive(path);
    const db = openForReading(path);
    expect(() => db.exec("DELETE FROM runs")).toThrow(/readonly/);
    db.close();
  });

  test("never passes for whole when any byte of it was changed", { timeout: 180_000 }, async () => {
    const path = fresh("whole");
    const runIds = makeArchive(path, 3);
    const bytes = readFileSync(path);
    const read = async (file: string) => {
      const db = openForReading(file);
      try {
        const { problems } = await verifyArchive(db);
        const runs = [];
        for (const runId of runIds) {
          const run = await readRun(db, runId);
          const outcomes = await Promise.all(run.record.calls.map((call) => run.outcomeOf(call)));
          runs.push([run.record, run.code, run.envelope, outcomes]);
        }
        return { problems, seen: JSON.stringify([runs, listRuns(db, { limit: 10 }), readStats(db)]) };
      } finally {
        db.close();
      }
    };
    const whole = (await read(path)).seen;
    const found = new Set<string>();
    for (let i = 0; i < 300; i++) {
      const damaged = Buffer.from(bytes);
      const at = Math.floor((i / 300) * bytes.length) + (i % 7);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << (i % 8));
      const file = fresh(`damaged-${i}`);
      mkdirSync(join(file, ".."));
      writeFileSync(file, damaged);
      try {
        const { problems, seen } = await read(file);
        if (problems.length === 0) expect(seen).toBe(whole);
        found.add(problems.length > 0 ? "problem" : "harmless");
      } catch (error) {
        expect(error).toBeInstanceOf(ArchiveError);
        found.add((error as ArchiveError).code);
      }
    }
    expect([...found]).toEqual(expect.arrayContaining(["tampered", "corrupt"]));
  });
});

describe("a migration", () => {
  const NEXT = [...MIGRATIONS, "ALTER TABLE meta ADD COLUMN more TEXT"];
  const FAILING = [...NEXT, "CREATE TABLE half (x); CREATE TABLE meta (again)"];

  test("brings an archive up to date without touching its runs, once", async () => {
    const path = fresh("older");
    const [runId = ""] = makeArchive(path);
    const db = openForWriting(path);
    expect(versionsBehind(db, NEXT)).toBe(1);
    migrate(db, NEXT);
    migrate(db, NEXT);
    expect(versionsBehind(db, NEXT)).toBe(0);
    expect((await readRun(db, runId)).code).toBe("run(0)");
    db.close();
  });

  test("says in the chain what was pruned before the chain said so", async () => {
    const path = fresh("pruned");
    const db = openOlder(path, 5);
    const kept = db.get(Head, "SELECT id, link FROM chain_ends WHERE name = 'head'");
    // As versions before did it.
    db.exec(`
      UPDATE chain_ends SET id = 2, link = (SELECT link FROM runs WHERE id = 2) WHERE name = 'start';
      DELETE FROM runs WHERE id IN (1, 2);
    `);
    const { record_digest: recordDigest = "" } =
      db.get(RecordDigest, "SELECT record_digest FROM runs WHERE id = 4") ?? {};
    const entry = entryDigest({ recordDigest, importedAt: null, origin: null });
    db.run("INSERT INTO tombstones VALUES (4, ?, 0)", entry);
    db.exec("DELETE FROM runs WHERE id = 4; DELETE FROM tools WHERE id NOT IN (SELECT tool FROM run_tools)");
    for (const blob of db.all(Id, "SELECT id FROM blobs")) dropUnused(db, new Set([blob.id]));
    db.close();
    const reading = openForReading(path);
    const found = await verifyArchive(reading);
    expect(found).toMatchObject({ runs: 2, pruned: 1, problems: [] });
    expect(found.head).toMatch(/^6:/);
    // A head of before proves nothing of what was pruned, and one of now does.
    expect((await verifyArchive(reading, kept && [kept])).problems).toEqual([
      expect.stringMatching(/^records 1 to 2 are gone, and the entry .* is newer than record 5/),
      expect.stringMatching(/^record 4 is gone, and the entry .* is newer than record 5/),
    ]);
    expect(await verifyArchive(reading, [{ link: found.head.slice(2) }])).toMatchObject({
      problems: [],
      notes: [expect.stringMatching(/^a head without its place/)],
    });
    reading.close();
  });

  test("that fails leaves the version that was there", async () => {
    const path = fresh("failing");
    makeArchive(path);
    const db = openForWriting(path);
    expect(refusal(() => migrate(db, FAILING)).message).toMatch(/already exists/);
    expect(versionsBehind(db, FAILING)).toBe(2);
    expect((await verifyArchive(db)).problems).toEqual([]);
    db.close();
  });
});

describe("an error of SQLite", () => {
  test.each([
    [3, "unwritable", /check its permissions/],
    [5, "busy", /in use by another process/],
    [6, "busy", /in use by another process/],
    [8, "unwritable", /check the permissions/],
    [10, "failed", /check its disk/],
    [11, "corrupt", /is damaged: move it away/],
    [13, "full", /free some space/],
    [14, "unwritable", /check the permissions/],
    [15, "busy", /too often/],
    [18, "unkeepable", /so large/],
    [19, "unkeepable", /conflicts with it/],
    [26, "corrupt", /not a database: move it away/],
    [1, "failed", /cannot be used/],
    [undefined, "failed", /cannot be used/],
  ] as const)("with the code %s is told as %s", (errcode, code, message) => {
    const cause = Object.assign(new Error("said by SQLite"), { errcode });
    expect(archiveErrorFrom(cause, "/a.db")).toMatchObject({ code, message: expect.stringMatching(message) });
    const onFullDisk = archiveErrorFrom(cause, "/a.db", () => true);
    expect(onFullDisk.code).toBe(errcode === 10 ? "full" : code);
    if (errcode === 10)
      expect(onFullDisk.message).toBe(
        "the archive /a.db cannot grow, its disk is full: free some space, or run `ptc runs prune`",
      );
    // Extended result codes have the primary one in their lowest byte.
    if (errcode === undefined) return;
    const extended = Object.assign(new Error("said by SQLite"), { errcode: errcode | (3 << 8) });
    expect(archiveErrorFrom(extended, "/a.db").code).toBe(code);
  });
});

describe("Node's SQLite", () => {
  test("is said to need a newer Node where there is none", () => {
    const error = refusal(() => loadSqlite(() => undefined));
    expect(error).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/needs Node 22\.13 or newer/),
    });
  });

  test("does not tell people that it is experimental, and hides no other warning", () => {
    const { emitWarning } = process;
    const warnings: unknown[] = [];
    process.emitWarning = (warning: string | Error) => void warnings.push(warning);
    try {
      loadSqlite(() => {
        process.emitWarning(
          "SQLite is an experimental feature and might change at any time",
          "ExperimentalWarning",
        );
        process.emitWarning("something else");
        return {};
      });
    } finally {
      process.emitWarning = emitWarning;
    }
    expect(warnings).toEqual(["something else"]);
  });
});
