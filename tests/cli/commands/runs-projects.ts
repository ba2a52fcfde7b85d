import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { openForWriting } from "../../../archive/sqlite/connection.ts";
import { type SampleRun, storeSample } from "../../server/reports/sample-archive.ts";
import { ptcIn } from "../in-process.ts";

/** Makes folders with an archive of some runs in them, in which `ptc runs` is called in this process. */
export function useProjects() {
  const root = mkdtempSync(join(tmpdir(), "ptc-runs-"));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  return (...samples: SampleRun[]) => {
    const folder = mkdtempSync(join(root, "project-"));
    const file = join(folder, "archive.db");
    writeFileSync(join(folder, "ptc.yaml"), "archive: { path: archive.db, keep_days: 10 }\n");
    const records = samples.length === 0 ? [] : archive(file, samples);
    return { folder, file, records, ptc: (...args: string[]) => ptcIn(folder, ["runs", ...args]) };
  };
}

function archive(file: string, samples: readonly SampleRun[]) {
  const db = openForWriting(file);
  const records = samples.map((sample) => storeSample(db, sample).record);
  db.close();
  return records;
}

/** The ids in what `ptc runs list --json` prints. */
export function idsOf(stdout: string): string[] {
  return (JSON.parse(stdout) as { run_id: string }[]).map(({ run_id }) => run_id);
}

export const DAY_MS = 86_400_000;

export function ago(ms: number): number {
  return Date.now() - ms;
}
