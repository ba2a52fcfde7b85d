import { ArchiveError } from "../../archive/archive-error.ts";
import type { ArchiveStore } from "../../archive/archive-store.ts";
import { loadPrinter } from "../../languages/languages.ts";
import type { SessionPlace } from "../../languages/program.ts";
import { type Replayable, toReplayable } from "./recorded-run.ts";

/** Why a run that is in the archive cannot be replayed. */
export type Unreplayable =
  /** Values of a call were not archived; `why` is one line. `call` counts from 1. */
  | { kind: "values-not-kept"; call: number; why: string }
  /** The archive lacks an earlier program of the run's session, or cannot replay it; `why` is one line. */
  | { kind: "session-incomplete"; position: number; why: string }
  /** The run was archived in a form that this version of ptc does not know. */
  | { kind: "other-version" };

type Loaded = { ok: true; replayable: Replayable } | { ok: false; problem: Unreplayable };

/**
 * Reads an archived run for a replay. For a run in a session, reads the session's earlier runs too.
 *
 * @throws ArchiveError
 */
export async function loadReplayable(archive: Pick<ArchiveStore, "read">, runId: string): Promise<Loaded> {
  const loaded = await loadOne(archive, runId);
  if (!loaded.ok || loaded.replayable.session === undefined) return loaded;
  const { place } = loaded.replayable.session;
  const before: Replayable[] = [];
  for (let { position, after }: SessionPlace = place; position > 1; ) {
    position--;
    const incomplete = (why: string): Loaded => ({
      ok: false,
      problem: { kind: "session-incomplete", position, why },
    });
    if (after === undefined) return incomplete("its run is not known");
    const earlier = await loadEarlier(archive, after);
    if (typeof earlier === "string") return incomplete(earlier);
    if (earlier.session?.place.id !== place.id || earlier.session.place.position !== position)
      return incomplete(`run ${after} is none of its session`);
    before.unshift(earlier);
    after = earlier.session.place.after;
  }
  return { ok: true, replayable: { ...loaded.replayable, session: { place, before } } };
}

/** An earlier run, or why it cannot be replayed. */
async function loadEarlier(archive: Pick<ArchiveStore, "read">, runId: string): Promise<Replayable | string> {
  try {
    const loaded = await loadOne(archive, runId);
    return loaded.ok ? loaded.replayable : `run ${runId} cannot be replayed (${loaded.problem.kind})`;
  } catch (error) {
    if (error instanceof ArchiveError && error.code === "missing")
      return `run ${runId} is not in the archive`;
    throw error;
  }
}

async function loadOne(archive: Pick<ArchiveStore, "read">, runId: string): Promise<Loaded> {
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
