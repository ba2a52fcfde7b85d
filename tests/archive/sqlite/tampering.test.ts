import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { brotliCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ArchiveError } from "../../../archive/archive-error.ts";
import type { KeptHead } from "../../../archive/archive-store.ts";
import type { ArchivedRun } from "../../../archive/archived-run.ts";
import { readContents } from "../../../archive/archived-run.ts";
import { buildRecord } from "../../../archive/build-record.ts";
import { entryDigest, linkTo, pruningDigest } from "../../../archive/chain.ts";
import { summarizeRun } from "../../../archive/run-summary.ts";
import { putBlob, readBlob } from "../../../archive/sqlite/blobs.ts";
import { deleteRunsById, pruneRuns } from "../../../archive/sqlite/changes/prune.ts";
import { appendRun, storeRun } from "../../../archive/sqlite/changes/store-run.ts";
import { openForReading } from "../../../archive/sqlite/file/connection.ts";
import { loadSqlite } from "../../../archive/sqlite/file/sqlite.ts";
import { canonicalJson, textDigest } from "../../../protocol/canonical-json.ts";
import { programFile } from "../../../protocol/program-files.ts";
import { readRun, verifyArchive } from "../on-connection.ts";
import { openQuickly, sampleRun, temporaryFolder } from "../sample-runs.ts";

const folder = temporaryFolder();
afterAll(folder.remove);

const original = join(folder.path, "original.db");
const runIds: string[] = [];
/** The second of three runs: the one that is tampered with. */
let victim: ArchivedRun;
let runId: string;

beforeAll(async () => {
  const db = openQuickly(original);
  for (let i = 0; i < 3; i++) {
    const { run, calls } = sampleRun({
      code: `run(${i})`,
      data: { i },
      files: [programFile("data.csv", Buffer.from(`row ${i}\n`.repeat(200)))],
      calls: 4,
      answer: (seq) => `answer ${i}.${seq} `.repeat(seq === 3 ? 500 : 1),
    });
    storeRun(db, run, calls);
    runIds.push(run.facts.run_id);
  }
  runId = runIds[1] ?? "";
  victim = await readRun(db, runId);
  db.close();
});

/** What is found wrong after an edit: on reading the run, and on checking the whole archive. */
async function tamper(
  name: string,
  change: (db: DatabaseSync) => void,
): Promise<{ read: string; verify: string }> {
  const path = join(folder.path, `${name.replaceAll(/\W+/g, "-")}.db`);
  copyFileSync(original, path);
  edit(path, change);
  const db = openForReading(path);
  try {
    const verify = (await verifyArchive(db)).problems.join("\n");
    let read = "";
    try {
      await readRun(db, runId);
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      if (error.code === "missing") return { read: error.message, verify };
      expect(error.code).toBe("tampered");
      expect(error.message).toMatch(
        new RegExp(`^run ${runId} is not as it was archived: .*; do not trust it$`),
      );
      read = error.message;
    }
    return { read, verify };
  } finally {
    db.close();
  }
}

function edit(path: string, change: (db: DatabaseSync) => void): void {
  const { DatabaseSync } = loadSqlite();
  const raw = new DatabaseSync(path);
  raw.exec("PRAGMA foreign_keys = OFF");
  change(raw);
  raw.close();
}

const bytesOf = (digest: string) => Buffer.from(digest.slice("sha256:".length), "hex");
const callAt = (seq: number) => {
  const call = victim.record.calls[seq];
  if (call === undefined) throw new Error(`a sample has no call ${seq}`);
  return call;
};

/** Puts another text where a digest is, as somebody would who knows how blobs are stored. */
function rewrite(db: DatabaseSync, digest: string, json: string): void {
  const compressed = json.length > 512;
  const content = compressed ? brotliCompressSync(json) : Buffer.from(json);
  db.prepare("UPDATE blobs SET content = ?, size = ?, codec = ? WHERE digest = ?").run(
    content,
    Buffer.byteLength(json),
    compressed ? 1 : 0,
    bytesOf(digest),
  );
}

