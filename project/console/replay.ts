import type { ArchiveStore } from "../../archive/archive-store.ts";
import { messageOf } from "../../base/faults.ts";
import { countNoun } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { ReplayOutcome } from "../../console/parts.ts";
import type { Viewer } from "../../console/viewer.ts";
import { loadReplayable } from "../../execution/replay/load-replayable.ts";
import type { Host } from "../host.ts";

/** Replays a run for somebody who looks at it in the console, when it is their turn. Never rejects. */
export async function replayForConsole(
  host: Pick<Host, "replay" | "replays">,
  archive: Pick<ArchiveStore, "read">,
  { principal, groups }: Viewer,
  runId: string,
  signal: AbortSignal,
): Promise<ReplayOutcome> {
  const outcome = (kind: ReplayOutcome["kind"], message: string): ReplayOutcome => ({
    at: Date.now(),
    kind,
    message: oneLine(message, 2_000),
  });
  const replay = async (): Promise<ReplayOutcome> => {
    const loaded = await loadReplayable(archive, runId);
    if (!loaded.ok) return outcome("impossible", WHY[loaded.problem.kind]);
    const { envelope, divergence, undecided } = await host.replay({ ...loaded.replayable, signal });
    const { result } = envelope;
    if (!result.ok && result.error.type === "SandboxUnavailable")
      return outcome("impossible", result.error.message);
    if (undecided !== undefined) return outcome("undecided", undecided);
    const value = result.ok ? { value: result.data } : undefined;
    if (divergence !== undefined) return { ...outcome("diverged", divergence), result: value };
    const calls = countNoun(result.metrics.tool_calls, "call");
    return outcome("same", `${calls}, and the same result: ${envelope.output_digest}. No server was asked.`);
  };
  try {
    const context = { principal, ...(groups === undefined ? {} : { groups }), source: "replay" as const };
    const taken = await host.replays.take(context, signal, replay);
    return taken.ok ? taken.value : outcome("impossible", taken.why);
  } catch (error) {
    return outcome("impossible", messageOf(error));
  }
}

const WHY = {
  "values-not-kept": "The values of one of its calls are not in the archive.",
  "session-incomplete": "It is part of a session, of which an earlier program cannot be replayed.",
  "other-version": "It was archived by another version of ptc.",
} as const;
