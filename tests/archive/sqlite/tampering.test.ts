import { randomUUID } from "node:crypto";
import { copyFileSync } from "node:fs";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { brotliCompressSync } from "node:zlib";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ArchiveError } from "../../../archive/archive-error.ts";
import type { KeptHead } from "../../../archive/archive-store.ts";
import { type ArchivedRun, readContents } from "../../../archive/archived-run.ts";
import { buildRecord } from "../../../archive/build-record.ts";
import { entryDigest, linkTo, pruningDigest } from "../../../archive/chain.ts";
import { summarizeRun } from "../../../archive/run-summary.ts";
import { putBlob, readBlob } from "../../../archive/sqlite/blobs.ts";
import { openForReading } from "../../../archive/sqlite/connection.ts";
import type { Database } from "../../../archive/sqlite/database.ts";
import { deleteRunsById, pruneRuns } from "../../../archive/sqlite/prune.ts";
import { loadSqlite } from "../../../archive/sqlite/sqlite.ts";
import { appendRun } from "../../../archive/sqlite/store-run.ts";
import { canonicalJson, textDigest } from "../../../protocol/canonical-json.ts";
import { programFile } from "../../../protocol/program-files.ts";
import { parseHead, storeSample, useFolder } from "../made-archives.ts";
import { readRun, verifyArchive } from "../on-connection.ts";
import { openQuickly, sampleRun } from "../sample-runs.ts";

const at = useFolder();
const original = at("original.db");
const NO_DIGEST = `sha256:${"0".repeat(64)}`;
const EVERYTHING = { beforeMs: Number.POSITIVE_INFINITY, nowMs: 1 };
let runIds: string[];
/** The second of three runs: the one that is tampered with. */
let victim: ArchivedRun;
let runId: string;
/** The head of the whole archive, kept elsewhere. */
let kept: KeptHead & { id: number };

beforeAll(async () => {
  const db = openQuickly(original);
  runIds = [0, 1, 2].map((i) =>
    storeSample(db, {
      ...{ code: `run(${i})`, data: { i }, calls: 4 },
      files: [programFile("data.csv", Buffer.from(`row ${i}\n`.repeat(200)))],
      answer: (seq) => `answer ${i}.${seq} `.repeat(seq === 3 ? 500 : 1),
    }),
  );
  runId = runIds[1] ?? "";
  victim = await readRun(db, runId);
  kept = parseHead((await verifyArchive(db)).head);
  db.close();
});

/** An edit by somebody who has read how an archive is written. */
type Edit = (db: DatabaseSync) => void;

function edit(path: string, change: Edit): void {
  const raw = new (loadSqlite().DatabaseSync)(path);
  raw.exec("PRAGMA foreign_keys = OFF");
  change(raw);
  raw.close();
}

/** A copy of the archive that was edited, open until the test ends. */
function edited(change: Edit, open: (path: string) => Database = openQuickly): Database {
  const path = at(`${randomUUID()}.db`);
  copyFileSync(original, path);
  edit(path, change);
  const db = open(path);
  onTestFinished(() => db.close());
  return db;
}

const problemsOf = async (db: Database, heads?: readonly KeptHead[]) =>
  (await verifyArchive(db, heads)).problems;

/** What is found wrong after an edit: on reading the run, and on checking the whole archive. */
async function tamper(change: Edit): Promise<{ read: string; verify: string }> {
  const db = edited(change, openForReading);
  const verify = (await problemsOf(db)).join("\n");
  const error = await readRun(db, runId).catch((problem: unknown) => problem);
  if (!(error instanceof Error)) return { read: "", verify };
  expect(error).toBeInstanceOf(ArchiveError);
  if ((error as ArchiveError).code === "missing") return { read: error.message, verify };
  expect(error).toMatchObject({ code: "tampered" });
  expect(error.message).toMatch(new RegExp(`^run ${runId} is not as it was archived: .*; do not trust it$`));
  return { read: error.message, verify };
}

const bytesOf = (digest: string) => Buffer.from(digest.slice("sha256:".length), "hex");
const run = (db: DatabaseSync, sql: string, ...values: SQLInputValue[]) =>
  void db.prepare(sql).run(...values);
