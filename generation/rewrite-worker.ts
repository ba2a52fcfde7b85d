/** A thread that writes a folder of generated files again, once. The thread that answers calls must not wait for it. */
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../base/faults.ts";
import { CatalogError } from "../catalog/catalog-error.ts";
import { type Rewrite, type RewriteAnswer, rewriteHere } from "./rewrite.ts";

rewriteHere(workerData as Rewrite).then(
  (files) => answer({ ok: true, files }),
  (error: unknown) =>
    answer({
      ok: false,
      code: error instanceof CatalogError ? error.code : undefined,
      message: messageOf(error),
    }),
);

function answer(said: RewriteAnswer): void {
  parentPort?.postMessage(said);
}
