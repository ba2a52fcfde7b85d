/** A database as a whole: its tables, its sealed values, and an archive in a file that is taken over into it. */
import { describe, expect, it } from "vitest";
import {
  openArchive,
  openDocuments,
  openPendingStore,
  readSqliteRows,
} from "../../../archive/open-archive.ts";
import { openPool } from "../../../archive/postgres/database.ts";
import {
  migrateStorage,
  type Reseal,
  reencryptStorage,
  storageStatus,
  takeOver,
} from "../../../archive/postgres/maintenance.ts";
import { MIGRATIONS } from "../../../archive/postgres/schema.ts";
import { pruneRuns } from "../../../archive/sqlite/prune.ts";
import { archiveRun, storeSample, useFolder } from "../made-archives.ts";
import { verifyArchive } from "../on-connection.ts";
import { openQuickly, type SampleOptions, sampleRun } from "../sample-runs.ts";
import { usePostgres, WITHOUT_POSTGRES } from "./server.ts";

const DAY_MS = 86_400_000;
const T0 = Date.UTC(2030, 0, 2);

describe.skipIf(WITHOUT_POSTGRES !== "")(`a database${WITHOUT_POSTGRES}`, () => {
  const server = usePostgres();
  const at = useFolder();
  const place = () => `PostgreSQL (postgres at ${server().folder})`;
  const archiveIn = (url: string) => openArchive({ path: "", keepDays: 36_500, database: async () => url });
  const edit = async (url: string, sql: string) => {
    const db = await openPool(url);
    await db.run(sql);
    await db.close();
  };

  it("gets its tables once, and tells which version it had before", async () => {
    const url = server().url();
    const now = MIGRATIONS.length;
    expect(await storageStatus(url, () => "current")).toMatchObject({
      place: place(),
      version: 0,
      newest: now,
    });
    expect(await migrateStorage(url)).toEqual({ place: place(), before: 0, now });
    expect(await migrateStorage(url)).toEqual({ place: place(), before: now, now });
    expect(await storageStatus(url, () => "current")).toMatchObject({
      ...{ version: now, newest: now },
      kept: { runs: 0, months: 0, auditLines: 0, waiting: 0, logins: 0, sealedOtherwise: 0 },
    });
  });

  it("has all its sealed values sealed again, each for its purpose, but those that no key opens", async () => {
    const url = server().url();
    const database = async () => url;
    const sealed = (text: string) => new Uint8Array(Buffer.from(text));
    const textOf = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString();
    const pending = openPendingStore("", () => 1_000, database);
    const row = { principal: "p", askedAt: 1_000, expiresAt: 2_000 };
    const most = { runs: 9, bytes: 1_000 };
    await pending.keep(
      { ...row, ticket: "t", listing: sealed("old l"), question: sealed("old q"), run: sealed("old r") },
      most,
    );
    await pending.answer("t", "p", sealed("new a"));
    await pending.keep(
      { ...row, ticket: "u", listing: sealed("new l"), question: sealed("lost q"), run: sealed("new r") },
      most,
    );
    const documents = openDocuments(database);
    await documents.write("login", "hub", sealed("old login"));
    await documents.write("passkeys", "ada", sealed("new passkeys"));
    await documents.write("learned", "shapes", sealed("old and not sealed"));
    const purposes = new Map<string, string>();
    const reseal: Reseal = (bytes, purpose) => {
      const text = textOf(bytes);
      purposes.set(text, purpose);
      if (text.startsWith("lost")) return "unreadable";
      return text.startsWith("new") ? "current" : sealed(text.replace("old", "new"));
    };
    const kept = { waiting: 2, logins: 1 };
    expect(await storageStatus(url, reseal)).toMatchObject({ kept: { ...kept, sealedOtherwise: 5 } });
    const counts = { reencrypted: 4, current: 4, unreadable: 1 };
    expect(await reencryptStorage(url, reseal)).toEqual({ place: place(), ...counts });
    expect(Object.fromEntries(purposes)).toEqual({
      "old l": 'ptc approval 2 listing ["t","p",1000,2000]',
      "new l": 'ptc approval 2 listing ["u","p",1000,2000]',
      "old q": 'ptc approval 2 question ["t","p",1000,2000]',
      "old r": 'ptc approval 2 run ["t","p",1000,2000]',
      "new a": 'ptc approval 2 answer ["t","p",1000,2000]',
      "lost q": 'ptc approval 2 question ["u","p",1000,2000]',
      "new r": 'ptc approval 2 run ["u","p",1000,2000]',
      "old login": "ptc login 1 hub",
      "new passkeys": "ptc passkeys 1 ada",
    });
    const again = { reencrypted: 0, current: 8, unreadable: 1 };
    expect(await reencryptStorage(url, reseal)).toEqual({ place: place(), ...again });
    expect((await pending.list("p")).map(({ listing }) => textOf(listing))).toEqual(["new l", "new l"]);
    const questions = await Promise.all(["t", "u"].map((ticket) => pending.question(ticket)));
    expect(questions.map(textOf)).toEqual(["new q", "lost q"]);
    expect(await pending.claim("t", "p", "one", () => false)).toEqual({
      ...{ kind: "claimed", run: sealed("new r"), answer: sealed("new a") },
    });
    expect(textOf((await documents.read("login", "hub"))?.content)).toBe("new login");
    expect(textOf((await documents.read("learned", "shapes"))?.content)).toBe("old and not sealed");
  });

  describe("takes over an archive in a file", () => {
    const fileOf = (name: string, samples: SampleOptions[]) => {
      const path = at(name);
      const db = openQuickly(path);
      const runIds = samples.map((options) => storeSample(db, options));
      return { path, db, runIds };
    };

    it("with every run in its place of the chain, once, and goes on from there", async () => {
      const url = server().url();
      const { path, db, runIds } = fileOf("whole.db", [{}, { startedAt: T0 + 40 * DAY_MS }, {}]);
      const { head } = await verifyArchive(db);
      const shown: [number, number][] = [];
      const take = () =>
        readSqliteRows(path, (rows) => takeOver(url, rows, (...done) => void shown.push(done)));
      expect(await take()).toEqual({ place: place(), taken: 3, head });
      expect(shown).toEqual([[3, 3]]);
      const archive = archiveIn(url);
      expect(await archive.verify()).toMatchObject({ runs: 3, problems: [], head });
      expect((await archive.read(runIds[1] ?? "")).record.run_id).toBe(runIds[1]);
      expect(await take()).toEqual({ place: place(), taken: 0, head });
      const later = storeSample(db);
      expect(await take()).toMatchObject({ taken: 1, head: (await verifyArchive(db)).head });
      expect((await archive.list({ limit: 10 })).runs.map(({ run_id }) => run_id)).toContain(later);
      await archive.close();
      db.close();
    });

    it("fifty entries at a time, and tells how many are done", async () => {
      const url = server().url();
      const { path, db } = fileOf("large.db", Array<SampleOptions>(60).fill({ calls: 0 }));
      const shown: [number, number][] = [];
      await readSqliteRows(path, (rows) => takeOver(url, rows, (...done) => void shown.push(done)));
      expect(shown).toEqual([
        [50, 60],
        [60, 60],
      ]);
      db.close();
    });

    it("of which runs were pruned, also from its beginning, and which proves as much as before", async () => {
      const url = server().url();
      const old = { startedAt: T0 - 90 * DAY_MS };
      const { path, db } = fileOf("pruned.db", [old, old, {}, old, {}]);
      pruneRuns(db, { beforeMs: T0 - DAY_MS, nowMs: T0 });
      const { head } = await verifyArchive(db);
      const [id = "", ...link] = head.split(":");
      const taken = await readSqliteRows(path, (rows) => takeOver(url, rows));
      expect(taken).toMatchObject({ head });
      const archive = archiveIn(url);
      expect(await archive.verify([{ id: Number(id), link: link.join(":") }])).toMatchObject({
        ...{ runs: 2, problems: [], head },
      });
      expect((await readSqliteRows(path, (rows) => takeOver(url, rows))).taken).toBe(0);
      await archive.close();
      db.close();
    });

    it("only where it has no other runs of its own", async () => {
      const url = server().url();
      const archive = archiveIn(url);
      expect(await archiveRun(archive, sampleRun())).toMatchObject({ ok: true });
      const { path, db } = fileOf("other.db", [{}, {}]);
      await expect(readSqliteRows(path, (rows) => takeOver(url, rows))).rejects.toMatchObject({
        code: "conflict",
        message: `${place()} already has runs that are not from ${path}: only an archive without runs can take another over; use \`ptc runs export\` and \`ptc runs import\` for single runs`,
      });
      expect(await archive.verify()).toMatchObject({ runs: 1, problems: [] });
      await archive.close();
      db.close();
    });
  });

  it("says of which days the sums are not those of their runs", async () => {
    const url = server().url();
    const archive = archiveIn(url);
    for (const startedAt of [T0, T0 + DAY_MS, T0 + 2 * DAY_MS])
      expect(await archiveRun(archive, sampleRun({ startedAt }))).toMatchObject({ ok: true });
    await edit(url, `UPDATE run_days SET kept_bytes = kept_bytes + 1 WHERE day = ${T0 / DAY_MS + 1}`);
    await edit(url, `UPDATE tool_days SET failed_calls = failed_calls + 1 WHERE day = ${T0 / DAY_MS}`);
    expect((await archive.verify()).problems).toEqual([
      "the sums of 2030-01-02 differ from the sums of its runs",
      "the sums of 2030-01-03 differ from the sums of its runs",
    ]);
    await archive.close();
  });

  it("finds the same runs of a tool however many it is said to have", async () => {
    const url = server().url();
    const archive = archiveIn(url);
    const samples: SampleOptions[] = [
      { runId: "aaaaaaaa-0000-4000-8000-000000000001", principal: "ada" },
      { runId: "aaaaaaaa-0000-4000-8000-000000000002", principal: "bob" },
      { runId: "aaaaaaaa-0000-4000-8000-000000000003", principal: "ada", tool: "mcp__web__get" },
    ];
    for (const options of samples)
      expect(await archiveRun(archive, sampleRun(options))).toMatchObject({ ok: true });
    const found = async (principal: string) =>
      (await archive.list({ principal, tool: "mcp__math__*", limit: 10 })).runs.map(({ run_id }) => run_id);
    for (const runs of [1, 5_000, 5_001]) {
      await edit(url, `UPDATE tool_days SET runs = ${runs}`);
      expect(await found("ada")).toEqual([samples[0]?.runId]);
      expect(await found("bob")).toEqual([samples[1]?.runId]);
      expect(await found("eve")).toEqual([]);
    }
    await archive.close();
  });
});
