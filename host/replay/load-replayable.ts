import type { ArchiveStore } from "../../archive/archive-store.ts";
import { loadPrinter } from "../languages.ts";
import { type Replayable, toReplayable } from "./recorded-run.ts";

/** Why a run that is in the archive cannot be replayed. */
export type Unreplayable =
  /** Values of a call were not archived; `why` is one line. `call` counts from 1. */
  | { kind: "values-not-kept"; call: number; why: string }
  /** The run was archived in a form that this version of ptc does not know. */
  | { kind: "other-version" };

/** Reads an archived run and what a replay needs of it. @throws ArchiveError */
export async function loadReplayable(
  archive: Pick<ArchiveStore, "read">,
  runId: string,
): Promise<{ ok: true; replayable: Replayable } | { ok: false; problem: Unreplayable }> {
  const archived = await archive.read(runId);
  const unkept = archived.record.calls.find((call) => call.unkept !== undefined);
  if (unkept !== undefined) {
    return {
      ok: false,
      problem: { kind: "values-not-kept", call: unkept.seq + 1, why: unkept.unkept ?? "" },
    };
  }
  const printer = await loadPrinter(archived.record.language);
  const replayable = printer && toReplayable(archived, printer);
  return replayable === undefined
    ? { ok: false, problem: { kind: "other-version" } }
    : { ok: true, replayable };
}
