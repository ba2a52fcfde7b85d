import type { Envelope } from "../protocol/envelope.ts";
import type { ProgramFile } from "../protocol/program-files.ts";
import type { CallFacts, RunFacts } from "./run-record.ts";

/**
 * What a run hands over to be archived, already redacted. Values are JSON text, because a text is cheap to send to the
 * writing thread, and the sender already has it.
 */
export interface CallToArchive {
  facts: CallFacts;
  argumentsJson: string;
  /** An `ArchivedOutcome`. */
  outcomeJson: string;
}

const MAX_WHY_CHARS = 500;

/** Stands for arguments that cannot be archived. */
export const NO_ARGUMENTS = "null";

/** Stands for an outcome that cannot be archived. */
export function unkeptOutcome(ok: boolean): string {
  if (ok) return JSON.stringify({ ok, data: null });
  const message = "this error could not be archived";
  return JSON.stringify({
    ok,
    error: { type: "ToolError", server: "", tool: "", message, retryable: false },
  });
}

/** Why values are not archived, cut to the length that a record allows. */
export function boundWhy(why: string): string {
  return why.slice(0, MAX_WHY_CHARS);
}

export interface RunToArchive {
  facts: RunFacts;
  code: string;
  dataJson: string;
  /** The files that the program was handed. */
  files?: readonly ProgramFile[] | undefined;
  consoleText: string;
  /** What the program wrote to stderr, which may be nothing. */
  stderrText: string;
  /** The blocks that the program emitted, as JSON; `undefined` when there are none. */
  emittedJson?: string | undefined;
  /** All that the program printed, where `consoleText` is a bounded form of it. */
  wholeConsoleText?: string | undefined;
  /** The program's value as JSON, where the envelope has a bounded form of it. */
  wholeResultJson?: string | undefined;
  envelope: Envelope;
  /** The generated modules that the program imported, as they were. */
  modules: { module: string; text: string }[];
  /** Clock, time zone, locale and randomness for a replay. The archive does not read it. */
  environmentJson: string;
}
