import type { FailureType } from "../protocol/failure.ts";
import type { CallDecision } from "./dispatcher.ts";

/** What every line says of the run it belongs to. */
export interface AuditedRun {
  runId: string;
  traceId: string;
  principal: string;
  /** The run's input digest. */
  codeDigest: string;
}

export interface AuditedCall {
  server: string;
  tool: string;
  argumentsDigest: string;
  resultBytes: number;
  durationMs: number;
  decision: CallDecision;
  /** Who or what answered the question, if one was asked. */
  approver?: string | undefined;
  redactions: number;
}

export interface AuditedEnding {
  outcome: "ok" | FailureType;
  calls: number;
  durationMs: number;
  redactions: number;
}

/** Longest text in a line. Names come from programs and servers. */
const MAX_TEXT_CHARS = 256;

/** What would move the cursor or turn the text around when a person looks at the file, beyond what JSON escapes. */
const INVISIBLE = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** One line, with its line feed: bounded, ASCII control characters and invisible ones escaped. */
export function renderAuditLine(members: Readonly<Record<string, string | number | undefined>>): string {
  const bounded = Object.entries(members).map(([name, value]) => [name, boundText(value)]);
  const json = JSON.stringify(Object.fromEntries(bounded));
  return `${json.replace(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
}

function boundText(value: string | number | undefined): string | number | undefined {
  if (typeof value !== "string" || value.length <= MAX_TEXT_CHARS) return value;
  return `${value.slice(0, MAX_TEXT_CHARS)}... (${value.length} characters)`;
}
