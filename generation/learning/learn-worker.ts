/** A thread that learns types once. Reading an archive takes long, and the thread that answers calls must not wait for it. */
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../base/faults.ts";
import type { LearnedRecord } from "../../catalog/learned/learned-types.ts";
import { type LearningTask, learnTypes } from "./learn-types.ts";

/** The only answer of the thread. */
export type LearningAnswer = { ok: true; types: readonly LearnedRecord[] } | { ok: false; message: string };

learnTypes(workerData as LearningTask).then(
  (types) => answer({ ok: true, types: [...types.values()] }),
  (error: unknown) => answer({ ok: false, message: messageOf(error) }),
);

function answer(said: LearningAnswer): void {
  parentPort?.postMessage(said);
}
