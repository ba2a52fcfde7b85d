/** The writing thread. It hashes, compresses and stores runs, to unburden the thread that answers calls. */
import { parentPort, workerData } from "node:worker_threads";
import { cacheCompiled } from "../../../system/compile-cache.ts";
import type { WriterRequest } from "../../writer/archive-writer.ts";
import { endThread } from "../../writer/end-thread.ts";
import type { WriterOptions } from "./run-writer.ts";

// A thread does not have the cache of the process, and a command that runs one program waits for this code.
cacheCompiled(process.env);
const { RunWriter } = await import("./run-writer.ts");

const runs = new RunWriter(workerData as WriterOptions, (reply) => parentPort?.postMessage(reply));
let untidy = false;

parentPort?.on("message", (request: WriterRequest) => {
  if (request.kind === "close") {
    tidy();
    runs.close();
    endThread();
    return;
  }
  runs.handle(request);
  if (request.kind === "finish") {
    untidy = true;
    // After the answer, so that nobody waits for tidying up.
    setImmediate(tidy);
  }
});
runs.warmUp();

function tidy(): void {
  if (untidy) runs.tidy();
  untidy = false;
}
