import { messageOf } from "../base/faults.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { TRUNCATION_MARK } from "../protocol/text-cap.ts";
import type { Redactor } from "../secrets/redaction.ts";
import type { Verdict } from "./judge.ts";
import { fail } from "./outcome.ts";
import { noteMedia, noteMediaIn } from "./output/media-notes.ts";
import { type EnvelopeFacts, sealEnvelope } from "./seal.ts";

export interface SealedVerdict {
  /** The verdict as the envelope shows it. */
  verdict: Verdict;
  /** How many secrets were replaced. */
  redactions: number;
  envelope: Envelope;
}

/** The envelope of a verdict without its secrets. When redacting or sealing fails, nothing of the verdict is shown. */
export function sealVerdict(
  facts: EnvelopeFacts,
  verdict: Verdict,
  redactor: Redactor,
  maxBytes: number,
  maxKeptBytes: number,
): SealedVerdict {
  try {
    const redacted = redactVerdict(withoutMedia(verdict), redactor);
    return { ...redacted, envelope: sealEnvelope(facts, redacted.verdict, maxBytes, maxKeptBytes) };
  } catch (error) {
    const failure = fail("InternalError", `what came of the run cannot be reported: ${messageOf(error)}`);
    return {
      verdict: failure.verdict,
      redactions: 0,
      envelope: sealEnvelope(facts, failure.verdict, maxBytes),
    };
  }
}

function withoutMedia(verdict: Verdict): Verdict {
  if (verdict.ok) return { ...verdict, data: noteMediaIn(verdict.data) };
  return { ok: false, error: { ...verdict.error, message: noteMedia(verdict.error.message) } };
}

/** Redacts a verdict before it is cut to size. */
function redactVerdict(verdict: Verdict, redactor: Redactor): { verdict: Verdict; redactions: number } {
  if (verdict.ok && verdict.from === "console" && typeof verdict.data === "string") {
    const { text, count } = redactCutText(verdict.data, redactor);
    return { verdict: { ...verdict, data: text }, redactions: count };
  }
  if (verdict.ok) {
    const { value, count } = redactor.redactValue(verdict.data);
    return { verdict: { ...verdict, data: value }, redactions: count };
  }
  const { text, count } = redactCutText(verdict.error.message, redactor);
  return { verdict: { ok: false, error: { ...verdict.error, message: text } }, redactions: count };
}

/** Redacts a text that may have been cut inside a secret. A tail that could begin one is not shown. */
function redactCutText(text: string, redactor: Redactor): { text: string; count: number } {
  const stream = redactor.stream();
  const mark = text.endsWith(TRUNCATION_MARK) ? TRUNCATION_MARK : "";
  const shown = stream.push(text.slice(0, text.length - mark.length));
  return { text: mark === "" ? shown + stream.end() : shown + stream.cutOff() + mark, count: stream.count };
}
