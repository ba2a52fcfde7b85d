import { parentPort } from "node:worker_threads";
import { checkAgainstSchema } from "./schema-check.ts";
import type { CheckReply, CheckRequest } from "./schema-validator.ts";

parentPort?.on("message", (request: CheckRequest) => {
  const problem = checkAgainstSchema(request.schema, request.value);
  parentPort?.postMessage({ id: request.id, problem } satisfies CheckReply);
});
