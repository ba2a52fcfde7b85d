/** The writing thread: hashes, compresses and stores, so that the thread that answers calls need not. */
import { parentPort, workerData } from "node:worker_threads";
import { RunDesk } from "./run-desk.ts";
import type { WriterOptions, WriterRequest } from "./writer-messages.ts";

const desk = new RunDesk(workerData as WriterOptions, (reply) => parentPort?.postMessage(reply));
let untidy = false;

parentPort?.on("message", (request: WriterRequest) => {
  if (request.kind === "close") {
    tidy();
    desk.close();
    parentPort?.close();
    return;
  }
  desk.handle(request);
  if (request.kind === "finish") {
    untidy = true;
    // After the answer is out.
    setImmediate(tidy);
  }
});
desk.warmUp();

function tidy(): void {
  if (untidy) desk.tidy();
  untidy = false;
}
