import { messageOf } from "../base/faults.ts";
import { jsonLine } from "../base/json.ts";
import { canonicalJson, textDigest } from "../protocol/canonical-json.ts";
import type { ApprovalState, Envelope, Metrics, RunResult } from "../protocol/envelope.ts";
import { boundMessage, buildFailure, type Failure } from "../protocol/failure.ts";
import { ENVELOPE_OVERHEAD_BYTES } from "../protocol/limits.ts";
import { cutToJsonBytes, markAtEnd, TRUNCATION_MARK } from "../protocol/text-cap.ts";
import type { Redactor } from "../secrets/redaction.ts";
import { fail, type Verdict } from "./outcome.ts";
import { noteMedia, noteMediaInTurns } from "./output/media-notes.ts";
import {
  boundConsoleJson,
  boundValue,
  jsonBytes,
  type WrittenValue,
  writeLarge,
} from "./output/whole-output.ts";

/** The facts that the host itself knows about a run. */
export interface EnvelopeFacts {
  runId: string;
  traceId: string;
  toolVersion: string;
  inputDigest: string;
  sandboxImage: string | null;
  /** The engine, if it isolates programs less than a kernel of their own does. */
  sandboxEngine?: Envelope["sandbox_engine"];
  durationMs: number;
  approvalState: ApprovalState;
  metrics: Metrics;
}

export interface SealedVerdict {
  /** The verdict as the envelope shows it. */
  verdict: Verdict;
  /** Its value as it is written, where that is large. */
  written?: WrittenValue | undefined;
  /** How many secrets were replaced. */
  redactions: number;
  envelope: Envelope;
}

/** The envelope of a verdict without its secrets, with turns of the event loop between the parts of a large value. When redacting or sealing fails, nothing of the verdict is shown. */
export async function sealVerdict(
  facts: EnvelopeFacts,
  verdict: Verdict,
  redactor: Redactor,
  maxBytes: number,
  maxKeptBytes: number,
): Promise<SealedVerdict> {
  try {
    const redacted = await redactVerdict(await withoutMedia(verdict), redactor);
    const written = redacted.verdict.ok ? await writeLarge(redacted.verdict.data) : undefined;
    const envelope = sealEnvelope(facts, redacted.verdict, maxBytes, maxKeptBytes, written);
    return { ...redacted, ...(written && { written }), envelope };
  } catch (error) {
    const failure = fail("InternalError", `what came of the run cannot be reported: ${messageOf(error)}`);
    return {
      verdict: failure.verdict,
      redactions: 0,
      envelope: sealEnvelope(facts, failure.verdict, maxBytes),
    };
  }
}

async function withoutMedia(verdict: Verdict): Promise<Verdict> {
  if (verdict.ok) return { ...verdict, data: await noteMediaInTurns(verdict.data) };
  return { ok: false, error: { ...verdict.error, message: noteMedia(verdict.error.message) } };
}

/** Redacts a verdict before it is cut to size. */
async function redactVerdict(
  verdict: Verdict,
  redactor: Redactor,
): Promise<{ verdict: Verdict; redactions: number }> {
  if (verdict.ok && verdict.from === "console" && typeof verdict.data === "string") {
    const { text, count } = redactCutText(verdict.data, redactor);
    return { verdict: { ...verdict, data: text }, redactions: count };
  }
  if (verdict.ok) {
    const { value, count } = await redactor.redactInTurns(verdict.data);
    return { verdict: { ...verdict, data: value }, redactions: count };
  }
  const { text, count } = redactCutText(verdict.error.message, redactor);
  return { verdict: { ok: false, error: { ...verdict.error, message: text } }, redactions: count };
}

/** What messages of programs in Python have in place of their middle. */
const CUT_MIDDLE = `\n${TRUNCATION_MARK}\n`;

/** Redacts a text that may have been cut inside a secret. What could begin a secret before a mark is not shown. */
function redactCutText(text: string, redactor: Redactor): { text: string; count: number } {
  const stream = redactor.stream();
  const mark = markAtEnd(text);
  const parts = text.slice(0, text.length - mark.length).split(CUT_MIDDLE);
  const last = parts.pop() ?? "";
  const cut = parts.map((part) => stream.push(part) + stream.cutOff() + CUT_MIDDLE).join("");
  const shown = cut + stream.push(last) + (mark === "" ? stream.end() : stream.cutOff() + mark);
  return { text: shown, count: stream.count };
}

