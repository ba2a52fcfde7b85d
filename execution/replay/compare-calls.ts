import { digestOf } from "../../protocol/canonical-json.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import type { ObservedCall } from "../call-log.ts";
import { firstDifference } from "./first-difference.ts";
import { describeCall, type RecordedCall } from "./recorded-calls.ts";
import type { RecordedRun } from "./replay-program.ts";

export interface CallDifference {
  /** `missing`: recorded and not made. `added`: made and not recorded. `changed`: made with another outcome. */
  kind: "missing" | "added" | "changed";
  call: string;
  detail?: string;
}

/**
 * Compares a run of a recorded program with the record: which calls differ, and whether the result is the same.
 *
 * @throws the errors of reading the values of a recorded call.
 */
export async function compareToRecord(
  recorded: Pick<RecordedRun, "calls" | "envelope">,
  calls: readonly ObservedCall[],
  envelope: Envelope,
): Promise<{ differences: CallDifference[]; sameResult: boolean }> {
  return {
    differences: await compareCalls(recorded.calls, calls),
    sameResult: envelope.output_digest === recorded.envelope.output_digest,
  };
}

/** Compares recorded calls with those of another run. Calls match by tool and arguments, equal calls by their order. */
async function compareCalls(
  recorded: readonly RecordedCall[],
  made: readonly ObservedCall[],
): Promise<CallDifference[]> {
  const waiting = new Map<string, ObservedCall[]>();
  for (const call of [...made].sort((a, b) => a.seq - b.seq)) {
    const key = `${digestOf(call.arguments)} ${call.tool}`;
    waiting.set(key, [...(waiting.get(key) ?? []), call]);
  }
  const differences: CallDifference[] = [];
  for (const call of recorded) {
    const match = waiting.get(`${call.argumentsDigest} ${call.tool}`)?.shift();
    const shown = describeCall(call.tool, await call.arguments());
    if (match === undefined) {
      differences.push({ kind: "missing", call: shown });
      continue;
    }
    const difference = firstDifference(comparable(await call.outcome()), comparable(match.outcome));
    if (difference === undefined) continue;
    const { path, expected, got } = difference;
    differences.push({ kind: "changed", call: shown, detail: `${path}: recorded ${expected}, now ${got}` });
  }
  const added = [...waiting.values()].flat().sort((a, b) => a.seq - b.seq);
  for (const call of added)
    differences.push({ kind: "added", call: describeCall(call.tool, call.arguments) });
  return differences;
}

/** The part of an outcome that is compared: the data, or the message of the error. */
function comparable(
  outcome: { ok: true; data: unknown } | { ok: false; error: { message: string } },
): object {
  return outcome.ok ? { data: outcome.data ?? null } : { error: outcome.error.message };
}

/** The table of the comparison has the square of this many cells. */
const MAX_COMPARED = 1_000;

/**
 * How the calls of a run differ from recorded calls, as lines in order: `- ` for a recorded call that is not made, `+ ` for a call
 * that was not recorded. Empty when the calls are the same. Beyond the first {@link MAX_COMPARED} they are only counted.
 */
export function compareCallOrder(
  recorded: readonly { tool: string; arguments: unknown }[],
  made: readonly { tool: string; arguments: unknown }[],
): string[] {
  const before = recorded.slice(0, MAX_COMPARED).map(keyed);
  const after = made.slice(0, MAX_COMPARED).map(keyed);
  // lengths[i][j]: the length of the longest common subsequence of before[i..] and after[j..].
  const lengths = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      (lengths[i] as Uint16Array)[j] =
        before[i]?.key === after[j]?.key ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: string[] = [];
  for (let i = 0, j = 0; i < before.length || j < after.length; ) {
    const [was, is] = [before[i], after[j]];
    if (was !== undefined && was.key === is?.key) {
      i++;
      j++;
    } else if (was !== undefined && at(i + 1, j) >= at(i, j + 1)) {
      lines.push(`- ${was.shown}`);
      i++;
    } else {
      lines.push(`+ ${is?.shown}`);
      j++;
    }
  }
  if (Math.max(recorded.length, made.length) > MAX_COMPARED && recorded.length !== made.length)
    lines.push(`${recorded.length} calls were recorded, and ${made.length} are made`);
  return lines;
}

function keyed({ tool, arguments: args }: { tool: string; arguments: unknown }) {
  return { key: `${digestOf(args ?? null)} ${tool}`, shown: describeCall(tool, args) };
}
