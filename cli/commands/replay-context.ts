import type { Database } from "../../archive/database.ts";
import { readRun } from "../../archive/read-run.ts";
import type { Program } from "../../execution/program.ts";
import type { Replayed } from "../../execution/replay-program.ts";
import type { Execution } from "../composition.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { type Replayable, toReplayable } from "../recorded-run.ts";
import type { Surroundings } from "../surroundings.ts";

export interface ReplayFlags {
  config?: string;
  live?: boolean;
  code?: string;
  all?: boolean;
  since?: string;
  approve: string[];
  json?: boolean;
}

/** What every way of replaying works with. */
export interface ReplayContext {
  configuration: Configuration;
  db: Database;
  execution: Execution;
  flags: ReplayFlags;
  surroundings: Surroundings;
  signal: AbortSignal;
}

/** @throws ArchiveError, UsageError */
export function loadReplayable(runId: string, { db }: ReplayContext): Replayable {
  const replayable = toReplayable(readRun(db, runId));
  if (replayable === undefined)
    throw new UsageError(`run ${runId} was archived by another version of ptc and cannot be replayed`);
  return replayable;
}

export function replayRun(
  { run, modules, limits, typecheck }: Replayable,
  { execution, surroundings, flags, signal }: ReplayContext,
  edited?: Program,
): Promise<Replayed> {
  return execution.replay(run, modules, {
    limits,
    typecheck,
    edited,
    ...(flags.all ? {} : { onConsole: ({ text }) => void surroundings.stderr.write(text) }),
    signal,
  });
}

export function outcomeCode({ envelope, divergence }: Replayed): ExitCode {
  if (!envelope.result.ok && envelope.result.error.type === "SandboxUnavailable") return EXIT.noSandbox;
  return divergence === undefined ? EXIT.done : EXIT.failed;
}
