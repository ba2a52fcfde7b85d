import { createHash, randomUUID } from "node:crypto";
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pruneRuns } from "../../../archive/sqlite/changes/prune.ts";
import { storeRun } from "../../../archive/sqlite/changes/store-run.ts";
import type { Database } from "../../../archive/sqlite/file/database.ts";
import { canonicalJson } from "../../../protocol/canonical-json.ts";
import { programFile } from "../../../protocol/program-files.ts";
import { exportRuns, importRuns, listRuns, readRun, verifyArchive } from "../on-connection.ts";
import { openQuickly, sampleRun, sha256, temporaryFolder } from "../sample-runs.ts";

const folder = temporaryFolder();
const NOW = Date.UTC(2031, 0, 1);
const exported = join(folder.path, "runs.ptc");

let source: Database;
let target: Database;
const runIds: string[] = [];
/** The lines of the export, without their line feeds. */
let lines: string[];

beforeAll(async () => {
  source = openQuickly(join(folder.path, "source.db"));
  for (let i = 0; i < 4; i++) {
    const files = i === 1 ? undefined : [programFile("a.bin", Buffer.from([0, 255, i]))];
    const { run, calls } = sampleRun({
      code: `run(${i})`,
      files,
      answer: (seq) => `shared ${seq} `.repeat(300),
    });
    storeRun(source, run, calls);
    runIds.push(run.facts.run_id);
  }
  await exportRuns(source, runIds.slice(0, 3), exported);
  lines = gunzipSync(readFileSync(exported)).toString().trimEnd().split("\n");
});
beforeEach(() => {
  target?.close();
  target = openQuickly(join(folder.path, `target-${randomUUID()}.db`));
});
afterAll(() => {
  source.close();
  target.close();
  folder.remove();
});

const contentsOf = async (db: Database, runId: string) => {
  const { argumentsOf, outcomeOf, textOf: _, importedAt: __, origin: ___, ...run } = await readRun(db, runId);
  const calls = await Promise.all(
    run.record.calls.map(async (call) => [await argumentsOf(call), await outcomeOf(call)]),
  );
  return { ...run, calls };
};

describe("an export", () => {
  test("takes runs to another archive, the same in every byte, marked with where they came from", async () => {
    const result = await importRuns(target, exported, NOW);
    expect(result).toEqual({ imported: runIds.slice(0, 3), skipped: [], refused: [] });
    for (const runId of result.imported) {
      expect(await contentsOf(target, runId)).toEqual(await contentsOf(source, runId));
      expect(await readRun(target, runId)).toMatchObject({ importedAt: NOW, origin: "runs.ptc" });
    }
    expect(await verifyArchive(target)).toMatchObject({ runs: 3, problems: [] });
    expect(listRuns(target, { limit: 10 })[0]).toMatchObject({ imported_at: NOW, origin: "runs.ptc" });
  });

  test("of an import is the export it was made from", async () => {
    await importRuns(target, exported, NOW);
    const again = join(folder.path, "again.ptc");
    await exportRuns(target, runIds.slice(0, 3), again);
    expect(gunzipSync(readFileSync(again))).toEqual(gunzipSync(readFileSync(exported)));
  });

  test("is taken in once: what is here is left out, and new runs follow", async () => {
    await importRuns(target, exported, NOW);
    const more = join(folder.path, "more.ptc");
    await exportRuns(source, [runIds[0] ?? "", runIds[3] ?? ""], more);
    expect(await importRuns(target, more, NOW)).toMatchObject({
      imported: [runIds[3]],
      skipped: [runIds[0]],
    });
    expect(await importRuns(target, more, NOW)).toMatchObject({
      imported: [],
      skipped: [runIds[0], runIds[3]],
    });
    expect(await verifyArchive(target)).toMatchObject({ runs: 4, problems: [] });
  });

  test("is kept after it was imported as long as a run of that day", async () => {
    await importRuns(target, exported, NOW);
    expect(pruneRuns(target, { beforeMs: NOW, nowMs: NOW }).runs).toBe(0);
    expect(pruneRuns(target, { beforeMs: NOW + 1, nowMs: NOW }).runs).toBe(3);
  });

  test("is its owner's alone, holds each value once, and never takes the place of a file", async () => {
    expect(statSync(exported).mode & 0o777).toBe(0o600);
    const blobs = lines.filter((line) => line.startsWith('{"blob":'));
    expect(new Set(blobs).size).toBe(blobs.length);
    const mine = join(folder.path, "mine");
    writeFileSync(mine, "precious");
    await expect(exportRuns(source, runIds, mine)).rejects.toMatchObject({
      code: "unwritable",
      message: expect.stringMatching(/there already/),
    });
    symlinkSync(mine, join(folder.path, "link"));
    await expect(exportRuns(source, runIds, join(folder.path, "link"))).rejects.toThrow(/there already/);
    expect(readFileSync(mine, "utf8")).toBe("precious");
  });

  test("leaves no file when a run is not here", async () => {
    const file = join(folder.path, "failed.ptc");
    await expect(exportRuns(source, [runIds[0] ?? "", randomUUID()], file)).rejects.toMatchObject({
      code: "missing",
    });
    expect(existsSync(file)).toBe(false);
  });

  test("leaves out and names a run that is not as it was archived, and leaves no file when none is", async () => {
    const file = join(folder.path, "some.ptc");
    const [first = "", second = "", third = ""] = runIds;
    await importRuns(target, exported, NOW);
    target.run("UPDATE runs SET title = 'something else' WHERE run_id = ?", second);
    expect(await exportRuns(target, [first, second, third], file)).toEqual({
      exported: [first, third],
      damaged: [{ runId: second, message: expect.stringMatching(/^run \S+ is not as it was archived/) }],
    });
    const other = openQuickly(join(folder.path, `other-${randomUUID()}.db`));
    expect(await importRuns(other, file, NOW)).toMatchObject({ imported: [first, third], refused: [] });
    other.close();
    const none = join(folder.path, "none.ptc");
    await expect(exportRuns(target, [second], none)).rejects.toMatchObject({ code: "tampered" });
    expect(existsSync(none)).toBe(false);
  });
});

test("the form of an export is that of its description", () => {
  const hash = createHash("sha256");
  for (const line of lines.slice(0, -1)) hash.update(`${line}\n`);
  const [header, ...rest] = lines.map((line) => JSON.parse(line));
  const end = rest.pop();
  expect(header).toEqual({ format: "ptc-archive", version: 1 });
  for (const item of rest) {
    if ("blob" in item) expect(item.blob).toBe(sha256(item.json));
    else expect(item.run).toBe(sha256(canonicalJson(item.record)));
  }
  const count = (key: string) => rest.filter((item) => key in item).length;
  expect(end).toEqual({ runs: count("run"), blobs: count("blob"), digest: `sha256:${hash.digest("hex")}` });
});