const callAt = (seq: number) => {
  const call = victim.record.calls[seq];
  if (call === undefined) throw new Error(`a sample has no call ${seq}`);
  return call;
};

/** Puts another text where a digest is. */
function rewrite(db: DatabaseSync, digest: Buffer, json: string): void {
  const compressed = json.length > 512;
  const content = compressed ? brotliCompressSync(json) : Buffer.from(json);
  const values = [content, Buffer.byteLength(json), compressed ? 1 : 0, digest];
  run(db, "UPDATE blobs SET content = ?, size = ?, codec = ? WHERE digest = ?", ...values);
}

function turnBit(db: DatabaseSync, digest: Buffer): void {
  const row = db.prepare("SELECT content FROM blobs WHERE digest = ?").get(digest);
  const content = Buffer.from(row?.content as Uint8Array);
  content[content.length >> 1] = (content[content.length >> 1] ?? 0) ^ 4;
  run(db, "UPDATE blobs SET content = ? WHERE digest = ?", content, digest);
}

/** Replaces the record of the victim by one that is whole in itself. */
function replaceRecord(db: DatabaseSync): string {
  const json = canonicalJson({ ...victim.record, file_name: "other.ts" });
  const digest = textDigest(json);
  const values = [Buffer.from(json), Buffer.byteLength(json), bytesOf(digest), bytesOf(victim.recordDigest)];
  run(db, "UPDATE blobs SET content = ?, size = ?, codec = 0, digest = ? WHERE digest = ?", ...values);
  run(db, "UPDATE runs SET record_digest = ? WHERE run_id = ?", digest, runId);
  return digest;
}

test("a file whose bytes are not those that the record says is found", async () => {
  const files = victim.record.files?.map((file) => ({ ...file, digest: textDigest("another") }));
  const db = openForReading(original);
  const read = async (digest: string) => readBlob(db, digest);
  expect((await readContents(victim.record, read)).files[0]?.name).toBe("data.csv");
  await expect(readContents({ ...victim.record, files }, read)).rejects.toThrow(
    "the file 'data.csv' is not the one that the program was handed",
  );
  db.close();
});

const VALUES: [name: string, digest: () => string][] = [
  ["the code", () => victim.record.code],
  ["the data", () => victim.record.data],
  ["the console", () => victim.record.console],
  ["the file 'data.csv'", () => victim.record.files?.[0]?.content ?? ""],
  ["the envelope", () => victim.record.envelope],
  ["the environment", () => victim.record.environment],
  ["the record", () => victim.recordDigest],
  ["call 3 (mcp__math__add): the arguments blob", () => callAt(2).arguments],
  // One that is stored as it is, and one that is compressed.
  ["call 1 (mcp__math__add): the outcome blob", () => callAt(0).outcome],
  ["call 4 (mcp__math__add): the outcome blob", () => callAt(3).outcome],
];

const OTHER = "does not match its digest";
const resized = (set: string, said = OTHER): [string, (db: DatabaseSync, digest: Buffer) => void, string] => [
  `said to be of ${set}`,
  (db, digest) => run(db, `UPDATE blobs SET ${set} WHERE digest = ?`, digest),
  said,
];

describe.each<[how: string, change: (db: DatabaseSync, digest: Buffer) => void, said: string]>([
  ["edited", (db, digest) => rewrite(db, digest, '{"ok":true,"data":"something else"}'), OTHER],
  ["changed in one bit", turnBit, OTHER],
  ["removed", (db, digest) => run(db, "DELETE FROM blobs WHERE digest = ?", digest), "is missing"],
  resized("size = size - 1"),
  resized("size = 1 << 40", "is too large"),
  resized("codec = 7"),
  resized("codec = 1 - codec"),
])("a value that was %s is found and named:", (_, change, said) => {
  test.each(VALUES)("%s", async (name, digest) => {
    const { read, verify } = await tamper((db) => change(db, bytesOf(digest())));
    expect(read).toContain(`${name} ${said}`);
    expect(verify).toContain(`${name} ${said}`);
  });
});

