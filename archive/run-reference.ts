import { ArchiveError } from "./archive-error.ts";
import type { ListedRun } from "./listed-run.ts";

/** What a reference means: a digest, a run id or a prefix of one. */
export type FoundRuns =
  | { kind: "one"; run: ListedRun }
  /** The newest runs of one input, newest first; `total` counts all of them. */
  | { kind: "many"; inputDigest: string; runs: ListedRun[]; total: number }
  | { kind: "none" }
  /** Some of the input digests and run ids with this prefix. */
  | { kind: "ambiguous"; candidates: string[] };

/** Candidates that are named at most. */
export const MAX_CANDIDATES = 10;
/** Runs of one input that are listed at most. */
export const MAX_OF_INPUT = 100;
const MIN_PREFIX_CHARS = 4;

const DIGEST_PREFIX = /^(?:sha256:)?([0-9a-f]{4,64})$/;
const RUN_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The prefixes that an input digest or a run id must have to match a reference. The reference may be a prefix of either.
 *
 * @throws ArchiveError `bad-reference` for what is no digest, no run id, and no prefix of at least four characters.
 */
export function parseReference(reference: string): { digestPrefix?: string; runIdPrefix?: string } {
  const lower = reference.toLowerCase();
  const digest = DIGEST_PREFIX.exec(lower)?.[1];
  const isRunId = lower.length >= MIN_PREFIX_CHARS && beginsRunId(lower);
  if (digest === undefined && !isRunId) {
    // The text may contain escape sequences for a terminal.
    const shown = `'${reference.slice(0, 40).replace(/[^ -~]/g, "?")}'`;
    const message = `${shown} finds no run: give the sha256:... of an input, a run id, or at least ${MIN_PREFIX_CHARS} characters of one`;
    throw new ArchiveError("bad-reference", message);
  }
  return {
    ...(digest !== undefined && { digestPrefix: `sha256:${digest}` }),
    ...(isRunId && { runIdPrefix: lower }),
  };
}

/** The error for an ambiguous reference where one run is needed. */
export function namesSeveral(reference: string): ArchiveError {
  const message = `several runs or inputs begin with ${reference}: give more of it`;
  return new ArchiveError("bad-reference", message);
}

function beginsRunId(text: string): boolean {
  const example = "00000000-0000-0000-0000-000000000000";
  return text.length <= example.length && RUN_ID.test(text + example.slice(text.length));
}
