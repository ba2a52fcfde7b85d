/** What the writing thread for SQLite does with the runs that it is handed, in the thread of the test. */
import { expect, onTestFinished, test } from "vitest";
import { openForReading } from "../../../archive/sqlite/connection.ts";
import { RunWriter } from "../../../archive/sqlite/writer/run-writer.ts";
import { useFolder } from "../made-archives.ts";
import { readRun, verifyArchive } from "../on-connection.ts";
import { keptReplies, sampleCall, sampleRun } from "../sample-runs.ts";

type Sample = ReturnType<typeof sampleRun>;

const at = useFolder();

function open(path: string) {
  const { taken, results, reply } = keptReplies();
  const writer = new RunWriter({ path, keepDays: 36_500 }, reply);
  onTestFinished(() => writer.close());
  const idOf = ({ run }: Sample) => run.facts.run_id;
  const take = (sample: Sample, calls = sample.calls) =>
    writer.handle({ kind: "calls", runId: idOf(sample), calls });
  const finish = (sample: Sample, { calls = sample.calls, callCount = sample.calls.length } = {}) => {
    writer.handle({ kind: "finish", runId: idOf(sample), run: sample.run, calls, callCount });
    return results.get(idOf(sample));
  };
  return { writer, taken, idOf, take, finish };
}

async function verified(path: string) {
  const db = openForReading(path);
  try {
    return await verifyArchive(db);
  } finally {
    db.close();
  }
}

test("calls belong to their run in the order in which they came, each batch is answered, and runs end in any order", async () => {
  const path = at("order", "archive.db");
  const { writer, taken, idOf, take, finish } = open(path);
  writer.warmUp();
  const [one, other] = [sampleRun({ calls: 4 }), sampleRun({ calls: 2 })];
  take(one, one.calls.slice(0, 1));
  take(other, other.calls.slice(0, 1));
  take(one, one.calls.slice(1, 3));
  expect(taken).toEqual([one, other, one].map(idOf));
  expect(finish(other, { calls: other.calls.slice(1) })).toMatchObject({ ok: true });
  expect(finish(one, { calls: one.calls.slice(3) })).toMatchObject({ ok: true });
  expect(await verified(path)).toMatchObject({ runs: 2, problems: [] });
  const db = openForReading(path);
  const { calls } = (await readRun(db, idOf(one))).record;
  expect(calls.map(({ seq }) => seq)).toEqual([0, 1, 2, 3]);
  db.close();
});

test("a run of which calls were lost is told, and nothing of it is kept, nor of one that is given up", async () => {
  const path = at("lost", "archive.db");
  const { writer, idOf, take, finish } = open(path);
  const [lost, dropped, whole] = [sampleRun({ calls: 0 }), sampleRun({ calls: 0 }), sampleRun()];
  // More than a run may have in memory.
  for (const sample of [lost, dropped]) take(sample, [sampleCall(0, `${idOf(sample)}`.repeat(150_000))]);
  expect((await verified(path)).blobs).toBeGreaterThan(0);
  expect(finish(lost, { callCount: 3 })).toEqual({
    ok: false,
    message: `the archive's writer has lost calls of run ${idOf(lost)}: the run was not archived`,
  });
  writer.handle({ kind: "discard", runId: idOf(dropped) });
  expect(await verified(path)).toMatchObject({ runs: 0, blobs: 0, problems: [] });
  expect(finish(whole)).toMatchObject({ ok: true });
});

test("a run that cannot be handled fails alone, in one line, and each of its batches is answered", async () => {
  const path = at("odd", "archive.db");
  const { taken, idOf, take, finish } = open(path);
  const [odd, odder, whole] = [sampleRun({ calls: 1 }), sampleRun({ calls: 1 }), sampleRun()];
  const message = expect.stringMatching(/^the run could not be archived: [^\n]+$/);
  take(odd, [{} as never]);
  take(odd);
  expect(taken).toEqual([odd, odd].map(idOf));
  expect(finish(odd)).toEqual({ ok: false, message });
  expect(finish(odder, { calls: 5 as never })).toEqual({ ok: false, message });
  expect(finish(whole)).toMatchObject({ ok: true });
  // It is no other run's fault, nor that of the same run later.
  expect(finish(odd)).toMatchObject({ ok: true });
  expect(await verified(path)).toMatchObject({ runs: 2, problems: [] });
});
