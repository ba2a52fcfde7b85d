import { parentPort } from "node:worker_threads";

/** Answers the questions of turns, one at a time, in a thread of `WorkerTurns`. What `answer` throws ends the thread. */
export function serveTurns<Question, Answer>(answer: (question: Question) => Promise<Answer> | Answer): void {
  const port = parentPort;
  if (port === null) throw new Error("turns are served in a thread");
  port.on("message", async (question: Question) => port.postMessage({ answer: await answer(question) }));
  port.postMessage({ ready: true });
}
