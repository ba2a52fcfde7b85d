import * as z from "zod/mini";
import { Digest } from "./digest.ts";
import { Failure } from "./failure.ts";

/** Measurements that the host took while the program ran. */
export const Metrics = z.strictObject({
  duration_ms: z.int().check(z.gte(0)),
  tool_calls: z.int().check(z.gte(0)),
  tool_result_bytes: z.int().check(z.gte(0)),
});
export type Metrics = z.infer<typeof Metrics>;

export const RunResult = z.discriminatedUnion("ok", [
  z.strictObject({ ok: z.literal(true), data: z.unknown(), metrics: Metrics }),
  z.strictObject({ ok: z.literal(false), error: Failure, metrics: Metrics }),
]);
export type RunResult = z.infer<typeof RunResult>;

/** The one line that reports a run. The host seals it: only `result` comes from the sandbox. */
export const Envelope = z.strictObject({
  run_id: z.string(),
  trace_id: z.string(),
  tool_name: z.string(),
  tool_version: z.string(),
  input_digest: Digest,
  output_digest: Digest,
  sandbox_image: z.union([Digest, z.null()]),
  /** The engine, if it isolates programs less than a kernel of their own does. */
  sandbox_engine: z.optional(z.literal("wasm")),
  duration_ms: z.int().check(z.gte(0)),
  approval_state: z.enum(["NOT_REQUIRED", "APPROVED", "DENIED"]),
  result: RunResult,
});
export type Envelope = z.infer<typeof Envelope>;
export type ApprovalState = Envelope["approval_state"];