/** Replaces the record of the victim by one that is whole in itself. */
function replaceRecord(db: DatabaseSync, change: object): string {
  const json = canonicalJson({ ...victim.record, ...change });
  const digest = textDigest(json);
  db.prepare("UPDATE blobs SET content = ?, size = ?, codec = 0, digest = ? WHERE digest = ?").run(
    Buffer.from(json),
    Buffer.byteLength(json),
    bytesOf(digest),
    bytesOf(victim.recordDigest),
  );
  db.prepare("UPDATE runs SET record_digest = ? WHERE run_id = ?").run(digest, runId);
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

describe("a value that was changed is found and named", () => {
  const values: [name: string, digest: () => string, named: RegExp][] = [
    ["program", () => victim.record.code, /the code does not match its digest/],
    ["data", () => victim.record.data, /the data does not match its digest/],
    ["console text", () => victim.record.console, /the console does not match its digest/],
    ["file", () => victim.record.files?.[0]?.content ?? "", /the file 'data\.csv' does not match its digest/],
    ["envelope", () => victim.record.envelope, /the envelope does not match its digest/],
    ["environment", () => victim.record.environment, /the environment does not match its digest/],
    ["record", () => victim.recordDigest, /the record does not match its digest/],
    [
      "arguments",
      () => callAt(2).arguments,
      /call 3 \(mcp__math__add\): the arguments blob does not match its digest/,
    ],
    [
      "small outcome",
      () => callAt(0).outcome,
      /call 1 \(mcp__math__add\): the outcome blob does not match its digest/,
    ],
    [
      "compressed outcome",
      () => callAt(3).outcome,
      /call 4 \(mcp__math__add\): the outcome blob does not match its digest/,
    ],
  ];

  test.each(values)("%s, edited", async (name, digest, named) => {
    const edit = (db: DatabaseSync) => rewrite(db, digest(), '{"ok":true,"data":"something else"}');
    const { read, verify } = await tamper(`edited ${name}`, edit);
    expect(read).toMatch(named);
    expect(verify).toMatch(named);
  });

  test.each(values)("%s, with one bit turned over", async (name, digest, named) => {
    const { read } = await tamper(`bit of ${name}`, (db) => {
      const row = db.prepare("SELECT content FROM blobs WHERE digest = ?").get(bytesOf(digest()));
      const content = Buffer.from(row?.content as Uint8Array);
      content[content.length >> 1] = (content[content.length >> 1] ?? 0) ^ 4;
      db.prepare("UPDATE blobs SET content = ? WHERE digest = ?").run(content, bytesOf(digest()));
    });
    expect(read).toMatch(named);
  });

  test.each(values)("%s, removed", async (name, digest, named) => {
    const missing = new RegExp(named.source.replace("does not match its digest", "is missing"));
    const { read, verify } = await tamper(`removed ${name}`, (db) => {
      db.prepare("DELETE FROM blobs WHERE digest = ?").run(bytesOf(digest()));
    });
    expect(read).toMatch(missing);
    expect(verify).toMatch(missing);
  });

  test.each(values)("%s, said to be another size or to be packed otherwise", async (name, digest) => {
    for (const edit of ["size = size - 1", "size = 1 << 40", "codec = 7", "codec = 1 - codec"]) {
      const { read } = await tamper(`${name} ${edit}`, (db) => {
        db.prepare(`UPDATE blobs SET ${edit} WHERE digest = ?`).run(bytesOf(digest()));
      });
      expect(read).toMatch(edit === "size = 1 << 40" ? /is too large/ : /does not match its digest/);
    }
  });

  test("two outcomes, swapped", async () => {
    const { read, verify } = await tamper("swapped", (db) => {
      const select = db.prepare("SELECT content, size, codec FROM blobs WHERE digest = ?");
      const [a, b] = [0, 1].map((seq) => bytesOf(callAt(seq).outcome));
      const [ofA, ofB] = [select.get(a as Buffer), select.get(b as Buffer)];
      const update = db.prepare("UPDATE blobs SET content = ?, size = ?, codec = ? WHERE digest = ?");
      for (const [row, digest] of [
        [ofB, a],
        [ofA, b],
      ] as const) {
        update.run(row?.content as Uint8Array, row?.size as number, row?.codec as number, digest as Buffer);
      }
    });
    expect(read).toMatch(/call 1 \(mcp__math__add\): the outcome blob does not match its digest/);
    expect(verify).toMatch(/call 1 .*the outcome blob/);
  });
});

describe("a record that was replaced by one that is whole in itself", () => {
  test("is not the one in the chain", async () => {
    const { read, verify } = await tamper("replaced", (db) => replaceRecord(db, { file_name: "other.ts" }));
    expect(read).toMatch(/the digest of the record is not the one in the chain/);
    expect(verify).toMatch(/the digest of the record is not the one in the chain/);
  });

  test("does not fit what comes after it, even with a link of its own", async () => {
    const { read, verify } = await tamper("relinked", (db) => {
      const recordDigest = replaceRecord(db, { file_name: "other.ts" });
      const row = db.prepare("SELECT previous FROM runs WHERE run_id = ?").get(runId);
      const entry = entryDigest({ recordDigest, importedAt: null, origin: null });
      const link = linkTo(row?.previous as string, entry);
      db.prepare("UPDATE runs SET link = ?, file_name = 'other.ts' WHERE run_id = ?").run(link, runId);
    });
    expect(read).toMatch(/the chain does not go on from its record/);
    expect(verify).toMatch(/record 3 does not follow the one before it/);
  });
});

describe("a column that was edited is found and named", () => {
  const COLUMNS = [
    ["run_id", /not in the archive|the column run_id|the counts of/],
    ["record_digest", /the digest of the record is not the one in the chain/],
    ["previous", /the digest of the record is not the one in the chain/],
    ["link", /the digest of the record is not the one in the chain/],
    ["imported_at", /the digest of the record is not the one in the chain/],
    ["origin", /the digest of the record is not the one in the chain/],
    ...[
      ...[
        "input_digest",
        "started_at",
        "source",
        "principal",
        "client_session",
        "user",
        "host",
        "client",
        "status",
        "duration_ms",
      ],
      ...["calls", "failed_calls", "result_bytes", "returned_bytes", "redactions", "file_name", "title"],
    ].map(
      (column) => [column, new RegExp(`the column ${column} says something else than the record`)] as const,
    ),
  ] as const;

  test("and this covers all columns there are", () => {
    const { DatabaseSync } = loadSqlite();
    const raw = new DatabaseSync(original);
    const columns = raw.prepare("SELECT name FROM pragma_table_info('runs')").all();
    raw.close();
    const covered = ["id", ...COLUMNS.map(([column]) => column)];
    expect(columns.map((column) => column.name).sort()).toEqual(covered.sort());
  });

  test.each(COLUMNS)("%s", async (column, named) => {
    const { read, verify } = await tamper(`column ${column}`, (db) => {
      const isNumber = /^(?:imported_at|started_at|duration_ms|.*calls|.*bytes|redactions)$/.test(column);
      const value = isNumber ? `coalesce(${column}, 0) + 1` : `coalesce(${column}, '') || 'x'`;
      db.prepare(`UPDATE runs SET ${column} = ${value} WHERE run_id = ?`).run(runId);
    });
    if (column !== "run_id") expect(read).toMatch(named);
    expect(verify).toMatch(named);
  });

  test.each([
    ["counts of a tool", "UPDATE run_tools SET calls = calls + 1 WHERE run = 2", /the counts of its calls/],
    ["counts of a tool, removed", "DELETE FROM run_tools WHERE run = 2", /the counts of its calls/],
    ["name of a tool", "UPDATE tools SET name = 'mcp__math__sub'", /the counts of its calls/],
    ["references", "DELETE FROM run_blobs WHERE run = 2", /the list of what it refers to/],
    ["references to more", "UPDATE run_blobs SET run = 2 WHERE run = 3", /the list of what it refers to/],
  ])("%s", async (name, sql, named) => {
    const { read, verify } = await tamper(name, (db) =>
      db.exec(`${sql.replace(/^UPDATE/, "UPDATE OR IGNORE")}`),
    );
    expect(read).toMatch(named);
    expect(verify).toMatch(named);
  });
});

describe("the chain shows", () => {
  test.each([
    ["a record removed from the middle", "DELETE FROM runs WHERE id = 2", /record 2 is missing/],
    ["the newest record removed", "DELETE FROM runs WHERE id = 3", /record 3 is missing/],
    ["all records removed", "DELETE FROM runs", /records 1 to 3 are missing/],
    ["records in another order", "UPDATE runs SET id = 5 - id WHERE id > 1", /record 2 does not follow/],
    [
      "a head that is not the newest",
      "UPDATE chain_ends SET link = 'sha256:0' WHERE name = 'head'",
      /the chain/,
    ],
    [
      "a blob of nobody's",
      "INSERT INTO blobs VALUES (99, x'00', 0, 1, x'31')",
      /blob sha256:00 belongs to no run/,
    ],
  ])("%s", async (name, sql, named) => {
    // Both rows at once: ids are unique.
    const statements = name.startsWith("records in another")
      ? "UPDATE runs SET id = -id; UPDATE runs SET id = CASE id WHEN -1 THEN 1 ELSE 5 + id END"
      : sql;
    expect((await tamper(name, (db) => db.exec(statements))).verify).toMatch(named);
  });

  test("records removed from the beginning, wherever the archive says that it begins", async () => {
    const { verify } = await tamper("beginning", (db) => removeBeginning(db, 2));
    expect(verify).toMatch(/^records 1 to 2 are gone, and nothing in the chain says that ptc pruned them$/m);
  });

  test("records removed from the beginning where all later ones were moved up, also after ptc has pruned more", async () => {
    const path = join(folder.path, "moved-up.db");
    copyFileSync(original, path);
    edit(path, (db) => {
      removeBeginning(db, 2);
      moveUp(db, 2);
    });
    const db = openQuickly(path);
    const problems = ["the chain does not begin with its first record: what came before was cut off"];
    expect((await verifyArchive(db)).problems).toEqual(problems);
    pruneRuns(db, { beforeMs: Number.POSITIVE_INFINITY, nowMs: 1 });
    expect((await verifyArchive(db)).problems).toEqual(problems);
    db.close();
  });

  test("a record in whose place its entry was put, as if it had been pruned", async () => {
    const { verify } = await tamper("entombed", (db) => {
      db.prepare("INSERT INTO tombstones VALUES (2, ?, 0)").run(entryAt(db, 2));
      db.exec(
        "DELETE FROM runs WHERE id = 2; DELETE FROM run_blobs WHERE run = 2; DELETE FROM run_tools WHERE run = 2",
      );
      dropLoose(db);
    });
    expect(verify).toBe("record 2 is gone, and nothing in the chain says that ptc pruned it");
  });

  test("what was removed also after ptc has pruned more", async () => {
    const path = join(folder.path, "pruned-after.db");
    copyFileSync(original, path);
    edit(path, (db) => removeBeginning(db, 1));
    const db = openQuickly(path);
    pruneRuns(db, { beforeMs: Number.POSITIVE_INFINITY, nowMs: 1 });
    expect((await verifyArchive(db)).problems).toEqual([
      "record 1 is gone, and nothing in the chain says that ptc pruned it",
    ]);
    db.close();
  });

  test("what was removed at place 1,000 and after", async () => {
    const path = join(folder.path, "long.db");
    const db = openQuickly(path);
    db.transaction(() => {
      for (let i = 0; i < 1_003; i++) {
        const { run, calls } = sampleRun({ code: `run(${i})`, calls: 0 });
        const put = (json: string) => putBlob(db, json);
        const blobs = new Set<number>();
        const record = buildRecord(run, [], (json) => {
          const { digest, id } = put(json);
          blobs.add(id);
          return digest;
        });
        expect(calls).toEqual([]);
        appendRun(db, record, summarizeRun(record, run), blobs);
      }
    });
    expect(await verifyArchive(db)).toMatchObject({ runs: 1_003, problems: [] });
    db.run("DELETE FROM runs WHERE id = 1001");
    expect((await verifyArchive(db)).problems).toContain("record 1001 is missing");
    db.close();
  });

  test("nothing, where nothing was done", async () => {
    expect(await tamper("untouched", () => {})).toEqual({ read: "", verify: "" });
  });
});

describe("a head that was kept elsewhere", () => {
  const keep = async () => {
    const db = openForReading(original);
    const [id, ...link] = (await verifyArchive(db)).head.split(":");
    db.close();
    return { id: Number(id), link: link.join(":") };
  };

  /** What is found with it after an edit. */
  async function found(name: string, change: (db: DatabaseSync) => void, heads?: readonly KeptHead[]) {
    const path = join(folder.path, `${name}.db`);
    copyFileSync(original, path);
    edit(path, change);
    const db = openForReading(path);
    try {
      return { alone: await verifyArchive(db), compared: await verifyArchive(db, heads ?? [await keep()]) };
    } finally {
      db.close();
    }
  }

  test("proves the newest records, which nothing on the same disk does", async () => {
    const cut = (db: DatabaseSync) => {
      db.exec(`
        UPDATE chain_ends SET id = 2, link = (SELECT link FROM runs WHERE id = 2) WHERE name = 'head';
        DELETE FROM runs WHERE id = 3; DELETE FROM run_blobs WHERE run = 3; DELETE FROM run_tools WHERE run = 3;
      `);
      dropLoose(db);
    };
    const { alone, compared } = await found("cut", cut);
    expect(alone).toMatchObject({
      problems: [],
      notes: [expect.stringMatching(/^nothing in the archive can show/)],
    });
    expect(compared.problems).toEqual(["record 3 is missing"]);
    const { id: _, ...bare } = await keep();
    expect((await found("cut-bare", cut, [bare])).compared.problems).toEqual([
      expect.stringContaining("is the link of no record"),
    ]);
  });

  test("proves the beginning, also against an entry that says that ptc pruned it", async () => {
    const { id, link } = await keep();
    const { alone, compared } = await found("forged", (db) => {
      removeBeginning(db, 2);
      const pruning = { at: 1, through: 2, pruned: [] };
      db.prepare("INSERT INTO prunings VALUES (?, ?, ?)").run(id + 1, link, canonicalJson(pruning));
      db.prepare("UPDATE chain_ends SET id = ?, link = ? WHERE name = 'head'").run(
        id + 1,
        linkTo(link, pruningDigest(pruning)),
      );
    });
    expect(alone.problems).toEqual([]);
    expect(compared.problems).toEqual([
      expect.stringMatching(/^records 1 to 2 are gone, and the entry that says .* is newer than record 3/),
    ]);
  });

  test("proves the beginning where ptc has pruned some of it, and all later records were moved up over more", async () => {
    const path = join(folder.path, "kept-moved-up.db");
    copyFileSync(original, path);
    let db = openQuickly(path);
    deleteRunsById(db, runIds.slice(0, 1), 1);
    const [id, ...link] = (await verifyArchive(db)).head.split(":");
    const kept = { id: Number(id), link: link.join(":") };
    expect(await verifyArchive(db, [kept])).toMatchObject({ problems: [], notes: [] });
    db.close();
    edit(path, (raw) => {
      removeBeginning(raw, 2);
      moveUp(raw, 1);
    });
    db = openQuickly(path);
    expect((await verifyArchive(db, [kept])).problems).toEqual(["record 4 is missing"]);
    expect(await verifyArchive(db, [{ link: kept.link }])).toMatchObject({
      problems: [],
      notes: ["a head without its place cannot tell whether pruned records are all that is gone before it"],
    });
    db.close();
  });

  test("of another chain is told as that", async () => {
    const heads = [{ ...(await keep()), link: `sha256:${"0".repeat(64)}` }];
    expect((await found("anew", () => {}, heads)).compared.problems).toEqual([
      "record 3 is another than the one whose head was kept: the chain was written anew",
    ]);
  });

  test("covers what ptc pruned before it, and one of before is told as gone", async () => {
    const path = join(folder.path, "kept-pruned.db");
    copyFileSync(original, path);
    const db = openQuickly(path);
    const early = { id: 1, link: `sha256:${"0".repeat(64)}` };
    pruneRuns(db, { beforeMs: Number.POSITIVE_INFINITY, nowMs: 1 });
    const [id, ...link] = (await verifyArchive(db)).head.split(":");
    const now = { id: Number(id), link: link.join(":") };
    expect(await verifyArchive(db, [now])).toMatchObject({ problems: [], notes: [] });
    expect(await verifyArchive(db, [early, now])).toMatchObject({
      problems: [],
      notes: ["record 1 was pruned, and can be compared no more"],
    });
    expect((await verifyArchive(db, [early])).problems).toEqual([
      expect.stringContaining("is newer than record 1"),
    ]);
    db.close();
  });
});

/** Removes the first records, as somebody does who has read how an archive is written. */
function removeBeginning(db: DatabaseSync, count: number): void {
  db.exec(`
    UPDATE chain_ends SET id = ${count}, link = (SELECT link FROM runs WHERE id = ${count}) WHERE name = 'start';
    DELETE FROM runs WHERE id <= ${count}; DELETE FROM run_blobs WHERE run <= ${count};
    DELETE FROM run_tools WHERE run <= ${count};
  `);
  dropLoose(db);
}

/** Gives all that is left of a chain other places, so that nothing seems to be missing. */
function moveUp(db: DatabaseSync, by: number): void {
  db.exec(`
    PRAGMA foreign_keys = OFF;
    UPDATE runs SET id = id - ${by}; UPDATE run_blobs SET run = run - ${by}; UPDATE run_tools SET run = run - ${by};
    UPDATE prunings SET id = id - ${by};
    UPDATE chain_ends SET id = id - ${by};
  `);
}

function dropLoose(db: DatabaseSync): void {
  db.exec(`
    DELETE FROM blobs WHERE id NOT IN (SELECT blob FROM run_blobs);
    DELETE FROM tools WHERE id NOT IN (SELECT tool FROM run_tools);
  `);
}

function entryAt(db: DatabaseSync, id: number): string {
  const row = db.prepare("SELECT record_digest FROM runs WHERE id = ?").get(id);
  return entryDigest({ recordDigest: row?.record_digest as string, importedAt: null, origin: null });
}
