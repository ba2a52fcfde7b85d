import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { RunRecord } from "../../archive/run-record.ts";
import { summarizeRun } from "../../archive/run-summary.ts";
import { SqliteArchiveStore } from "../../archive/sqlite/sqlite-archive-store.ts";
import { loadReplayable } from "../../execution/replay/load-replayable.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import { MemoryStore } from "./memory-store.ts";
import { sampleRun } from "./sample-runs.ts";

const EARLIER = join(import.meta.dirname, "sqlite/fixtures/earlier-archive.db.br");
const idOf = (n: number) => `0000000${n}-0000-4000-8000-000000000000`;

test("an archive that an earlier version has written is read, checked, and replayed from", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ptc-earlier-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "archive.db");
  writeFileSync(path, brotliDecompressSync(readFileSync(EARLIER)), { mode: 0o600 });
  const archive = new SqliteArchiveStore({ path, keepDays: 36_500 });
  onTestFinished(() => archive.close());
  // Three runs of its own, of which the first was pruned, and one that was imported.
  expect(await archive.verify()).toMatchObject({ runs: 3, pruned: 0, problems: [] });
  expect((await archive.head()).slice(0, 21)).toBe("5:sha256:51f8604e6242");
  expect(
    (await archive.list({ limit: 9 })).runs.map(({ run_id, status, user, origin }) => [
      run_id,
      status,
      user,
      origin,
    ]),
  ).toEqual([
    [idOf(4), "ok", null, "elsewhere.ptc"],
    [idOf(3), "ScriptError", "ada", null],
    [idOf(2), "ok", "ada", null],
  ]);
  const run = await archive.read(idOf(2));
  expect(run).toMatchObject({ code: "run(2)", data: { n: 2 }, stderrText: "said so\n" });
  expect(run.files.map(({ name, base64 }) => [name, Buffer.from(base64, "base64").toString()])).toEqual([
    ["data.csv", "a,b\n1,2\n"],
  ]);
  const [, second] = run.record.calls;
  expect(second && (await run.outcomeOf(second))).toEqual({ ok: true, data: "answer 2.1 ".repeat(301) });
  expect(await loadReplayable(archive, idOf(2))).toMatchObject({ ok: true });
});

describe("a run that a later version has archived", () => {
  let store: MemoryStore;
  let sound: string;
  beforeEach(async () => {
    store = new MemoryStore();
    sound = await archived();
  });

  async function archived(): Promise<string> {
    const { run, calls } = sampleRun();
    const recording = store.begin(run.facts.run_id);
    for (const call of calls) await recording.addCall(call);
    await recording.finish(run);
    return run.facts.run_id;
  }

  /** Archives a run as a later version would: its envelope and its record changed, and each named by its digest. */
  async function later(
    change: (record: RunRecord) => object,
    inEnvelope: (envelope: object) => object = (envelope) => envelope,
  ): Promise<string> {
    const other = new MemoryStore();
    const { run, calls } = sampleRun();
    const recording = other.begin(run.facts.run_id);
    for (const call of calls) await recording.addCall(call);
    await recording.finish(run);
    const { record, recordDigest } = await other.read(run.facts.run_id);
    for (const [digest, text] of other.texts)
      if (digest !== record.envelope && digest !== recordDigest) store.put(text);
    const envelopeOfLater = inEnvelope(run.envelope) as Envelope;
    const envelope = store.put(JSON.stringify(envelopeOfLater));
    const columns = summarizeRun(record, { ...run, envelope: envelopeOfLater });
    store.append({ ...record, envelope, ...change({ ...record, envelope }) } as RunRecord, columns);
    return run.facts.run_id;
  }

  test("with members that this one does not know is read, without them where they would not be understood", async () => {
    const trail = store.put('"where it went"');
    const runId = await later(
      (record) => ({
        cost: { tokens: 3 },
        versions: { ...record.versions, os: "x" },
        calls: record.calls.map((call) => ({ ...call, retried: 2 })),
        kept: { trail },
      }),
      (envelope) => ({ ...envelope, waited_ms: 5 }),
    );
    const run = await store.read(runId);
    expect(run.record).toMatchObject({ cost: { tokens: 3 }, kept: { trail } });
    expect(run.envelope).toMatchObject({ run_id: runId, waited_ms: 5 });
    expect(await store.verify()).toMatchObject({ runs: 2, problems: [] });
    // What it kept is checked although it is not known.
    store.texts.set(trail, '"elsewhere"');
    await expect(store.read(runId)).rejects.toMatchObject({
      code: "tampered",
      message: expect.stringContaining(`the blob ${trail} does not match its digest`),
    });
  });

  test.each<[string, (envelope: object) => object]>([
    [
      "in its result",
      (envelope) => ({
        ...envelope,
        result: {
          ok: true,
          data: 1,
          metrics: { duration_ms: 1, tool_calls: 2, tool_result_bytes: 3, bytes: 4 },
          more: 1,
        },
      }),
    ],
    [
      "in its failure",
      (envelope) => ({
        ...envelope,
        result: {
          ok: false,
          error: { type: "ScriptError", message: "no", retryable: false, hint: "x" },
          metrics: { duration_ms: 1, tool_calls: 2, tool_result_bytes: 3 },
        },
      }),
    ],
  ])("is read with what its envelope has more %s", async (_, change) => {
    const runId = await later(() => ({}), change);
    expect((await store.read(runId)).envelope).toMatchObject({ run_id: runId, ...change({}) });
    expect((await store.verify()).problems).toEqual([]);
  });

  test("in a format of its own is told as that, and hides no other", async () => {
    const runId = await later(() => ({ format: 2 }));
    const message = `run ${runId} cannot be read: it has format 2, which only a newer ptc reads`;
    await expect(store.read(runId)).rejects.toMatchObject({ code: "newer", message });
    expect(await store.verify()).toMatchObject({
      runs: 2,
      problems: [],
      notes: [message, expect.any(String)],
    });
    expect((await store.read(sound)).record.run_id).toBe(sound);
  });

  test.each<[string, (record: RunRecord) => object, RegExp]>([
    ["a format that no ptc writes", () => ({ format: 0 }), /the record is not one that ptc writes/],
    ["a number out of bounds", () => ({ started_at: -1 }), /a wrong started_at/],
    ["a member of another kind", () => ({ principal: 7 }), /a wrong principal/],
    [
      "a call out of bounds",
      ({ calls }) => ({ calls: calls.map((call) => ({ ...call, seq: -1 })) }),
      /a wrong calls\.0\.seq/,
    ],
  ])("is held to the bounds of what is known all the same: %s", async (_, change, message) => {
    const runId = await later(change);
    await expect(store.read(runId)).rejects.toMatchObject({
      code: "tampered",
      message: expect.stringMatching(message),
    });
  });

  test("does not lend its members to a run that was edited: the digests decide", async () => {
    const { record, recordDigest } = await store.read(sound);
    store.texts.set(recordDigest, JSON.stringify({ ...record, more: 1 }));
    await expect(store.read(sound)).rejects.toThrow(/the record does not match its digest/);
  });
});
