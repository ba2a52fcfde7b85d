import type { ArchiveResult } from "../../archive-store.ts";
import type { CallToArchive, RunToArchive } from "../../run-to-archive.ts";

/** Options that the writing thread gets when it starts. */
export interface WriterOptions {
  path: string;
  keepDays: number;
  /** How long one attempt to write waits for other writers. */
  busyTimeoutMs?: number;
  /** How long storing a run is retried while others keep the archive busy. */
  patienceMs?: number;
}

/** Requests to the writing thread, in order. */
export type WriterRequest =
  | { kind: "calls"; runId: string; calls: CallToArchive[] }
  /** `calls` are the last calls; `callCount` is the number of all. */
  | { kind: "finish"; runId: string; run: RunToArchive; calls: CallToArchive[]; callCount: number }
  | { kind: "discard"; runId: string }
  | { kind: "close" };

export type WriterReply =
  /** The calls of one `calls` request have been taken, so there is room for more. */
  { kind: "taken"; runId: string } | { kind: "settled"; runId: string; result: ArchiveResult };
