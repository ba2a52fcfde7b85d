import { afterAll, describe, expect, it } from "vitest";
import { allRuns } from "../../cli/commands/runs/select-run.ts";
import { archiveRun, useArchive } from "./sample-archive.ts";

describe("all runs", () => {
  const { db, remove } = useArchive();
  afterAll(remove);

  it("are read page by page, each once and the newest first, whatever a page holds", () => {
    // Several that started at the same time, across the end of a page.
    const runs = [10, 20, 20, 20, 30].map((startedAt) => archiveRun(db, { startedAt }).record.run_id);
    for (const pageSize of [1, 2, 5, 6]) {
      expect([...allRuns(db, {}, pageSize)].map(({ run_id }) => run_id)).toEqual(runs.toReversed());
      expect([...allRuns(db, { sinceMs: 20 }, pageSize)]).toHaveLength(4);
    }
  });
});