const NOT_IN_CHAIN = /the digest of the record is not the one in the chain/;
const IN_CHAIN = ["record_digest", "previous", "link", "imported_at", "origin"];
const IN_RECORD = [
  ...["input_digest", "started_at", "source", "principal", "client_session", "user", "host", "client"],
  ...["status", "duration_ms", "calls", "failed_calls", "result_bytes", "returned_bytes", "redactions"],
  ...["file_name", "title"],
];

test("the columns that are edited here are all that there are", () => {
  const raw = new (loadSqlite().DatabaseSync)(original);
  const columns = raw.prepare("SELECT name FROM pragma_table_info('runs')").all();
  raw.close();
  const covered = ["id", "run_id", ...IN_CHAIN, ...IN_RECORD];
  expect(columns.map((column) => column.name).sort()).toEqual(covered.sort());
});

const inColumn = (column: string, named: RegExp): [string, Edit, RegExp] => {
  const isNumber = /^(?:imported_at|started_at|duration_ms|.*calls|.*bytes|redactions)$/.test(column);
  const value = isNumber ? `coalesce(${column}, 0) + 1` : `coalesce(${column}, '') || 'x'`;
  return [column, (db) => run(db, `UPDATE runs SET ${column} = ${value} WHERE run_id = ?`, runId), named];
};
const sql =
  (statements: string): Edit =>
  (db) =>
    db.exec(statements);

test.each<[name: string, change: Edit, named: RegExp]>([
  ...IN_CHAIN.map((column) => inColumn(column, NOT_IN_CHAIN)),
  ...IN_RECORD.map((column) => inColumn(column, new RegExp(`the column ${column} differs from the record`))),
  ["a record that is whole in itself", replaceRecord, NOT_IN_CHAIN],
  [
    "counts of a tool",
    sql("UPDATE run_tools SET calls = calls + 1 WHERE run = 2"),
    /the counts of its calls/,
  ],
  ["counts of a tool, removed", sql("DELETE FROM run_tools WHERE run = 2"), /the counts of its calls/],
  ["name of a tool", sql("UPDATE tools SET name = 'mcp__math__sub'"), /the counts of its calls/],
  ["references", sql("DELETE FROM run_blobs WHERE run = 2"), /the list of its references/],
  [
    "references to more",
    sql("UPDATE OR IGNORE run_blobs SET run = 2 WHERE run = 3"),
    /the list of its references/,
  ],
  [
    "two outcomes, swapped",
    (db) => {
      const digests = [0, 1].map((seq) => bytesOf(callAt(seq).outcome));
      const rows = digests.map((digest) =>
        db.prepare("SELECT content, size, codec FROM blobs WHERE digest = ?").get(digest),
      );
      for (const [index, digest] of digests.entries()) {
        const values = Object.values(rows[1 - index] ?? {});
        run(db, "UPDATE blobs SET content = ?, size = ?, codec = ? WHERE digest = ?", ...values, digest);
      }
    },
    /call 1 \(mcp__math__add\): the outcome blob does not match its digest/,
  ],
])("a row that was edited is found and named: %s", async (_, change, named) => {
  const { read, verify } = await tamper(change);
  expect(read).toMatch(named);
  expect(verify).toMatch(named);
});

test("a record that was replaced does not fit what comes after it, even with a link of its own", async () => {
  const { read, verify } = await tamper((db) => {
    const recordDigest = replaceRecord(db);
    const row = db.prepare("SELECT previous FROM runs WHERE run_id = ?").get(runId);
    const entry = entryDigest({ recordDigest, importedAt: null, origin: null });
    const link = linkTo(row?.previous as string, entry);
    run(db, "UPDATE runs SET link = ?, file_name = 'other.ts' WHERE run_id = ?", link, runId);
  });
  expect(read).toMatch(/the chain does not continue from its record/);
  expect(verify).toMatch(/record 3 does not follow the one before it/);
});

