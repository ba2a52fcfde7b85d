import { randomBytes } from "node:crypto";
import { sealEnvelope } from "../execution/seal.ts";
import { inputDigest, type Program } from "../languages/program.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { buildFailure } from "../protocol/failure.ts";
import { version } from "../system/package.ts";

const MESSAGE =
  "the background host was lost while the program ran; it had begun to call tools, so it was not run again: look at what it has changed before you run it again";

/** The envelope of a run whose host was lost after its first call. Nothing more is known about the run. */
export function sealLostRun(runId: string, program: Program, maxBytes: number): Envelope {
  return sealEnvelope(
    {
      runId,
      traceId: randomBytes(16).toString("hex"),
      toolVersion: version,
      inputDigest: inputDigest(program),
      sandboxImage: null,
      durationMs: 0,
      approvalState: "NOT_REQUIRED",
      metrics: { duration_ms: 0, tool_calls: 0, tool_result_bytes: 0 },
    },
    { ok: false, error: buildFailure("InternalError", MESSAGE) },
    maxBytes,
  );
}
