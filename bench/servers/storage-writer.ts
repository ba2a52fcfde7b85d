/** Archives runs for the given number of seconds, 8 at a time, and reports how many. */
import { openPostgresArchive } from "../../archive/postgres/postgres.ts";
import { archiveRun } from "../../tests/archive/made-archives.ts";
import { sampleRun } from "../../tests/archive/sample-runs.ts";

const [url = "", seconds = "1"] = process.argv.slice(2);
const archive = await openPostgresArchive(url, { keepDays: 36_500 });
const sample = () => sampleRun({ calls: 5, answer: (seq) => `${seq} ${Math.random()}`.repeat(20) });
await archiveRun(archive, sample());
const startedAt = performance.now();
const endsAt = startedAt + Number(seconds) * 1_000;
let runs = 0;
await Promise.all(
  Array.from({ length: 8 }, async () => {
    while (performance.now() < endsAt) {
      const result = await archiveRun(archive, sample());
      if (!result.ok) throw new Error(result.message);
      runs++;
    }
  }),
);
process.send?.({ runs, ms: performance.now() - startedAt });
await archive.close();
process.disconnect?.();
