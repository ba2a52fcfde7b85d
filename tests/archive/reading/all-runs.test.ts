import { afterAll, describe, expect, it } from "vitest";
import { storeSample, useArchive } from "../../server/reports/sample-archive.ts";
import { listAllRuns } from "../on-connection.ts";

describe("all runs", () => {
  const refuse = ({ message }: { message: string }) => {
    throw new Error(message);
  };
  const { db, remove } = useArchive();
  afterAll(remove);

  it("are read page by page, each once and the newest first, whatever a page holds", async () => {
    // Several that started at the same time, across the end of a page.
    const runs = [10, 20, 20, 20, 30].map((startedAt) => storeSample(db, { startedAt }).record.run_id);
    for (const pageSize of [1, 2, 5, 6]) {
      expect((await listAllRuns(db, {}, refuse, pageSize)).map(({ run_id }) => run_id)).toEqual(
        runs.toReversed(),
      );
      expect(await listAllRuns(db, { sinceMs: 20 }, refuse, pageSize)).toHaveLength(4);
    }
  });
});
