import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import type { CallToArchive } from "../../archive/build-record.ts";
import type { CallRecord } from "../../archive/run-record.ts";
import { openForReading } from "../../archive/sqlite/connection.ts";
import type { Database } from "../../archive/sqlite/database.ts";
import { readStats } from "../../archive/sqlite/sqlite-archive-store.ts";
import { storeRun } from "../../archive/sqlite/store-run.ts";
import { SqliteArchiveWriter } from "../../archive/sqlite/writer/sqlite-archive-writer.ts";
import { writeJson } from "../../base/json.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { tries } from "../tries.ts";
import { archiveRun, storeSample, useFolder } from "./made-archives.ts";
import { readRun, verifyArchive } from "./on-connection.ts";
import { openQuickly, sampleCall, sampleRun } from "./sample-runs.ts";

const at = useFolder();

describe("a record", () => {
  let db: Database;
  beforeAll(() => {
    db = openQuickly(at("properties.db"));
  });
  afterAll(() => db.close());

  test("comes back as it was handed over, whatever JSON is in it", () => {
    const text = fc.string({ unit: "binary", maxLength: 300 });
    const properties = fc.asyncProperty(
      fc.record({
        code: text,
        data: fc.jsonValue(),
        consoleText: text,
        stderrText: text,
        answers: fc.array(fc.jsonValue(), { maxLength: 6 }),
      }),
      async ({ code, data, consoleText, stderrText, answers }) => {
        const { run, calls } = sampleRun({
          code,
          data,
          consoleText,
          stderrText,
          calls: answers.length,
          answer: (seq) => answers[seq],
        });
        storeRun(db, run, calls.toReversed());
        const found = await readRun(db, run.facts.run_id);
        expect(found.code).toBe(run.code);
        expect(writeJson(found.data)).toBe(run.dataJson);
        expect(found.consoleText).toBe(run.consoleText);
        expect(found.stderrText).toBe(run.stderrText);
        expect(found.envelope).toEqual(run.envelope);
        expect(writeJson(found.environment)).toBe(run.environmentJson);
        expect(found.record).toMatchObject(run.facts);
        expect(found.record.calls.map(({ arguments: _, outcome: __, ...facts }) => facts)).toEqual(
          calls.map(({ facts }) => facts),
        );
        for (const [index, call] of found.record.calls.entries()) {
          // Arguments in canonical form; what a program was given, with its members in the order it saw.
          expect(await found.argumentsOf(call)).toEqual({ a: 1, b: index });
          expect(call.arguments).toBe(digestOf({ a: 1, b: index }));
          expect(writeJson(await found.outcomeOf(call))).toBe(calls[index]?.outcomeJson);
        }
      },
    );
    return fc.assert(properties, { numRuns: tries(150) });
  }, 120_000);

  test("is one link of a chain in which nothing is wrong", async () => {
    const { problems, runs } = await verifyArchive(db);
    expect(problems).toEqual([]);
    expect(runs).toBeGreaterThan(0);
  });

  test("keeps the members of a result in their order, as a replay must see them", async () => {
    const answer = () => JSON.parse('{"z":1,"a":{"__proto__":2,"b":3}}');
    const found = await readRun(db, storeSample(db, { calls: 1, answer }));
    const [call] = found.record.calls;
    expect(call && writeJson(await found.outcomeOf(call))).toBe(
      '{"ok":true,"data":{"z":1,"a":{"__proto__":2,"b":3}}}',
    );
  });

  test("stores equal values once, and large ones compressed", async () => {
    const path = at("once.db");
    const archive = openQuickly(path);
    const page = "a line of a page that repeats\n".repeat(4_000);
    for (let i = 0; i < 20; i++) storeSample(archive, { calls: 5, answer: () => page });
    const { problems, blobs } = await verifyArchive(archive);
    archive.close();
    expect(problems).toEqual([]);
    // Per run: environment, envelope and record. Shared: code, data, console, one answer, five times arguments.
    expect(blobs).toBe(20 * 3 + 10);
  });

  test("holds results that nest as deep as any that is taken", async () => {
    const deepest = JSON.parse(`${"[".repeat(999)}${"]".repeat(999)}`);
    const found = await readRun(db, storeSample(db, { calls: 1, answer: () => deepest }));
    expect(await Promise.all(found.record.calls.map((call) => found.outcomeOf(call)))).toEqual([
      { ok: true, data: deepest },
    ]);
  });

  test("is refused when its envelope is another run's, or a reader would not accept it", async () => {
    const { run, calls } = sampleRun();
    const foreign = { ...run, envelope: sampleRun().run.envelope };
    expect(() => storeRun(db, foreign, calls)).toThrow(/another run's/);
    const [call] = calls;
    if (call === undefined) throw new Error("a sample has calls");
    const wrong = { ...call, facts: { ...call.facts, duration_ms: -1 } };
    expect(() => storeRun(db, run, [wrong])).toThrow(/calls\.0\.duration_ms: it was not archived/);
    expect(() => storeRun(db, run, [call, call])).toThrow(/two calls 0: it was not archived/);
    const endless = { ...run.envelope, duration_ms: 2 ** 53 - 1 };
    expect(() => storeRun(db, { ...run, envelope: endless }, calls)).toThrow(/duration_ms: it was not/);
    await expect(readRun(db, run.facts.run_id)).rejects.toThrow(/not in the archive/);
    expect((await verifyArchive(db)).problems).toEqual([]);
  });

  test.each([
    ["an outcome that nests", { outcomeJson: `{"ok":true,"data":${"[".repeat(1_000)}${"]".repeat(1_000)}}` }],
    ["an outcome that is no JSON", { outcomeJson: "Infinity" }],
    ["arguments without a canonical form", { argumentsJson: '{"n":1e999}' }],
    ["arguments twice in one", { argumentsJson: '{"n":1,"n":2}' }],
  ])("of a run with a call that has %s says so, and keeps the rest", async (_, change) => {
    const { run, calls } = sampleRun({ calls: 3 });
    const [first, second, third] = calls as [CallToArchive, CallToArchive, CallToArchive];
    storeRun(db, run, [first, { ...second, ...change }, third]);
    const read = await readRun(db, run.facts.run_id);
    expect(read.record.calls.map(({ unkept }) => unkept === undefined)).toEqual([true, false, true]);
    expect(await read.outcomeOf(read.record.calls[2] as CallRecord)).toEqual(JSON.parse(third.outcomeJson));
    expect((await verifyArchive(db)).problems).toEqual([]);
  });

  test("is found whatever its program named tools, and wherever its first line was cut", async () => {
    const half = ["mcp__math__\ud800", "mcp__math__\ud801", "mcp__math__\u0000", "__proto__"];
    const code = `${"x".repeat(119)}\u{1f600} and more`;
    const { run } = sampleRun({ code, calls: 0 });
    const calls = half.map((tool, seq) => sampleCall(seq, "fine", tool));
    storeRun(db, { ...run, facts: { ...run.facts, file_name: "a\udc00.ts" } }, calls);
    expect((await readRun(db, run.facts.run_id)).record.calls.map(({ tool }) => tool)).toEqual(half);
    expect((await verifyArchive(db)).problems).toEqual([]);
    expect(readStats(db).tools.map(({ calls: count }) => count)).toContain(2);
  });
});

describe("the writer", () => {
  test("archives runs at the same time, call by call, and closes when all are in", async () => {
    const path = at("writer.db");
    const writer = new SqliteArchiveWriter({ path, keepDays: 30 });
    const samples = Array.from({ length: 10 }, () => sampleRun({ calls: 30 }));
    const results = await Promise.all(samples.map((sample) => archiveRun(writer, sample)));
    await writer.close();
    const db = openForReading(path);
    for (const [i, { run }] of samples.entries())
      expect(results[i]).toEqual({
        ok: true,
        recordDigest: (await readRun(db, run.facts.run_id)).recordDigest,
      });
    expect(await verifyArchive(db)).toMatchObject({ runs: 10, problems: [] });
    db.close();
  });

  test("puts large results on the disk while their run goes on, and forgets them with it", async () => {
    const path = at("large.db");
    const writer = new SqliteArchiveWriter({ path, keepDays: 30 });
    const { run } = sampleRun();
    const kept = writer.begin(run.facts.run_id);
    const dropped = writer.begin(sampleRun().run.facts.run_id);
    for (let seq = 0; seq < 12; seq++) {
      await kept.addCall(sampleCall(seq, `${seq}`.repeat(1_000_000)));
      // The odd ones are the same.
      await dropped.addCall(sampleCall(seq, `${seq % 2 === 0 ? "dropped " : ""}${seq}`.repeat(1_000_000)));
    }
    dropped.discard();
    expect(await kept.finish(run)).toMatchObject({ ok: true });
    await writer.close();
    const db = openForReading(path);
    expect(await verifyArchive(db)).toMatchObject({ runs: 1, problems: [], blobs: 12 * 2 + 7 });
    expect((await readRun(db, run.facts.run_id)).record.calls).toHaveLength(12);
    expect(db.all(z.unknown(), "SELECT * FROM held_blobs")).toEqual([]);
    db.close();
  });

  test("does not archive a run of which a call could not be handed over", async () => {
    const writer = new SqliteArchiveWriter({ path: at("lost.db"), keepDays: 30 });
    const { run } = sampleRun();
    const recording = writer.begin(run.facts.run_id);
    const large = sampleCall(0, "x".repeat(100_000));
    await recording.addCall({ ...large, facts: { ...large.facts, approver: (() => {}) as never } });
    expect(await recording.finish(run)).toMatchObject({
      ok: false,
      message: expect.stringMatching(/has lost calls/),
    });
    await writer.close();
  });

  test("tells the run, and only it, that its archive cannot be opened, and tries again with the next", async () => {
    const inTheWay = at("in-the-way");
    const path = join(inTheWay, "archive.db");
    writeFileSync(inTheWay, "a file where a folder is needed");
    const writer = new SqliteArchiveWriter({ path, keepDays: 30 });
    const message = expect.stringMatching(/^[^\n]*archive\.db cannot be written \(E[^\n]*$/);
    expect(await archiveRun(writer, sampleRun())).toEqual({ ok: false, message });
    rmSync(inTheWay);
    const second = sampleRun();
    const again = writer.begin(second.run.facts.run_id);
    for (const call of second.calls) await again.addCall(call);
    expect(await again.finish(second.run)).toMatchObject({ ok: true });
    await writer.close();
    // It is there already.
    expect(await again.finish(second.run)).toMatchObject({ ok: true });
  });
});
