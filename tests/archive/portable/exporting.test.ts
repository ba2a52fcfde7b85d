import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { writeRunFile } from "../../../archive/portable/run-files.ts";
import type { Database } from "../../../archive/sqlite/database.ts";
import { pruneRuns } from "../../../archive/sqlite/prune.ts";
import { canonicalJson } from "../../../protocol/canonical-json.ts";
import { exportRuns, importRuns, listRuns, readRun, verifyArchive } from "../on-connection.ts";
import { openQuickly, sha256 } from "../sample-runs.ts";
import { ExportedRuns, NOW } from "./exported-runs.ts";

const made = new ExportedRuns();
const { folder, exported, runIds } = made;

const contentsOf = async (db: Database, runId: string) => {
  const { argumentsOf, outcomeOf, textOf: _, importedAt: __, origin: ___, ...run } = await readRun(db, runId);
  const calls = await Promise.all(
    run.record.calls.map(async (call) => [await argumentsOf(call), await outcomeOf(call)]),
  );
  return { ...run, calls };
};

describe("an export", () => {
  test("takes runs to another archive, the same in every byte, marked with where they came from", async () => {
    const result = await importRuns(made.target, exported, NOW);
    expect(result).toEqual({ imported: runIds.slice(0, 3), skipped: [], refused: [] });
    for (const runId of result.imported) {
      expect(await contentsOf(made.target, runId)).toEqual(await contentsOf(made.source, runId));
      expect(await readRun(made.target, runId)).toMatchObject({ importedAt: NOW, origin: "runs.ptc" });
    }
    expect(await verifyArchive(made.target)).toMatchObject({ runs: 3, problems: [] });
    expect(listRuns(made.target, { limit: 10 })[0]).toMatchObject({ imported_at: NOW, origin: "runs.ptc" });
  });

  test("of an import is the export it was made from", async () => {
    await importRuns(made.target, exported, NOW);
    const again = join(folder.path, "again.ptc");
    await exportRuns(made.target, runIds.slice(0, 3), again);
    expect(gunzipSync(readFileSync(again))).toEqual(gunzipSync(readFileSync(exported)));
  });

  test("is taken in once: what is here is left out, and new runs follow", async () => {
    await importRuns(made.target, exported, NOW);
    const more = join(folder.path, "more.ptc");
    await exportRuns(made.source, [runIds[0] ?? "", runIds[3] ?? ""], more);
    expect(await importRuns(made.target, more, NOW)).toMatchObject({
      imported: [runIds[3]],
      skipped: [runIds[0]],
    });
    expect(await importRuns(made.target, more, NOW)).toMatchObject({
      imported: [],
      skipped: [runIds[0], runIds[3]],
    });
    expect(await verifyArchive(made.target)).toMatchObject({ runs: 4, problems: [] });
  });

  test("is kept after it was imported as long as a run of that day", async () => {
    await importRuns(made.target, exported, NOW);
    expect(pruneRuns(made.target, { beforeMs: NOW, nowMs: NOW }).runs).toBe(0);
    expect(pruneRuns(made.target, { beforeMs: NOW + 1, nowMs: NOW }).runs).toBe(3);
  });

  test("is its owner's alone, holds each value once, and never takes the place of a file", async () => {
    expect(statSync(exported).mode & 0o777).toBe(0o600);
    const blobs = made.lines.filter((line) => line.startsWith('{"blob":'));
    expect(new Set(blobs).size).toBe(blobs.length);
    const mine = join(folder.path, "mine");
    writeFileSync(mine, "precious");
    await expect(exportRuns(made.source, runIds, mine)).rejects.toMatchObject({
      code: "unwritable",
      message: expect.stringMatching(/already exists/),
    });
    symlinkSync(mine, join(folder.path, "link"));
    await expect(exportRuns(made.source, runIds, join(folder.path, "link"))).rejects.toThrow(
      /already exists/,
    );
    expect(readFileSync(mine, "utf8")).toBe("precious");
  });

  test("leaves no file when a run is not here", async () => {
    const file = join(folder.path, "failed.ptc");
    await expect(exportRuns(made.source, [runIds[0] ?? "", randomUUID()], file)).rejects.toMatchObject({
      code: "missing",
    });
    expect(existsSync(file)).toBe(false);
  });

  test("leaves out and names a run that is not as it was archived, and leaves no file when none is", async () => {
    const file = join(folder.path, "some.ptc");
    const [first = "", second = "", third = ""] = runIds;
    await importRuns(made.target, exported, NOW);
    made.target.run("UPDATE runs SET title = 'something else' WHERE run_id = ?", second);
    expect(await exportRuns(made.target, [first, second, third], file)).toEqual({
      exported: [first, third],
      damaged: [{ runId: second, message: expect.stringMatching(/^run \S+ is not as it was archived/) }],
    });
    const other = openQuickly(join(folder.path, `other-${randomUUID()}.db`));
    expect(await importRuns(other, file, NOW)).toMatchObject({ imported: [first, third], refused: [] });
    other.close();
    const none = join(folder.path, "none.ptc");
    await expect(exportRuns(made.target, [second], none)).rejects.toMatchObject({ code: "tampered" });
    expect(existsSync(none)).toBe(false);
  });

  test("of a run that is changed meanwhile is given up, and leaves no file", async () => {
    const file = join(folder.path, "changed.ptc");
    const [first = ""] = runIds;
    await importRuns(made.target, exported, NOW);
    const archive = {
      async read(runId: string) {
        const run = await readRun(made.target, runId);
        made.target.run("UPDATE blobs SET codec = 0, size = 2, content = ?", Buffer.from("[]"));
        return run;
      },
    };
    await expect(writeRunFile(archive, [first], file)).rejects.toMatchObject({
      code: "tampered",
      message: `run ${first} was changed while it was exported: start again`,
    });
    expect(existsSync(file)).toBe(false);
  });
});

test("the form of an export is that of its description", () => {
  const [header, ...rest] = made.lines.map((line) => JSON.parse(line));
  const end = rest.pop();
  expect(header).toEqual({ format: "ptc-archive", version: 1 });
  for (const item of rest) {
    if ("blob" in item) expect(item.blob).toBe(sha256(item.json));
    else expect(item.run).toBe(sha256(canonicalJson(item.record)));
  }
  const count = (key: string) => rest.filter((item) => key in item).length;
  expect(end).toEqual({
    runs: count("run"),
    blobs: count("blob"),
    digest: sha256(
      made
        .body()
        .map((line) => `${line}\n`)
        .join(""),
    ),
  });
});
