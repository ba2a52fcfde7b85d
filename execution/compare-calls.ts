import { digestOf } from "../protocol/canonical-json.ts";
import type { CallRecord } from "./call-log.ts";
import { firstDifference } from "./first-difference.ts";
import { describeCall, type RecordedCall } from "./recorded-calls.ts";

export interface CallDifference {
  /** Recorded and not made, made and not recorded, or made with another outcome. */
  kind: "missing" | "added" | "changed";
  call: string;
  detail?: string;
}

/** What differs between recorded calls and those of another run, matched by tool and arguments, alike ones in their order. */
export function compareCalls(
  recorded: readonly RecordedCall[],
  made: readonly CallRecord[],
): CallDifference[] {
  const waiting = new Map<string, CallRecord[]>();
  for (const call of [...made].sort((a, b) => a.seq - b.seq)) {
    const key = `${digestOf(call.arguments)} ${call.tool}`;
    waiting.set(key, [...(waiting.get(key) ?? []), call]);
  }
  const differences: CallDifference[] = [];
  for (const call of recorded) {
    const match = waiting.get(`${call.argumentsDigest} ${call.tool}`)?.shift();
    const shown = describeCall(call.tool, call.arguments());
    if (match === undefined) {
      differences.push({ kind: "missing", call: shown });
      continue;
    }
    const difference = firstDifference(outcomeOf(call.outcome()), outcomeOf(match.outcome));
    if (difference === undefined) continue;
    const { path, expected, got } = difference;
    differences.push({ kind: "changed", call: shown, detail: `${path}: recorded ${expected}, now ${got}` });
  }
  const added = [...waiting.values()].flat().sort((a, b) => a.seq - b.seq);
  for (const call of added)
    differences.push({ kind: "added", call: describeCall(call.tool, call.arguments) });
  return differences;
}

function outcomeOf(outcome: { ok: true; data: unknown } | { ok: false; error: { message: string } }): object {
  return outcome.ok ? { data: outcome.data ?? null } : { error: outcome.error.message };
}
