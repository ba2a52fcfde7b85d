import type { RunEvents } from "../../broker/decision-events.ts";
import type { TypecheckMode } from "../../languages/language.ts";
import type { Program, SessionPlace } from "../../languages/program.ts";
import type { EmittedBlock } from "../../protocol/emitted.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import type { ProgramEnvironment, Trace } from "../../protocol/messages.ts";
import type { PiiKind } from "../../secrets/pii/pii-kinds.ts";
import type { CallObserver } from "../call-log.ts";
import type { RunLimits } from "../output/runner-output.ts";

/** How personal data was redacted in a run: by which settings, and which kinds were shown in the end. */
export interface RecordedPii {
  kinds: PiiKind[];
  countries: string[];
  shown: PiiKind[];
}

/** The identity of a run that has begun. */
export interface BegunRun {
  runId: string;
  traceId: string;
  inputDigest: string;
  /** When a suspended run began in an earlier process, in milliseconds since 1970. */
  startedAt?: number | undefined;
}

/** Everything that is recorded about a run at its end, besides its calls. */
export interface RunReport {
  program: Program;
  envelope: Envelope;
  consoleText: string;
  stderrText: string;
  /** What the program emitted, without secrets. */
  emitted: readonly EmittedBlock[];
  /** The value as JSON, if the envelope has only a bounded form of it. */
  wholeResultJson: string | undefined;
  /** How many secrets were replaced in console texts, value and error. */
  redactions: number;
  /** `undefined` when the program could not be bundled. */
  bundle: string | undefined;
  /** Text of the generated modules that the program imported, by server module. */
  modules: ReadonlyMap<string, string>;
  /** The names of all server modules that the program could have imported, which messages may list. */
  knownModules: readonly string[];
  environment: ProgramEnvironment;
  /** The runtime that ran the program, as its sandbox reports it; `undefined` when no sandbox took the program. */
  runtime?: string | undefined;
  /** `undefined` when the program ended before it could send one. */
  trace: Trace | undefined;
  limits: RunLimits;
  typecheck: TypecheckMode;
  /** The position of the run in its session, if it has one. */
  session?: SessionPlace | undefined;
}

/** Records one run while it runs. None of its methods throws or rejects. */
export interface RunRecording extends CallObserver, RunEvents {
  /** Notes a call that was made in a rehearsal of the run's program. */
  readonly onRehearsed?: CallObserver["onCall"];
  /**
   * Notes how the run ended. Resolves when the note is written, or after a bounded time: with what `end` says, if that is known
   * before the run is answered. Never rejects.
   */
  beforeAnswer?(report: RunReport): Promise<{ problem: string | undefined } | undefined>;
  /** Resolves like `beforeAnswer`, for a run that is suspended, and for a rehearsal. Such a run is reported only when it has ended. */
  beforeSuspension?(): Promise<void>;
  /** Resolves when the run is recorded: with `undefined`, or with the first problem that no answer has reported, in one line. Never rejects. */
  end(report: RunReport): Promise<string | undefined>;
  /** The run is suspended, or was a rehearsal alone, which is not archived. The process that continues it records the whole run, and does not audit the same calls again. */
  suspend?(): void;
}

/** Records runs. Its failures do not affect them. */
export interface RunRecorder {
  /** Begins to record a run. Never throws. */
  begin(run: BegunRun): RunRecording;
}
