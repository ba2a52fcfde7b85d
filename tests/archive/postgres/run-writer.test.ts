/** What the writing thread for PostgreSQL does with the runs that it is handed, in the thread of the test. */
import { randomBytes } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod/mini";
import { openPool } from "../../../archive/postgres/database.ts";
import { openPostgresArchive } from "../../../archive/postgres/postgres.ts";
import { sweepAbandoned } from "../../../archive/postgres/prune.ts";
import { monthAfter, monthOf, partitionOf } from "../../../archive/postgres/schema.ts";
import { PostgresRunWriter } from "../../../archive/postgres/writer/run-writer.ts";
import { keptReplies, sampleCall, sampleRun } from "../sample-runs.ts";
import { usePostgres, WITHOUT_POSTGRES } from "./server.ts";

const DAY_MS = 86_400_000;
const Count = z.object({ count: z.int() });
/** More than a run may have in memory. Random, so that it stays as large. */
const LARGE = () => [0, 1, 2].map((seq) => sampleCall(seq, randomBytes(1_500_000).toString("base64")));

type Sample = ReturnType<typeof sampleRun>;

describe.skipIf(WITHOUT_POSTGRES !== "")(`a writer of runs to PostgreSQL${WITHOUT_POSTGRES}`, () => {
  const server = usePostgres();

  const open = async ({ url = server().url(), keepDays = 36_500, patienceMs = 60_000 } = {}) => {
    const { taken, results, reply } = keptReplies();
    const writer = new PostgresRunWriter({ url, keepDays, patienceMs }, reply);
    onTestFinished(() => writer.close());
    const idOf = ({ run }: Sample) => run.facts.run_id;
    const take = (sample: Sample, calls = sample.calls) =>
      writer.handle({ kind: "calls", runId: idOf(sample), calls });
    const finish = (sample: Sample, { calls = sample.calls, callCount = sample.calls.length } = {}) =>
      writer.handle({ kind: "finish", runId: idOf(sample), run: sample.run, calls, callCount });
    const discard = (sample: Sample) => writer.handle({ kind: "discard", runId: idOf(sample) });
    const resultOf = (sample: Sample) => results.get(idOf(sample));
    const failed = () => [...results.values()].filter(({ ok }) => !ok);
    return { writer, taken, results, idOf, take, finish, discard, resultOf, failed };
  };

  /** The same place, as others see it. */
  const look = async (url: string) => {
    const archive = await openPostgresArchive(url, { keepDays: 36_500 });
    const db = await openPool(url);
    onTestFinished(async () => {
      await archive.close();
      await db.close();
    });
    const count = async (from: string) =>
      (await db.get(Count, `SELECT count(*) AS count FROM ${from}`))?.count ?? 0;
    return { archive, db, count };
  };

  it("has answered and kept all that it was handed once it is closed, of several months and in any number", async () => {
    const url = server().url();
    const { writer, finish, results, resultOf, failed } = await open({ url });
    const samples = Array.from({ length: 140 }, (_, i) =>
      sampleRun({ calls: 0, startedAt: Date.UTC(2030, i % 2, 10) }),
    );
    writer.warmUp();
    for (const sample of samples) finish(sample);
    await writer.close();
    expect([results.size, failed()]).toEqual([140, []]);
    const { archive, count } = await look(url);
    expect(await archive.verify()).toMatchObject({ runs: 140, problems: [] });
    for (const month of [0, 1]) expect(await count(partitionOf("runs", Date.UTC(2030, month)))).toBe(70);
    const [first] = samples as [Sample];
    const { recordDigest } = await archive.read(first.run.facts.run_id);
    expect(resultOf(first)).toEqual({ ok: true, recordDigest });
    // A closed one opens again for what still comes.
    const late = sampleRun();
    finish(late);
    await writer.idle();
    expect(resultOf(late)).toMatchObject({ ok: true });
  });

  it("says when it has taken calls, which belong to their run in the order in which they came", async () => {
    const url = server().url();
    const { writer, take, finish, taken, idOf, resultOf } = await open({ url });
    const [one, other] = [sampleRun({ calls: 4 }), sampleRun({ calls: 2, tool: "mcp__web__get" })];
    take(one, one.calls.slice(0, 1));
    take(other, other.calls.slice(0, 1));
    take(one, one.calls.slice(1, 3));
    finish(one, { calls: one.calls.slice(3), callCount: 4 });
    finish(other, { calls: other.calls.slice(1), callCount: 2 });
    await writer.idle();
    expect(taken.sort()).toEqual([one, one, other].map(idOf).sort());
    const { archive } = await look(url);
    for (const sample of [one, other]) {
      expect(resultOf(sample)).toMatchObject({ ok: true });
      const { calls } = (await archive.read(idOf(sample))).record;
      expect(calls.map(({ seq, tool }) => [seq, tool])).toEqual(
        sample.calls.map(({ facts }) => [facts.seq, facts.tool]),
      );
    }
  });

  it("archives no run of which calls were lost, or whose id another has, and says so", async () => {
    const url = server().url();
    const { writer, finish, idOf, resultOf } = await open({ url });
    const [lost, whole] = [sampleRun(), sampleRun()];
    finish(lost, { callCount: 3 });
    finish(whole);
    await writer.idle();
    expect(resultOf(lost)).toEqual({
      ok: false,
      message: `the archive's writer has lost calls of run ${idOf(lost)}: the run was not archived`,
    });
    expect(resultOf(whole)).toMatchObject({ ok: true });
    const again = sampleRun({ runId: idOf(whole), code: "other" });
    finish(again);
    await writer.idle();
    expect(resultOf(again)).toEqual({
      ok: false,
      message: `run ${idOf(whole)} was not archived: there is another run with its id`,
    });
    // The same run is the same wherever it comes from.
    finish(whole);
    await writer.idle();
    expect(resultOf(whole)).toMatchObject({ ok: true });
    expect(await (await look(url)).archive.verify()).toMatchObject({ runs: 1, problems: [] });
  });

  it("keeps no value of a run that is given up, or of which calls were lost", async () => {
    const url = server().url();
    const { writer, take, finish, discard, resultOf } = await open({ url });
    const { count } = await look(url);
    const [dropped, lost] = [sampleRun({ calls: 0 }), sampleRun({ calls: 0 })];
    take(dropped, LARGE());
    take(lost, LARGE());
    await writer.idle();
    expect(await count("held_blobs")).toBeGreaterThan(0);
    discard(dropped);
    finish(lost, { callCount: 9 });
    await writer.idle();
    expect(resultOf(lost)).toMatchObject({ ok: false });
    expect([await count("held_blobs"), await count("blobs")]).toEqual([0, 0]);
  });

  it("tells a run whose values were removed meanwhile, and archives those that end with it", async () => {
    const url = server().url();
    const { writer, take, finish, resultOf } = await open({ url });
    const { archive, db } = await look(url);
    const damaged = sampleRun({ calls: 0 });
    const sound = [sampleRun(), sampleRun()];
    take(damaged, LARGE());
    await writer.idle();
    await sweepAbandoned(db, Date.now() + 4 * DAY_MS);
    finish(damaged, { callCount: 3 });
    for (const sample of sound) finish(sample);
    await writer.idle();
    expect(resultOf(damaged)).toEqual({
      ok: false,
      message: expect.stringMatching(
        /^the archive was deleted or replaced while a run was under way: the run was not archived \(.+\)$/,
      ),
    });
    expect(sound.map(resultOf)).toMatchObject([{ ok: true }, { ok: true }]);
    expect(await archive.verify()).toMatchObject({ runs: 2, problems: [] });
  });

  it("makes a month again that somebody has dropped", async () => {
    const url = server().url();
    const { writer, finish, resultOf } = await open({ url });
    const { archive } = await look(url);
    for (const sample of [sampleRun(), sampleRun()]) {
      finish(sample);
      await writer.idle();
      expect(resultOf(sample)).toMatchObject({ ok: true });
      expect((await archive.prune({ beforeMs: Number.POSITIVE_INFINITY, nowMs: 1 })).runs).toBe(1);
    }
  });

  it("tidies: removes what is old and what was abandoned, and begins the next month", async () => {
    const url = server().url();
    const { writer, finish } = await open({ url, keepDays: 30 });
    const { archive, db, count } = await look(url);
    finish(sampleRun({ startedAt: Date.now() - 40 * DAY_MS }));
    const young = sampleRun({ startedAt: Date.now() - 20 * DAY_MS });
    finish(young);
    await writer.idle();
    await db.run("INSERT INTO held_blobs SELECT 'abandoned', id, 0 FROM blobs LIMIT 1");
    await writer.tidy();
    expect(await count("held_blobs")).toBe(0);
    expect((await archive.list({ limit: 10 })).runs.map(({ run_id: id }) => id)).toEqual([
      young.run.facts.run_id,
    ]);
    expect(await count(partitionOf("runs", monthAfter(monthOf(Date.now()))))).toBe(0);
  });

  it("tells each run in one line that the server cannot be reached, and tidies and closes all the same", async () => {
    const url = server().url().replace(encodeURIComponent(server().folder), encodeURIComponent("/none"));
    const { writer, take, finish, taken, resultOf } = await open({ url, patienceMs: 0 });
    writer.warmUp();
    const large = sampleRun({ calls: 0 });
    take(large, LARGE());
    const samples = [sampleRun(), sampleRun()];
    for (const sample of samples) finish(sample);
    finish(large, { calls: [], callCount: 3 });
    await writer.idle();
    expect(taken).toHaveLength(1);
    for (const sample of [...samples, large])
      expect(resultOf(sample)).toEqual({
        ok: false,
        message: expect.stringMatching(/^PostgreSQL \(postgres at \/none\) cannot be reached \(.+\)$/),
      });
    await writer.tidy();
    await writer.close();
  });
});
