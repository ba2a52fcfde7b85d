/** The writing thread for PostgreSQL. It hashes, compresses and sends runs, to unburden the thread that answers calls. */
import { parentPort, workerData } from "node:worker_threads";
import type { WriterRequest } from "../../writer/archive-writer.ts";
import { endThread } from "../../writer/end-thread.ts";
import { PostgresRunWriter, type PostgresWriterOptions } from "./run-writer.ts";

const runs = new PostgresRunWriter(workerData as PostgresWriterOptions, (reply) =>
  parentPort?.postMessage(reply),
);
/** How often a long-lived process tidies, which is little work and serves all processes. */
const TIDY_EVERY_MS = 10 * 60_000;
let tidiedAt: number | undefined;
let isUntidy = false;

parentPort?.on("message", (request: WriterRequest) => {
  if (request.kind === "close") {
    void runs
      .idle()
      .then(tidy)
      .then(() => runs.close())
      .finally(endThread);
    return;
  }
  runs.handle(request);
  if (request.kind !== "finish") return;
  isUntidy = true;
  if (tidiedAt === undefined || performance.now() - tidiedAt < TIDY_EVERY_MS) tidiedAt ??= performance.now();
  else void runs.idle().then(tidy);
});
runs.warmUp();

async function tidy(): Promise<void> {
  if (!isUntidy) return;
  isUntidy = false;
  tidiedAt = performance.now();
  await runs.tidy();
}