describe("the chain shows what was taken out, whatever the archive says of its beginning or of pruning:", () => {
  test.each<[name: string, change: Edit, named: RegExp]>([
    ["a run id that was edited", inColumn("run_id", /./)[1], /the column run_id|the counts of/],
    ["a record removed from the middle", sql("DELETE FROM runs WHERE id = 2"), /record 2 is missing/],
    ["the newest record removed", sql("DELETE FROM runs WHERE id = 3"), /record 3 is missing/],
    ["all records removed", sql("DELETE FROM runs"), /records 1 to 3 are missing/],
    [
      "records in another order",
      // All rows at once: ids are unique.
      sql("UPDATE runs SET id = -id; UPDATE runs SET id = CASE id WHEN -1 THEN 1 ELSE 5 + id END"),
      /record 2 does not follow/,
    ],
    [
      "a head that is not the newest",
      sql("UPDATE chain_ends SET link = 'sha256:0' WHERE name = 'head'"),
      /the chain/,
    ],
    [
      "a blob of nobody's",
      sql("INSERT INTO blobs VALUES (99, x'00', 0, 1, x'31')"),
      /blob sha256:00 belongs to no run/,
    ],
    [
      "a blob that was changed while it is held for a run under way",
      sql("INSERT INTO blobs VALUES (99, x'00', 0, 1, x'31'); INSERT INTO held_blobs VALUES ('a', 99, 0)"),
      /^the blob sha256:00 does not match its digest$/,
    ],
    [
      "records removed from the beginning, wherever the archive says that it begins",
      (db) => removeBeginning(db, 2),
      /^records 1 to 2 are gone, and nothing in the chain says that ptc pruned them$/m,
    ],
    [
      "a record in whose place its entry was put, as if it had been pruned",
      (db) => {
        const row = db.prepare("SELECT record_digest FROM runs WHERE id = 2").get();
        const recordDigest = row?.record_digest as string;
        const entry = entryDigest({ recordDigest, importedAt: null, origin: null });
        run(db, "INSERT INTO tombstones VALUES (2, ?, 0)", entry);
        removeRuns(db, "= 2");
      },
      /^record 2 is gone, and nothing in the chain says that ptc pruned it$/,
    ],
    ["nothing, where nothing was done", () => {}, /^$/],
  ])("%s", async (_, change, named) => expect((await tamper(change)).verify).toMatch(named));

  test.each<[name: string, change: Edit, problem: string]>([
    [
      "records removed from the beginning where all later ones were moved up",
      (db) => {
        removeBeginning(db, 2);
        moveUp(db, 2);
      },
      "the chain does not begin with its first record: what came before was cut off",
    ],
    [
      "what was removed",
      (db) => removeBeginning(db, 1),
      "record 1 is gone, and nothing in the chain says that ptc pruned it",
    ],
  ])("%s, also after ptc has pruned more", async (_, change, problem) => {
    const db = edited(change);
    expect(await problemsOf(db)).toEqual([problem]);
    pruneRuns(db, EVERYTHING);
    expect(await problemsOf(db)).toEqual([problem]);
  });

  test("what was removed at place 1,000 and after", async () => {
    const db = openQuickly(at("long.db"));
    db.transaction(() => {
      for (let i = 0; i < 1_003; i++) {
        const { run } = sampleRun({ code: `run(${i})`, calls: 0 });
        const blobs = new Set<number>();
        const record = buildRecord(run, [], (json) => {
          const { digest, id } = putBlob(db, json);
          blobs.add(id);
          return digest;
        });
        appendRun(db, record, summarizeRun(record, run), blobs);
      }
    });
    expect(await verifyArchive(db)).toMatchObject({ runs: 1_003, problems: [] });
    db.run("DELETE FROM runs WHERE id = 1001");
    expect(await problemsOf(db)).toContain("record 1001 is missing");
    db.close();
  });
});

