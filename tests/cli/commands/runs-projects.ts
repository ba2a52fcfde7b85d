import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { afterAll } from "vitest";
import { openForWriting } from "../../../archive/sqlite/file/connection.ts";
import type { Surroundings } from "../../../cli/command.ts";
import { main } from "../../../cli/main.ts";
import { type SampleRun, storeSample } from "../../server/reports/sample-archive.ts";

/** Makes folders with an archive of some runs in them, in which `ptc runs` is called in this process. */
export function useProjects() {
  const root = mkdtempSync(join(tmpdir(), "ptc-runs-"));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  return (...samples: SampleRun[]) => {
    const folder = mkdtempSync(join(root, "project-"));
    const file = join(folder, "archive.db");
    writeFileSync(join(folder, "ptc.yaml"), "archive: { path: archive.db, keep_days: 10 }\n");
    const records = samples.length === 0 ? [] : archive(file, samples);
    return { folder, file, records, ptc: (...args: string[]) => ptcRuns(folder, args) };
  };
}

function archive(file: string, samples: readonly SampleRun[]) {
  const db = openForWriting(file);
  const records = samples.map((sample) => storeSample(db, sample).record);
  db.close();
  return records;
}

async function ptcRuns(
  cwd: string,
  args: string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  const surroundings = surroundingsIn(cwd, ["node", "ptc", "runs", ...args]);
  const code = await main(surroundings);
  return { code, stdout: surroundings.stdout.text, stderr: surroundings.stderr.text };
}

/** What a command touches, in a folder, with what it says kept. */
export function surroundingsIn(
  cwd: string,
  argv: string[] = [],
): Surroundings & { stdout: Text; stderr: Text } {
  return {
    argv,
    env: {},
    stdin: Readable.from([]),
    stdout: new Text(),
    stderr: new Text(),
    cwd: () => cwd,
    on: () => {},
    exit: () => {
      throw new Error("exit");
    },
  };
}

class Text extends Writable {
  text = "";
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

/** The ids in what `ptc runs list --json` prints. */
export function idsOf(stdout: string): string[] {
  return (JSON.parse(stdout) as { run_id: string }[]).map(({ run_id }) => run_id);
}

export const DAY_MS = 86_400_000;

export function ago(ms: number): number {
  return Date.now() - ms;
}
