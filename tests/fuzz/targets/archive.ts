import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ArchiveError } from "../../../archive/archive-error.ts";
import type { Database } from "../../../archive/sqlite/database.ts";
import { pruneRuns } from "../../../archive/sqlite/prune.ts";
import { findRuns, readStats } from "../../../archive/sqlite/sqlite-archive-store.ts";
import { exportRuns, importRuns, listRuns, readRun, verifyArchive } from "../../archive/on-connection.ts";
import { openQuickly } from "../../archive/sample-runs.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileExport, sealLines } from "../hostile/hostile-export.ts";

const NOW = Date.UTC(2031, 0, 1);
const RUNS_BEFORE_PRUNING = 20;

let folder = "";
let db: Database;
let opened = 0;
let exported = 0;

function openAnother(): void {
  db = openQuickly(join(folder, `archive-${++opened}.db`));
}

/** A file of runs that somebody else wrote: it is taken in whole, or refused, and the archive goes on either way. */
export const target = fuzzTarget({
  name: "archive",
  iterations: 20,
  generate: hostileExport,
  async open() {
    folder = mkdtempSync(join(tmpdir(), "ptc-fuzz-"));
    openAnother();
    return () => {
      db.close();
      rmSync(folder, { recursive: true });
    };
  },
  async check(input, random) {
    try {
      // Digests that do not fit are told at once; what comes after that is of more interest.
      await checkImport(gzipSync(sealLines(input.toString("utf8")), { level: 1 }));
      if (random.chance(0.05)) await checkImport(gzipSync(input));
      if (random.chance(0.05)) await checkImport(input);
      if (random.chance(0.05)) {
        const packed = gzipSync(input);
        await checkImport(packed.subarray(0, random.below(packed.length)));
      }
    } catch (error) {
      // What is wrong with this one is not to be seen in those after it.
      db.close();
      openAnother();
      throw error;
    }
  },
});

async function checkImport(bytes: Buffer): Promise<void> {
  const file = join(folder, "runs.ptc");
  writeFileSync(file, bytes);
  const before = listRuns(db, { limit: 1_000 }).length;
  let imported: string[] = [];
  try {
    imported = (await importRuns(db, file, NOW)).imported;
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    assert.match(error.code, /^(?:bad-file|conflict)$/, error.message);
    assert.match(error.message, /^[^\n\r]+$/, "a message is one line");
  }
  const listed = listRuns(db, { limit: 1_000 });
  assert.equal(listed.length, before + imported.length, "something is half taken in");
  assert.deepEqual((await verifyArchive(db)).problems, []);
  const stats = readStats(db);
  for (const figure of Object.values(stats.total)) assert.ok(Number.isFinite(figure));
  for (const runId of imported) {
    await readRun(db, runId);
    assert.equal(findRuns(db, runId).kind, "one");
  }
  if (imported.length > 0) {
    exported++;
    await exportRuns(db, imported, join(folder, `again-${exported}.ptc`));
  }
  if (listed.length <= RUNS_BEFORE_PRUNING) return;
  pruneRuns(db, { beforeMs: Number.MAX_SAFE_INTEGER, nowMs: Number.MAX_SAFE_INTEGER });
  assert.deepEqual(listRuns(db, { limit: 1_000 }), []);
}
