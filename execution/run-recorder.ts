import type { Envelope } from "../protocol/envelope.ts";
import type { ProgramEnvironment, Trace } from "../protocol/messages.ts";
import type { CallObserver } from "./call-log.ts";
import type { TypecheckMode } from "./prepare-program.ts";
import type { Program } from "./program.ts";
import type { InsideLimits } from "./run-inside.ts";

/** A run that has begun. */
export interface BegunRun {
  runId: string;
  traceId: string;
  inputDigest: string;
}

/** All there is to know about a run that has ended, besides its calls. */
export interface RunReport {
  program: Program;
  envelope: Envelope;
  consoleText: string;
  /** Secrets that were replaced in console text, value and error. */
  redactions: number;
  /** `undefined` where the program could not be bundled. */
  bundle: string | undefined;
  /** Text of the generated modules that it imported, by server module. */
  modules: ReadonlyMap<string, string>;
  environment: ProgramEnvironment;
  /** `undefined` where the program did not live to send one. */
  trace: Trace | undefined;
  limits: InsideLimits;
  typecheck: TypecheckMode;
}

/** Hears of one run as it goes. */
export interface RunRecording extends CallObserver {
  /** Resolves with what stood in the way of keeping the run, as one line, or with nothing. Never rejects. */
  end(report: RunReport): Promise<string | undefined>;
}

/** Keeps what happened in runs. Whatever goes wrong with that, no run notices. */
export interface RunRecorder {
  begin(run: BegunRun): RunRecording;
}
