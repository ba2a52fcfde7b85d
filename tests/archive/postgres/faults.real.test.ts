/** What becomes of runs, audit lines and approvals when the server, a connection, a process or a disk fails. */
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod/mini";
import type { ArchiveStore } from "../../../archive/archive-store.ts";
import { openPool, type PgDatabase } from "../../../archive/postgres/database.ts";
import { openPostgresArchive, openPostgresPending } from "../../../archive/postgres/postgres.ts";
import { PostgresAuditChain, PostgresAuditSource } from "../../../archive/postgres/postgres-audit.ts";
import { PostgresCounters } from "../../../archive/postgres/postgres-counters.ts";
import { PostgresDocuments } from "../../../archive/postgres/postgres-documents.ts";
import { PostgresPendingStore, Presence } from "../../../archive/postgres/postgres-pending-store.ts";
import { migrate } from "../../../archive/postgres/schema.ts";
import { eventually } from "../../eventually.ts";
import { archiveRun } from "../made-archives.ts";
import { sampleRun } from "../sample-runs.ts";
import { CutProxy } from "./cut-proxy.ts";
import { PostgresServer, usePostgres, WITHOUT_POSTGRES } from "./server.ts";

const FOREVER = join(import.meta.dirname, "fixtures/archive-forever.ts");
const Seen = z.object({ seen: z.boolean() });
const RANDOM = (seq: number) => `${seq} ${randomBytes(2_000).toString("hex")}`;

const most = { runs: 9, bytes: 1_000 };
const QUESTION = { listing: Buffer.from("x"), question: Buffer.from("x") };

