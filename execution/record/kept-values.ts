import { boundWhy, NO_ARGUMENTS, unkeptOutcome } from "../../archive/run-to-archive.ts";
import { messageOf } from "../../base/error-message.ts";
import { textDigest } from "../../base/text-digest.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import type { ObservedCall } from "../call-log.ts";
import { renderRedactedJson } from "./redacted-json.ts";

/** The archived form of a call's values. */
export interface KeptValues {
  argumentsDigest: string;
  argumentsJson: string;
  outcomeJson: string;
  redactions: number;
  /** Why the values are not archived. */
  unkept?: string;
}

/** Stands for the digest of arguments that cannot be written as JSON. */
const UNKNOWN_DIGEST = "unknown";

/**
 * The values of a call as JSON without secrets. When that fails, only these values are missing from the archive.
 *
 * @param comparing redacts arguments, `redactor` all else.
 * @param text bounds and redacts a name.
 */
export async function keptValuesOf(
  call: ObservedCall,
  { redactor, comparing }: { redactor: Redactor; comparing: Redactor },
  text: (name: string) => string,
): Promise<KeptValues> {
  try {
    const args = await renderRedactedJson(call.arguments ?? null, comparing, "canonical");
    const outcome = await renderRedactedJson(keptOutcome(call, text), redactor, "as it is");
    return {
      argumentsDigest: textDigest(args.json),
      argumentsJson: args.json,
      outcomeJson: outcome.json,
      redactions: args.redactions + outcome.redactions,
    };
  } catch (error) {
    const reason = messageOf(error);
    return {
      argumentsDigest: UNKNOWN_DIGEST,
      argumentsJson: NO_ARGUMENTS,
      outcomeJson: unkeptOutcome(call.outcome.ok),
      redactions: 0,
      unkept: boundWhy(`its values cannot be written: ${reason}`),
    };
  }
}

function keptOutcome({ outcome, raw }: ObservedCall, text: (name: string) => string): object {
  const kept = raw && outcome.raw !== undefined ? { raw: outcome.raw } : {};
  if (outcome.ok) return { ok: true, data: outcome.data ?? null, ...kept };
  const { type, server, tool, message, retryable } = outcome.error;
  const names = { server: text(server), tool: text(tool) };
  const data = outcome.data === undefined ? {} : { data: outcome.data };
  return { ok: false, error: { type, ...names, message, retryable }, ...data, ...kept };
}
