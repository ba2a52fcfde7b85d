import type { HandedCall, HandedRun } from "./handed-run.ts";

/** Handed to the writing thread when it starts. */
export interface WriterOptions {
  path: string;
  keepDays: number;
}

/** To the writing thread, in order. */
export type WriterRequest =
  | { kind: "calls"; runId: string; calls: HandedCall[] }
  /** `calls` are the last ones; `callCount` is how many there are in all. */
  | { kind: "finish"; runId: string; run: HandedRun; calls: HandedCall[]; callCount: number }
  | { kind: "discard"; runId: string }
  | { kind: "close" };

export type ArchiveResult = { ok: true; recordDigest: string } | { ok: false; message: string };

export type WriterReply =
  /** The calls of one `calls` request are in the archive, or will be: there is room for more. */
  { kind: "taken"; runId: string } | { kind: "settled"; runId: string; result: ArchiveResult };