/**
 * Builds the envelope of a run, whose line is at most `maxBytes` long. Console text and messages are cut. A `BoundedValue` replaces
 * a value that does not fit, because JSON is never cut. A value larger than `maxKeptBytes` is an `OutputLimit` failure.
 */
export function sealEnvelope(
  facts: EnvelopeFacts,
  verdict: Verdict,
  maxBytes: number,
  maxKeptBytes = maxBytes,
  written?: WrittenValue,
): Envelope {
  const room = maxBytes - ENVELOPE_OVERHEAD_BYTES;
  return {
    run_id: facts.runId,
    trace_id: facts.traceId,
    tool_name: "execute_program",
    tool_version: facts.toolVersion,
    input_digest: facts.inputDigest,
    ...sealResult(fitVerdict(verdict, room, maxKeptBytes - ENVELOPE_OVERHEAD_BYTES, written), facts.metrics, {
      verdict,
      written,
    }),
    sandbox_image: facts.sandboxImage,
    ...(facts.sandboxEngine === undefined ? {} : { sandbox_engine: facts.sandboxEngine }),
    duration_ms: facts.durationMs,
    approval_state: facts.approvalState,
  };
}

/** Renders the envelope as one line, without a line feed. */
export function renderEnvelope(envelope: Envelope): string {
  const { output_digest, sandbox_image, sandbox_engine, duration_ms, approval_state, result, ...head } =
    envelope;
  const sandbox = sandbox_engine === undefined ? { sandbox_image } : { sandbox_image, sandbox_engine };
  return jsonLine({ ...head, output_digest, ...sandbox, duration_ms, approval_state, result });
}

/** The same envelope with a failure as its result, and the output digest of that. */
export function replaceResult(envelope: Envelope, failure: Failure): Envelope {
  return { ...envelope, ...sealResult({ ok: false, error: failure }, envelope.result.metrics) };
}

/** @param whole the verdict before it was cut to size, and its large value as it is written. */
function sealResult(
  verdict: Verdict,
  metrics: Metrics,
  whole?: { verdict: Verdict; written: WrittenValue | undefined },
): { output_digest: string; result: RunResult } {
  const bare = verdict.ok
    ? { ok: true as const, data: verdict.data }
    : { ok: false as const, error: verdict.error };
  const isWhole = whole?.written !== undefined && whole.verdict === verdict;
  const canonical = isWhole ? `{"data":${whole?.written?.canonical},"ok":true}` : canonicalJson(bare);
  return { output_digest: textDigest(canonical), result: { ...bare, metrics } };
}

function fitVerdict(verdict: Verdict, room: number, keptRoom: number, written?: WrittenValue): Verdict {
  if (!verdict.ok) {
    let { message } = verdict.error;
    for (let max = message.length; jsonBytes(message) > room; max = Math.floor(max / 2)) {
      message = boundMessage(verdict.error.message, max);
    }
    return { ok: false, error: { ...verdict.error, message } };
  }
  const bytes = written === undefined ? jsonBytes(verdict.data) : Buffer.byteLength(written.json);
  if (bytes <= room) return verdict;
  if (verdict.from === "console" && typeof verdict.data === "string") {
    const bound = keptRoom > room ? boundConsoleJson : cutConsole;
    return { ...verdict, data: bound(verdict.data, room) };
  }
  if (bytes <= keptRoom) return { ...verdict, data: boundValue(verdict.data, room, written) };
  const message = `the result is ${bytes} bytes of JSON and at most ${keptRoom} fit; return less`;
  return { ok: false, error: buildFailure("OutputLimit", message) };
}

/** The longest beginning of the text that fits into `room` bytes of JSON, escapes included. */
function cutConsole(text: string, room: number): string {
  for (let most = room; ; most = Math.floor((most * 9) / 10)) {
    const cut = cutToJsonBytes(text, most);
    if (jsonBytes(cut) <= room) return cut;
  }
}
