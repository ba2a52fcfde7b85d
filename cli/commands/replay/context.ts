import type { ArchiveStore } from "../../../archive/archive-store.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import type { ObservedCall } from "../../../execution/call-log.ts";
import type { Program } from "../../../execution/program.ts";
import type { Replayed } from "../../../execution/replay/replay-program.ts";
import type { Configuration } from "../../../host/configuration/configuration.ts";
import type { Host } from "../../../host/host.ts";
import { loadReplayable, type Unreplayable } from "../../../host/replay/load-replayable.ts";
import type { Replayable } from "../../../host/replay/recorded-run.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import type { Surroundings } from "../../surroundings.ts";
import { ProgramConsole } from "../../terminal/program-console.ts";

export interface ReplayFlags {
  config?: string;
  live?: boolean;
  code?: string;
  all?: boolean;
  since?: string;
  approve: string[];
  json?: boolean;
}

/** What all forms of `ptc replay` share. */
export interface ReplayContext {
  configuration: Configuration;
  archive: ArchiveStore;
  host: Host;
  flags: ReplayFlags;
  surroundings: Surroundings;
  signal: AbortSignal;
  /** Aborts the replay. */
  cancel: () => void;
}

/** Loads a run for a replay. @throws ArchiveError; UsageError for a run that cannot be replayed. */
export async function requireReplayable(
  runId: string,
  { archive }: Pick<ReplayContext, "archive">,
): Promise<Replayable> {
  const loaded = await loadReplayable(archive, runId);
  if (!loaded.ok) throw new UsageError(describe(runId, loaded.problem));
  return loaded.replayable;
}

function describe(runId: string, problem: Unreplayable): string {
  switch (problem.kind) {
    case "values-not-kept":
      return `run ${runId} cannot be replayed: the values of call ${problem.call} are not in the archive (${oneLine(problem.why)})`;
    case "session-incomplete":
      return `run ${runId} cannot be replayed: it is of a session, and program ${problem.position} of that cannot be replayed before it: ${problem.why}`;
    case "other-version":
      return `run ${runId} was archived by another version of ptc and cannot be replayed`;
  }
}

/** Replays a run, or an edited program against its record. The console goes to stderr unless many runs are replayed. */
export function replayRun(
  { run, modules, limits, typecheck, session }: Replayable,
  { host, surroundings, flags, signal }: ReplayContext,
  edited?: Program,
  onCall?: (call: ObservedCall) => void,
): Promise<Replayed> {
  const console = flags.all ? undefined : new ProgramConsole(surroundings, limits.maxStderrBytes);
  return host
    .replay(run, edited === undefined ? modules : modules.held(), {
      limits,
      typecheck,
      edited,
      recorded: session,
      ...(onCall === undefined ? {} : { onCall }),
      ...(console === undefined ? {} : { onConsole: ({ text }) => console.print(text) }),
      signal,
    })
    .finally(() => console?.end());
}

export function outcomeCode({ envelope, divergence, undecided }: Replayed): ExitCode {
  if (!envelope.result.ok && envelope.result.error.type === "SandboxUnavailable") return EXIT.noSandbox;
  return divergence === undefined && undecided === undefined ? EXIT.done : EXIT.failed;
}