describe.skipIf(WITHOUT_POSTGRES !== "")(`with PostgreSQL${WITHOUT_POSTGRES}`, () => {
  const server = usePostgres();

  const openDatabase = async (url: string): Promise<PgDatabase> => {
    const db = await openPool(url);
    onTestFinished(() => db.close().catch(() => {}));
    await migrate(db);
    return db;
  };
  const openArchive = async (url: string, patienceMs?: number): Promise<ArchiveStore> => {
    const archive = await openPostgresArchive(url, { keepDays: 36_500, patienceMs });
    onTestFinished(() => archive.close());
    return archive;
  };
  const openProxy = async (): Promise<{ proxy: CutProxy; direct: string; cut: string }> => {
    const proxy = new CutProxy(server().folder);
    await proxy.start();
    onTestFinished(() => proxy.stop());
    const direct = server().url();
    const folder = encodeURIComponent(server().folder);
    return { proxy, direct, cut: direct.replace(folder, encodeURIComponent(proxy.folder)) };
  };

  it("archives every run once that is answered while the server crashes and comes back", async () => {
    const url = server().url();
    const archive = await openArchive(url);
    const samples = Array.from({ length: 60 }, () => sampleRun({ answer: RANDOM }));
    await archiveRun(archive, samples[0] as never);
    const archived = Promise.all(samples.map((sample) => archiveRun(archive, sample)));
    await server().stop("at once");
    await server().start();
    const results = await archived;
    expect(results.filter(({ ok }) => !ok)).toEqual([]);
    expect(await archive.verify()).toMatchObject({ runs: 60, problems: [] });
    expect((await archive.stats({})).runs).toBe(60);
  });

  it("has lost no run that was answered when the server crashes at once", async () => {
    const url = server().url();
    const archive = await openArchive(url);
    for (let i = 0; i < 3; i++) expect(await archiveRun(archive, sampleRun())).toMatchObject({ ok: true });
    await server().stop("at once");
    await server().start();
    const again = await openArchive(url);
    expect(await again.verify()).toMatchObject({ runs: 3, problems: [] });
  });

  it("writes lines again that a crashed server had committed and lost", async () => {
    // Long enough for the crash to come before the server writes its log by itself.
    const own = new PostgresServer(["fsync=off", "wal_writer_delay=10s"]);
    onTestFinished(async () => {
      await own.stop();
      own.remove();
    });
    await own.start();
    const db = await openDatabase(own.url());
    const chain = new PostgresAuditChain(db, { keepMs: 1e12, wallMs: Date.now });
    const line = (id: number) => `{"time":"x","event":"run","run_id":"${id}"}\n`;
    const source = new PostgresAuditSource(db);
    await chain.append([line(1)], true);
    await chain.append([line(2), line(3)], false);
    await chain.append([line(4)], false);
    await own.stop("at once");
    await own.start();
    expect(await source.verify({})).toMatchObject({ lines: 1, problems: [] });
    expect(await chain.append([line(5)], true)).toMatchObject({ written: 1, problem: undefined });
    expect(await source.verify({})).toMatchObject({ lines: 5, problems: [] });
    const found: unknown[] = [];
    for await (const { fields } of source.entries({})) found.push(fields.run_id);
    expect(found.sort()).toEqual(["1", "2", "3", "4", "5"]);
  });

  it("keeps runs and lines once whose connections are cut again and again", async () => {
    const url = server().url();
    const archive = await openArchive(url);
    const db = await openDatabase(url);
    const chain = new PostgresAuditChain(db, { keepMs: 1e12, wallMs: Date.now });
    await archiveRun(archive, sampleRun());
    const killer = await openPool(server().url("public"), { max: 1 });
    onTestFinished(() => killer.close().catch(() => {}));
    let isOver = false;
    const killing = (async () => {
      while (!isOver)
        await killer
          .exec(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'ptc'",
          )
          .catch(() => {});
    })();
    const runs = Promise.all(
      Array.from({ length: 20 }, () => archiveRun(archive, sampleRun({ answer: RANDOM }))),
    );
    const texts = Array.from({ length: 20 }, (_, i) => `{"time":"x","event":"run","run_id":"${i}"}\n`);
    const lines = Promise.allSettled(texts.map((text) => chain.append([text], true)));
    // Between two cuts there has to be time for one commit.
    await new Promise((resolve) => setTimeout(resolve, 300));
    isOver = true;
    await killing;
    const results = await runs;
    expect(results.filter(({ ok }) => !ok)).toEqual([]);
    const written = (await lines).filter(({ status }) => status === "fulfilled").length;
    // Connections that were cut at the end are noticed when they are used: reading fails on those, and is not tried again.
    const verified = await eventually(() => archive.verify());
    expect(verified).toMatchObject({ runs: 21, problems: [] });
    const source = new PostgresAuditSource(db);
    const found = await eventually(async () => {
      const ids: unknown[] = [];
      for await (const { fields } of source.entries({})) ids.push(fields.run_id);
      return ids;
    });
    expect(new Set(found).size).toBe(found.length);
    expect(found.length).toBeGreaterThanOrEqual(written);
    expect((await source.verify({})).problems).toEqual([]);
  });

  describe("when the answer to a commit is lost", () => {
    it("knows the run that was archived, and does not archive it again", async () => {
      const { proxy, direct, cut } = await openProxy();
      const archive = await openArchive(cut);
      await archiveRun(archive, sampleRun());
      const sample = sampleRun();
      proxy.loseReplyTo((sent) => sent.includes(sample.run.facts.run_id));
      expect(await archiveRun(archive, sample)).toMatchObject({ ok: true });
      expect(proxy.cuts).toBe(1);
      expect(await (await openArchive(direct)).verify()).toMatchObject({ runs: 2, problems: [] });
    });

    it("finds the lines that were written, and does not write them again", async () => {
      const { proxy, cut } = await openProxy();
      const db = await openDatabase(cut);
      const chain = new PostgresAuditChain(db, { keepMs: 1e12, wallMs: Date.now });
      const line = (id: number) => `{"time":"x","event":"run","run_id":"${id}"}\n`;
      await chain.append([line(1)], false);
      proxy.loseReplyTo((sent) => sent.includes("COMMIT"));
      expect(await chain.append([line(2), line(3)], true)).toMatchObject({ written: 2, problem: undefined });
      expect(proxy.cuts).toBe(1);
      await chain.append([line(4)], true);
      const source = new PostgresAuditSource(db);
      expect(await source.verify({})).toMatchObject({ lines: 4, problems: [] });
    });

    it("goes live with a suspended run that it has taken itself, and nobody else does", async () => {
      const { proxy, direct, cut } = await openProxy();
      const store = new PostgresPendingStore(await openDatabase(cut), () => 1_000);
      const other = new PostgresPendingStore(await openDatabase(direct), () => 1_000);
      const bytes = Buffer.from("x");
      const row = {
        ticket: "t",
        principal: "p",
        askedAt: 1,
        expiresAt: 9_999,
        listing: bytes,
        question: bytes,
        run: bytes,
      };
      const commit = (sent: Buffer) => sent.includes("COMMIT");
      proxy.loseReplyTo(commit);
      expect(await store.keep(row, most)).toBe("kept");
      proxy.loseReplyTo(commit);
      expect(await store.answer("t", "p", Buffer.from("yes"))).toBe(true);
      proxy.loseReplyTo(commit);
      expect(await store.claim("t", "p", "one", () => false)).toMatchObject({ kind: "claimed" });
      expect(await other.claim("t", "p", "two", () => false)).toEqual({ kind: "taken" });
      proxy.loseReplyTo(commit);
      expect(await store.remove("t", "one")).toBe(true);
      expect(proxy.cuts).toBe(4);
      expect(await other.remove("t", "one")).toBe(false);
      expect(await other.claim("t", "p", "two", () => true)).toEqual({ kind: "unknown" });
    });
  });

  describe("when connections fall silent and do not end", () => {
    const take = { name: "n", span: "held", limit: 3, need: 1, want: 1 } as const;
    const request = { holder: "h", holds: {}, settle: [], admissions: [[take]] };
    const bytes = Buffer.from("x");
    const row = {
      ticket: "t",
      principal: "p",
      askedAt: 1,
      expiresAt: 9_999,
      listing: bytes,
      question: bytes,
      run: bytes,
    };
    const line = '{"time":"x","event":"run","run_id":"1"}\n';
    it.each<[string, (db: PgDatabase) => Promise<unknown>, unknown]>([
      [
        "counts",
        (db) => new PostgresCounters(db).count(request),
        [expect.objectContaining({ isGranted: true })],
      ],
      ["keeps a run that waits", (db) => new PostgresPendingStore(db, () => 1_000).keep(row, most), "kept"],
      [
        "writes a line",
        (db) => new PostgresAuditChain(db, { keepMs: 1e12, wallMs: Date.now }).append([line], true),
        expect.objectContaining({ written: 1, problem: undefined }),
      ],
      ["reads a document", async (db) => [await new PostgresDocuments(db).read("k", "n")], [undefined]],
    ])("%s over another one", async (_, work, expected) => {
      const { proxy, cut } = await openProxy();
      const db = await openDatabase(cut);
      await db.exec("SELECT 1");
      proxy.fallSilent();
      expect(await work(db.within(300))).toEqual(expected);
    });
  });

  it("has all runs that a killed writer was told of, whole, and goes on after it", async () => {
    const url = server().url();
    await openDatabase(url);
    const child = spawn(process.execPath, [FOREVER, url], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (said.split("\n").length > 25) child.kill("SIGKILL");
    });
    await new Promise((resolve) => child.once("close", resolve));
    const told = said.split("\n").slice(0, -1);
    const archive = await openArchive(url);
    for (const runId of told) expect((await archive.read(runId)).record.calls).toHaveLength(3);
    expect(await archiveRun(archive, sampleRun())).toMatchObject({ ok: true });
    const { runs, problems } = await archive.verify();
    expect(problems).toEqual([]);
    expect(runs).toBeGreaterThan(told.length);
  });

  it("says in one line that a run is not archived while the server is not there, and archives the next", async () => {
    const url = server().url();
    const archive = await openArchive(url, 200);
    expect(await archiveRun(archive, sampleRun())).toMatchObject({ ok: true });
    await server().stop();
    const { ok, message } = (await archiveRun(archive, sampleRun())) as { ok: boolean; message: string };
    expect(ok).toBe(false);
    expect(message).toMatch(/^PostgreSQL \(postgres at [^\n]*\) cannot be reached[^\n]*$/);
    await expect(archive.stats({})).rejects.toMatchObject({ code: "unreachable" });
    await server().start();
    expect(await archiveRun(archive, sampleRun())).toMatchObject({ ok: true });
    expect(await archive.verify()).toMatchObject({ runs: 2, problems: [] });
  });

  const canMount = process.platform === "linux" && process.getuid?.() === 0;
  it.skipIf(!canMount)(
    "writes nothing of a run for which the disk is too full, says so, and goes on when there is room",
    async () => {
      const folder = join(server().folder, "small");
      mkdirSync(folder);
      const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=12m,mode=0777", "tmpfs", folder]);
      expect(mounted.status).toBe(0);
      onTestFinished(async () => {
        await server().stop();
        spawnSync("umount", [folder]);
        await server().start();
      });
      const place = join(folder, "space");
      mkdirSync(place);
      server().give(place);
      const owner = await openPool(server().url("public"), { max: 1 });
      await owner.exec(`CREATE TABLESPACE small LOCATION '${place}'`);
      await owner.close();
      const url = server()
        .url()
        .replace("search_path", encodeURIComponent("default_tablespace=small -c search_path"));
      const archive = await openArchive(url);
      const large = () => sampleRun({ calls: 4, answer: () => randomBytes(200_000).toString("hex") });
      let kept = 0;
      let problem = "";
      while (problem === "" && kept < 50) {
        const result = await archiveRun(archive, large());
        if (result.ok) kept++;
        else problem = result.message;
      }
      expect(problem).toMatch(/cannot grow, its disk is full: enlarge it/);
      expect(kept).toBeGreaterThan(0);
      expect(await archive.verify()).toMatchObject({ runs: kept, problems: [] });
      spawnSync("mount", ["-o", "remount,size=40m", folder]);
      expect(await archiveRun(archive, large())).toMatchObject({ ok: true });
      expect(await archive.verify()).toMatchObject({ runs: kept + 1, problems: [] });
    },
  );

  it("gives a claimed run to another process when its owner, on any machine, was not seen for long", async () => {
    const db = await openDatabase(server().url());
    const bytes = Buffer.from("x");
    const [one, two] = [1, 2].map(() => new PostgresPendingStore(db, () => 1_000));
    const row = { principal: "p", askedAt: 1, expiresAt: 9_999, listing: bytes, question: bytes };
    await one?.keep({ ticket: "t", ...row, run: bytes }, most);
    await one?.offer({ ticket: "live", ...row, owner: "one" }, most);
    await one?.answer("t", "p", bytes);
    await one?.claim("t", "p", "one", () => false);
    expect(await two?.claim("t", "p", "two", () => false)).toEqual({ kind: "taken" });
    expect(await two?.list("p")).toHaveLength(2);
    await db.exec("UPDATE pending SET owner_seen = now() - interval '1 minute'");
    expect(await two?.claim("t", "p", "two", () => false)).toMatchObject({ kind: "claimed" });
    // The question of a run that had its sandbox there is gone with it.
    expect((await two?.list("p"))?.map(({ ticket }) => ticket)).toEqual(["t"]);
    expect(await one?.remove("t", "one")).toBe(false);
    expect(await two?.remove("t", "two")).toBe(true);
  });

  it("has a process seen in all of its rows but those that somebody holds, and in these when they are free", async () => {
    const db = await openDatabase(server().url());
    const store = new PostgresPendingStore(db, () => 1_000, new Presence(db, 10));
    const row = { principal: "p", askedAt: 1, expiresAt: 9_999, ...QUESTION, owner: "one" };
    for (const ticket of ["free", "held"]) await store.offer({ ticket, ...row }, most);
    const isSeen = async (ticket: string) => {
      const select = "SELECT owner_seen > now() - interval '1 minute' AS seen FROM pending WHERE ticket = $1";
      return (await db.get(Seen, select, ticket))?.seen === true;
    };
    const forget = "UPDATE pending SET owner_seen = now() - interval '1 hour' WHERE ticket = $1";
    await db.transaction(async (tx) => {
      await tx.run(forget, "held");
      await db.run(forget, "free");
      await eventually(async () => expect(await isSeen("free")).toBe(true));
    });
    await eventually(async () => expect(await isSeen("held")).toBe(true));
  });

  it("has one report for all questions of a process, however many runs ask", async () => {
    const stay = vi.spyOn(Presence.prototype, "stay");
    const url = server().url();
    const row = { principal: "p", askedAt: 1, expiresAt: 9_999, ...QUESTION, owner: "one" };
    for (const ticket of ["a", "b"])
      await (await openPostgresPending(url, () => 1_000)).offer({ ticket, ...row }, most);
    expect(stay.mock.contexts).toHaveLength(2);
    expect(new Set(stay.mock.contexts).size).toBe(1);
    stay.mockRestore();
  });

  it("lets one hold a lock at a time, and the next when its holder has died", async () => {
    const db = await openDatabase(server().url());
    const documents = [1, 2, 3].map(() => new PostgresDocuments(db));
    let inside = 0;
    const most: number[] = [];
    await Promise.all(
      documents.map((each) =>
        each.withLock(
          "l",
          async () => {
            most.push(++inside);
            await new Promise((resolve) => setTimeout(resolve, 20));
            inside--;
          },
          { patienceMs: 60_000 },
        ),
      ),
    );
    expect(most).toEqual([1, 1, 1]);
    await db.exec("INSERT INTO locks VALUES ('l', 'one that died', now() + interval '1 hour')");
    const waiting = documents[0]?.withLock("l", async () => "in", { patienceMs: 100 });
    await expect(waiting).rejects.toMatchObject({ name: "LockTaken" });
    await db.exec("UPDATE locks SET until = now() - interval '1 second'");
    expect(await documents[0]?.withLock("l", async () => "in", { patienceMs: 60_000 })).toBe("in");
  });

  it("makes the tables once where many start at once, and leaves those of a newer ptc alone", async () => {
    const url = server().url();
    const pools = await Promise.all([1, 2, 3, 4].map(() => openPool(url)));
    onTestFinished(async () => void (await Promise.all(pools.map((pool) => pool.close()))));
    const before = await Promise.all(pools.map((pool) => migrate(pool)));
    expect(before.filter((version) => version === 0)).toHaveLength(1);
    await pools[0]?.exec("UPDATE ptc_schema SET version = 99");
    const newer = (await openPostgresArchive(url, { keepDays: 1 }).catch((error: Error) => error)) as Error;
    expect(newer).toMatchObject({ code: "newer" });
    expect(newer.message).toMatch(
      /^PostgreSQL \([^\n]*\) has version 99, and this ptc supports at most \d+: update ptc$/,
    );
  });

  it("leaves tables of another program alone", async () => {
    const db = await openPool(server().url("others"));
    onTestFinished(() => db.close());
    await db.exec("CREATE SCHEMA others; CREATE TABLE others.runs (mine text)");
    await expect(migrate(db)).rejects.toMatchObject({ code: "foreign" });
    await db.exec("SELECT mine FROM others.runs");
    await expect(db.exec("SELECT FROM others.blobs")).rejects.toThrow();
  });
});
