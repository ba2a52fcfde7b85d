import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openForReading, openForWriting } from "../../../archive/sqlite/connection.ts";
import { loadSqlite } from "../../../archive/sqlite/sqlite.ts";
import { SqliteArchiveStore } from "../../../archive/sqlite/sqlite-archive-store.ts";
import { storeRun } from "../../../archive/sqlite/store-run.ts";
import { SqliteArchiveWriter } from "../../../archive/sqlite/writer/sqlite-archive-writer.ts";
import { archiveRun, makeArchive, useFolder } from "../made-archives.ts";
import { readRun, verifyArchive } from "../on-connection.ts";
import { sampleRun } from "../sample-runs.ts";

const at = useFolder();

const { DatabaseSync } = loadSqlite();
const TIMEOUT_MS = 60_000;
const fresh = (name: string) => at(name, "archive.db");

async function readCode(path: string, runId: string): Promise<string> {
  const db = openForReading(path);
  try {
    expect((await verifyArchive(db)).problems).toEqual([]);
    return (await readRun(db, runId)).code;
  } finally {
    db.close();
  }
}

describe("a run is not lost", { timeout: TIMEOUT_MS }, () => {
  test("to a process that keeps the archive busy for longer than one attempt waits", async () => {
    const path = fresh("busy");
    makeArchive(path);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const writer = new SqliteArchiveWriter({
      path,
      keepDays: 36_500,
      busyTimeoutMs: 10,
      patienceMs: TIMEOUT_MS,
    });
    // One that goes to the disk early, and one that does not.
    const samples = [sampleRun(), sampleRun({ calls: 6, answer: (seq) => `${seq}`.repeat(1_000_000) })];
    const results = samples.map((sample) => archiveRun(writer, sample));
    await sleep(500);
    other.exec("COMMIT");
    other.close();
    expect(await Promise.all(results)).toMatchObject([{ ok: true }, { ok: true }]);
    await writer.close();
    for (const { run } of samples) expect(await readCode(path, run.facts.run_id)).toBe(run.code);
  });

  test("which is told when that never ends", async () => {
    const path = fresh("busy-for-ever");
    makeArchive(path);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const writer = new SqliteArchiveWriter({ path, keepDays: 36_500, busyTimeoutMs: 10, patienceMs: 100 });
    expect(await archiveRun(writer, sampleRun())).toMatchObject({
      ok: false,
      message: expect.stringMatching(/in use by another process/),
    });
    await writer.close();
    other.close();
  });

  test("to a writing thread that dies", async () => {
    const dyingOnce = new URL("./fixtures/dying-once-worker.ts", import.meta.url);
    const path = fresh("dies");
    makeArchive(path);
    const writer = new SqliteArchiveWriter({ path, keepDays: 36_500 }, dyingOnce);
    // Its first calls are on their way before it ends.
    const samples = [sampleRun({ calls: 6, answer: (seq) => `${seq}`.repeat(40_000) }), sampleRun()];
    const results = await Promise.all(samples.map((sample) => archiveRun(writer, sample)));
    expect(results).toMatchObject([{ ok: true }, { ok: true }]);
    await writer.close();
    for (const { run } of samples) expect(await readCode(path, run.facts.run_id)).toBe(run.code);
  });

  test("unseen, where its last message cannot be sent to the writing thread", async () => {
    const path = fresh("uncloned");
    const writer = new SqliteArchiveWriter({ path, keepDays: 36_500 });
    const { run } = sampleRun({ calls: 0 });
    const unsendable = { ...run, facts: { ...run.facts, options: (() => 1) as never } };
    expect(await writer.begin(run.facts.run_id).finish(unsendable)).toEqual({
      ok: false,
      message: expect.stringMatching(
        /^the archive's writer stopped \(.*could not be cloned.*\): the run was not archived$/,
      ),
    });
    const next = sampleRun();
    expect(await archiveRun(writer, next)).toMatchObject({ ok: true });
    await writer.close();
    expect(await readCode(path, next.run.facts.run_id)).toBe(next.run.code);
  });

  test("unseen, where calls cannot be sent; and they take no room from others for ever", async () => {
    const path = fresh("uncloned-calls");
    const writer = new SqliteArchiveWriter({ path, keepDays: 36_500 });
    const { run, calls } = sampleRun({ calls: 1 });
    const recording = writer.begin(run.facts.run_id);
    const text = JSON.stringify("x".repeat(33 * 1024 * 1024));
    for (const call of [...calls, ...calls]) {
      const unsendable = { ...call, facts: { ...call.facts, rule: (() => 1) as never }, outcomeJson: text };
      // More than may be on its way at once: waiting for room would never end.
      await recording.addCall(unsendable);
    }
    expect(await recording.finish(run)).toMatchObject({
      ok: false,
      message: expect.stringMatching(/lost calls/),
    });
    expect(await archiveRun(writer, sampleRun())).toMatchObject({ ok: true });
    await writer.close();
  });

  test("that ends while the writer closes, or after", async () => {
    const path = fresh("closing");
    const writer = new SqliteArchiveWriter({ path, keepDays: 36_500 });
    const samples = [sampleRun({ calls: 0 }), sampleRun({ calls: 0 })];
    const [during, after] = samples.map(({ run }) => writer.begin(run.facts.run_id));
    const closing = writer.close();
    const first = during?.finish(samples[0]?.run as (typeof samples)[0]["run"]);
    await closing;
    expect(await first).toMatchObject({ ok: true });
    expect(await after?.finish(samples[1]?.run as (typeof samples)[0]["run"])).toMatchObject({ ok: true });
    await writer.close();
    for (const { run } of samples) expect(await readCode(path, run.facts.run_id)).toBe(run.code);
  });

  test("into an archive that was moved away or deleted under way", async () => {
    const path = fresh("moved");
    const writer = new SqliteArchiveStore({ path, keepDays: 36_500 });
    const before = sampleRun();
    expect(await archiveRun(writer, before)).toMatchObject({ ok: true });
    const read = await writer.read(before.run.facts.run_id);
    renameSync(dirname(path), `${dirname(path)}-elsewhere`);
    const after = sampleRun();
    expect(await archiveRun(writer, after)).toMatchObject({ ok: true });
    rmSync(dirname(path), { recursive: true });
    const last = sampleRun();
    expect(await archiveRun(writer, last)).toMatchObject({ ok: true });
    expect((await writer.read(last.run.facts.run_id)).code).toBe(last.run.code);
    await expect(writer.read(before.run.facts.run_id)).rejects.toMatchObject({ code: "missing" });
    // What was read before can still be read whole.
    expect(await read.textOf(read.record.code)).toBe(JSON.stringify(before.run.code));
    await writer.close();
    expect(await readCode(path, last.run.facts.run_id)).toBe(last.run.code);
  });

  test("or is told where a part of it was in what was moved away", async () => {
    const path = fresh("moved-with-calls");
    const writer = new SqliteArchiveWriter({ path, keepDays: 36_500 });
    expect(await archiveRun(writer, sampleRun())).toMatchObject({ ok: true });
    const { run, calls } = sampleRun({ calls: 8, answer: (seq) => `${seq}`.repeat(1_000_000) });
    const recording = writer.begin(run.facts.run_id);
    for (const call of calls) await recording.addCall(call);
    // What was sent before is taken when this is answered.
    expect(await archiveRun(writer, sampleRun())).toMatchObject({ ok: true });
    rmSync(dirname(path), { recursive: true });
    expect(await recording.finish(run)).toEqual({
      ok: false,
      message: expect.stringMatching(/was moved away or deleted while a run was under way/),
    });
    const next = sampleRun();
    expect(await archiveRun(writer, next)).toMatchObject({ ok: true });
    await writer.close();
    expect(await readCode(path, next.run.facts.run_id)).toBe(next.run.code);
  });

  test("by being handed over a second time", async () => {
    const db = openForWriting(fresh("twice"));
    const { run, calls } = sampleRun();
    expect(storeRun(db, run, calls)).toBe(storeRun(db, run, calls));
    expect(() => storeRun(db, { ...run, consoleText: "other" }, calls)).toThrow(/conflicts with it/);
    expect(await verifyArchive(db)).toMatchObject({ runs: 1, problems: [] });
    db.close();
  });
});
