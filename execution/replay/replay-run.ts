import { clock } from "../../base/clock.ts";
import type { Language } from "../../languages/language.ts";
import type { Program } from "../../languages/program.ts";
import { buildFailure } from "../../protocol/failure.ts";
import { KeptSandbox } from "../../sandbox/kept-sandbox.ts";
import type { SandboxSource } from "../../sandbox/sandbox.ts";
import { SandboxError } from "../../sandbox/sandbox-error.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import { version } from "../../system/package.ts";
import type { CallObserver } from "../call-log.ts";
import { type ProgramScope, sandboxesFor } from "../program.ts";
import { redactReplay } from "../redact-run.ts";
import { replaceResult } from "../seal.ts";
import type { RecordedSession, Replayable } from "./recorded-run.ts";
import { type RecordedRun, type Replayed, type ReplayScope, replayProgram } from "./replay-program.ts";

/** A loaded run to replay, and the observers of the replay. */
export interface ReplayRequest
  extends Omit<Replayable, "modules">,
    Pick<ReplayScope, "edited" | "modules">,
    Pick<CallObserver, "onCall">,
    Pick<ProgramScope, "onConsole"> {
  readonly signal: AbortSignal;
}

/** The parts that all replays of a host share. */
interface ReplayHost {
  readonly redactor: Redactor;
  readonly sandboxes: SandboxSource;
  readonly languages: { recorded(language: string): Promise<readonly Language[]> };
}

/** Replays a recorded run without any server, redacted as in the record. A session's earlier runs are replayed first. */
export async function replayRun(
  { session, ...request }: ReplayRequest,
  { redactor, languages, sandboxes }: ReplayHost,
): Promise<Replayed> {
  const { run, edited } = request;
  const redactionOf = ({ pii }: RecordedRun) => redactReplay(redactor, pii);
  const scope: ReplayScope = {
    ...request,
    ...(await redactionOf(run)),
    sandboxes: sandboxesOf(run, sandboxes),
    clock,
    toolVersion: version,
    languages: await languages.recorded((edited ?? run.program).language),
  };
  if (session === undefined) return replayProgram(scope);
  return replayInSession(scope, session, redactionOf);
}

/** A program comes to the same on the platform alone on which it ran, so there are no sandboxes for a run that had another. */
function sandboxesOf({ envelope }: RecordedRun, sandboxes: SandboxSource): SandboxSource {
  const { platform } = sandboxes;
  const isWasm = platform === "wasm";
  if (envelope.sandbox_image === null || (envelope.sandbox_engine === "wasm") === isWasm) return sandboxes;
  const message = isWasm
    ? "this run had an engine with Node.js; replay it with sandbox.engine: docker, runsc or auto"
    : "this run had the engine wasm; replay it with sandbox.engine: wasm";
  return { platform, acquire: () => Promise.reject(new SandboxError("runtime_missing", message)) };
}

/**
 * Replays a program of a session in a sandbox in which the earlier programs are replayed first. If one of these diverges, the whole
 * replay has diverged there.
 *
 * @param redactionOf returns redactors that redact a run as it was recorded.
 */
async function replayInSession(
  scope: ReplayScope,
  { place, before }: RecordedSession,
  redactionOf: (run: RecordedRun) => Promise<Pick<ReplayScope, "redactor" | "comparing" | "asking">>,
): Promise<Replayed> {
  const kept = new KeptSandbox(sandboxesFor(scope.run.program, scope));
  const { onConsole: _, onCall: __, edited: ___, ...silent } = scope;
  const earlier: Program[] = [];
  const ending = (replayed: Replayed) => ({
    ...replayed,
    cleared: replayed.cleared.then(() => kept.close()),
  });
  try {
    for (const [index, { run, modules, limits, typecheck }] of before.entries()) {
      const replayed = await replayProgram({
        ...silent,
        ...(await redactionOf(run)),
        run,
        modules,
        limits,
        typecheck,
        sandboxes: kept,
        session: { place: { id: place.id, position: index + 1 }, earlier: [...earlier] },
      });
      await replayed.cleared;
      if (replayed.divergence !== undefined) {
        const divergence = `program ${index + 1} of its session (run ${run.envelope.run_id}): ${replayed.divergence}`;
        const failure = buildFailure("ReplayDiverged", divergence);
        return ending({ ...replayed, divergence, envelope: replaceResult(replayed.envelope, failure) });
      }
      if (replayed.undecided !== undefined)
        return ending({
          ...replayed,
          undecided: `program ${index + 1} of its session: ${replayed.undecided}`,
        });
      earlier.push(run.program);
    }
    return ending(await replayProgram({ ...scope, sandboxes: kept, session: { place, earlier } }));
  } catch (error) {
    await kept.close();
    throw error;
  }
}