describe("a head that was kept elsewhere", () => {
  test("proves the newest records, which nothing on the same disk does", async () => {
    const db = edited((raw) => {
      raw.exec(
        "UPDATE chain_ends SET id = 2, link = (SELECT link FROM runs WHERE id = 2) WHERE name = 'head'",
      );
      removeRuns(raw, "= 3");
    });
    expect(await verifyArchive(db)).toMatchObject({
      problems: [],
      notes: [expect.stringMatching(/^nothing in the archive can show/)],
    });
    expect(await problemsOf(db, [kept])).toEqual(["record 3 is missing"]);
    expect(await problemsOf(db, [{ link: kept.link }])).toEqual([
      expect.stringContaining("is the link of no record"),
    ]);
  });

  test("proves the beginning, also against an entry that says that ptc pruned it", async () => {
    const { id, link } = kept;
    const db = edited((raw) => {
      removeBeginning(raw, 2);
      const pruning = { at: 1, through: 2, pruned: [] };
      run(raw, "INSERT INTO prunings VALUES (?, ?, ?)", id + 1, link, canonicalJson(pruning));
      const head = [id + 1, linkTo(link, pruningDigest(pruning))];
      run(raw, "UPDATE chain_ends SET id = ?, link = ? WHERE name = 'head'", ...head);
    });
    expect(await problemsOf(db)).toEqual([]);
    expect(await problemsOf(db, [kept])).toEqual([
      expect.stringMatching(/^records 1 to 2 are gone, and the entry that says .* is newer than record 3/),
    ]);
  });

  test("proves the beginning where ptc has pruned some of it, and all later records were moved up over more", async () => {
    let db = edited(() => {});
    deleteRunsById(db, runIds.slice(0, 1), 1);
    const head = parseHead((await verifyArchive(db)).head);
    expect(await verifyArchive(db, [head])).toMatchObject({ problems: [], notes: [] });
    edit(db.path, (raw) => {
      removeBeginning(raw, 2);
      moveUp(raw, 1);
    });
    db = openQuickly(db.path);
    expect(await problemsOf(db, [head])).toEqual(["record 4 is missing"]);
    expect(await verifyArchive(db, [{ link: head.link }])).toMatchObject({
      problems: [],
      notes: ["a head without its place cannot show whether only pruned records are missing before it"],
    });
    db.close();
  });

  test("of another chain is told as that", async () => {
    expect(
      await problemsOf(
        edited(() => {}),
        [{ ...kept, link: NO_DIGEST }],
      ),
    ).toEqual(["record 3 is not the one whose head was kept: the chain was written anew"]);
  });

  test("covers what ptc pruned before it, and one of before is told as gone", async () => {
    const db = edited(() => {});
    pruneRuns(db, EVERYTHING);
    const early = { id: 1, link: NO_DIGEST };
    const now = parseHead((await verifyArchive(db)).head);
    expect(await verifyArchive(db, [now])).toMatchObject({ problems: [], notes: [] });
    expect(await verifyArchive(db, [early, now])).toMatchObject({
      problems: [],
      notes: ["record 1 was pruned, and can no longer be compared"],
    });
    expect(await problemsOf(db, [early])).toEqual([expect.stringContaining("is newer than record 1")]);
  });
});

/** Removes the first records, and has the archive say that it begins after them. */
function removeBeginning(db: DatabaseSync, count: number): void {
  db.exec(`UPDATE chain_ends SET id = ${count}, link = (SELECT link FROM runs WHERE id = ${count})
    WHERE name = 'start'`);
  removeRuns(db, `<= ${count}`);
}

/** Removes runs with all that only they have. */
function removeRuns(db: DatabaseSync, which: string): void {
  db.exec(`
    DELETE FROM runs WHERE id ${which}; DELETE FROM run_blobs WHERE run ${which};
    DELETE FROM run_tools WHERE run ${which};
    DELETE FROM blobs WHERE id NOT IN (SELECT blob FROM run_blobs);
    DELETE FROM tools WHERE id NOT IN (SELECT tool FROM run_tools);
  `);
}

/** Gives all that is left of a chain other places, so that nothing seems to be missing. */
function moveUp(db: DatabaseSync, by: number): void {
  db.exec(`
    UPDATE runs SET id = id - ${by}; UPDATE run_blobs SET run = run - ${by};
    UPDATE run_tools SET run = run - ${by}; UPDATE prunings SET id = id - ${by};
    UPDATE chain_ends SET id = id - ${by};
  `);
}
