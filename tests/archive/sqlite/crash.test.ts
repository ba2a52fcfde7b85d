import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import * as z from "zod/mini";
import { releaseHeld, sweepAbandoned } from "../../../archive/sqlite/blobs.ts";
import { openForReading, openForWriting } from "../../../archive/sqlite/connection.ts";
import type { Database } from "../../../archive/sqlite/database.ts";
import { pruneRuns } from "../../../archive/sqlite/prune.ts";
import { holdCalls, storeRun } from "../../../archive/sqlite/store-run.ts";
import { SqliteArchiveWriter } from "../../../archive/sqlite/writer/sqlite-archive-writer.ts";
import { tries } from "../../tries.ts";
import { archiveRun, storeSample, useFolder } from "../made-archives.ts";
import { listRuns, verifyArchive } from "../on-connection.ts";
import { sampleRun } from "../sample-runs.ts";

const at = useFolder();

const Held = z.object({ held: z.int() });
const held = (db: Database) => db.get(Held, "SELECT count(*) AS held FROM held_blobs")?.held ?? 0;
/** Processes are started: on a busy machine that takes its time. */
const TIMEOUT_MS = 120_000;
/** How often one is killed at a moment of chance. */
const ROUNDS = tries(3);
const FOUR_DAYS_MS = 4 * 24 * 60 * 60 * 1000;

/** A process that archives, and the runs it has been told are archived. */
function startWriter(
  path: string,
  count: number | "hang",
): { child: ChildProcess; acknowledged: string[]; first: Promise<unknown> } {
  const fixture = join(import.meta.dirname, "fixtures/archive-forever.ts");
  const child = spawn(process.execPath, [fixture, path, String(count)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const acknowledged: string[] = [];
  let pending = "";
  child.stdout.on("data", (chunk: Buffer) => {
    const lines = (pending + chunk.toString()).split("\n");
    pending = lines.pop() ?? "";
    acknowledged.push(...lines);
  });
  return { child, acknowledged, first: once(child.stdout, "data") };
}

describe("a process that is killed while it archives", { timeout: TIMEOUT_MS }, () => {
  test("loses at most the run under way, and leaves no half of it", async () => {
    const path = at("killed.db");
    const all: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const { child, acknowledged, first } = startWriter(path, Number.POSITIVE_INFINITY);
      await first;
      await sleep(Math.random() * 120);
      const closed = once(child, "close");
      child.kill("SIGKILL");
      await closed;
      all.push(...acknowledged);
      const db = openForReading(path);
      const { problems, runs } = await verifyArchive(db);
      expect(problems).toEqual([]);
      expect(runs).toBeGreaterThanOrEqual(all.length);
      expect(runs).toBeLessThanOrEqual(all.length + round + 1);
      const present = new Set(listRuns(db, { limit: 100_000 }).map((run) => run.run_id));
      expect(all.filter((runId) => !present.has(runId))).toEqual([]);
      db.close();
    }
  });

  test("leaves what had gone to the disk ahead of a run, to be swept when it is days old", async () => {
    const path = at("held.db");
    const db = openForWriting(path);
    storeSample(db, { answer: () => "kept ".repeat(1_000) });
    const { child } = startWriter(path, "hang");
    await vi.waitUntil(() => held(db) > 0, { timeout: TIMEOUT_MS, interval: 20 });
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
    const before = await verifyArchive(db);
    sweepAbandoned(db, Date.now());
    expect((await verifyArchive(db)).blobs).toBe(before.blobs);
    sweepAbandoned(db, Date.now() + FOUR_DAYS_MS);
    const after = await verifyArchive(db);
    expect(after).toMatchObject({ runs: 1, problems: [] });
    expect(after.blobs).toBeLessThan(before.blobs);
    expect(held(db)).toBe(0);
    db.close();
  });
});

describe("values that are held for a run under way", () => {
  const DAY_MS = FOUR_DAYS_MS / 4;
  const blobs = async (db: Database) => (await verifyArchive(db)).blobs;

  test("stay for three days after the last of them, and then go, but for what a run has too", async () => {
    const db = openForWriting(at("held-days.db"));
    const shared = sampleRun({ calls: 1 });
    storeRun(db, shared.run, shared.calls);
    const before = await blobs(db);
    const { run, calls } = sampleRun({ calls: 2, answer: (seq) => `held ${seq}` });
    const runId = run.facts.run_id;
    holdCalls(db, runId, [...shared.calls, ...calls.slice(0, 1)], 0);
    // The next that are held renew the hold on the first.
    holdCalls(db, runId, calls.slice(1), 2 * DAY_MS);
    const all = await blobs(db);
    expect(all).toBeGreaterThan(before);
    for (const nowMs of [3 * DAY_MS + 1, 5 * DAY_MS]) {
      sweepAbandoned(db, nowMs);
      expect(await blobs(db)).toBe(all);
    }
    sweepAbandoned(db, 5 * DAY_MS + 1);
    expect([held(db), await blobs(db)]).toEqual([0, before]);
    expect((await verifyArchive(db)).problems).toEqual([]);
    db.close();
  });

  test("go at once with a run that is not to be archived, and become those of one that is", async () => {
    const db = openForWriting(at("held-ends.db"));
    const { run, calls } = sampleRun({ answer: (seq) => `held ${seq}` });
    const pending = holdCalls(db, run.facts.run_id, calls, 0);
    const other = sampleRun({ answer: (seq) => `other ${seq}` });
    holdCalls(db, other.run.facts.run_id, other.calls, 0);
    releaseHeld(db, other.run.facts.run_id);
    storeRun(db, run, pending);
    expect(held(db)).toBe(0);
    const after = await blobs(db);
    sweepAbandoned(db, FOUR_DAYS_MS);
    expect(await verifyArchive(db)).toMatchObject({ runs: 1, blobs: after, problems: [] });
    db.close();
  });
});

describe("several processes that share an archive", { timeout: TIMEOUT_MS }, () => {
  test("closes with its last run on the way, and the process lives until it has", () => {
    const fixture = join(import.meta.dirname, "fixtures/close-while-settling.ts");
    const path = at("closed/archive.db");
    const { status, stdout } = spawnSync(process.execPath, [fixture, path], { encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "closed\n" });
  });

  test("can all make it, at the same moment", async () => {
    const fixture = join(import.meta.dirname, "fixtures/open-new-archives.ts");
    const startAt = Date.now() + 2_000;
    const openers = [1, 2, 3, 4].map(() =>
      spawn(process.execPath, [fixture, at("made"), String(startAt), "40"], {
        stdio: ["ignore", "ignore", "inherit"],
      }),
    );
    const codes = await Promise.all(openers.map((child) => once(child, "close")));
    expect(codes.map(([code]) => code)).toEqual([0, 0, 0, 0]);
  });

  test("make it, fill it and chain their runs one after the other", async () => {
    const path = at("new/folder/shared.db");
    const writers = [1, 2, 3].map(() => startWriter(path, 25));
    const codes = await Promise.all(writers.map(({ child }) => once(child, "close")));
    expect(codes.map(([code]) => code)).toEqual([0, 0, 0]);
    const db = openForReading(path);
    expect(await verifyArchive(db)).toMatchObject({ runs: 75, problems: [] });
    const present = listRuns(db, { limit: 1_000 }).map((run) => run.run_id);
    expect(present.sort()).toEqual(writers.flatMap(({ acknowledged }) => acknowledged).sort());
    db.close();
  });
});

describe("a writing thread that dies", () => {
  test("costs the runs it had, each told so, and a new one takes its place", async () => {
    const dying = new URL("./fixtures/dying-worker.ts", import.meta.url);
    const writer = new SqliteArchiveWriter({ path: at("unused.db"), keepDays: 30 }, dying);
    const two = () => Promise.all([archiveRun(writer, sampleRun()), archiveRun(writer, sampleRun())]);
    const message = "the archive's writer stopped (the writing thread dies): the run was not archived";
    expect(await two()).toEqual(Array(2).fill({ ok: false, message }));
    expect(await two()).toMatchObject([{ ok: false }, { ok: false }]);
    await writer.close();
  });

  test("or that cannot even start costs no more", async () => {
    for (const module of [new URL("./fixtures/nothing.ts", import.meta.url), new URL("https://localhost/")]) {
      const writer = new SqliteArchiveWriter({ path: at("unused.db"), keepDays: 30 }, module);
      const message = expect.stringMatching(/stopped/);
      expect(await archiveRun(writer, sampleRun())).toEqual({ ok: false, message });
      await writer.close();
    }
  });
});

describe("a reader", { timeout: TIMEOUT_MS }, () => {
  test("sees whole runs and a whole chain while others write and prune", async () => {
    const path = at("busy.db");
    const { child, first } = startWriter(path, 60);
    await first;
    const closed = once(child, "close");
    const reading = openForReading(path);
    const pruning = openForWriting(path);
    let checks = 0;
    while (child.exitCode === null) {
      const { problems } = await verifyArchive(reading);
      expect(problems).toEqual([]);
      const [newest] = listRuns(reading, { limit: 1 });
      if (newest !== undefined && checks % 3 === 2) {
        pruneRuns(pruning, { beforeMs: newest.started_at + 1, nowMs: Date.now() });
      }
      checks++;
      await sleep(1);
    }
    expect((await closed)[0]).toBe(0);
    expect(checks).toBeGreaterThan(1);
    reading.close();
    pruning.close();
  });
});
