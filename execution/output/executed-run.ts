import { jsonLine } from "../../base/json.ts";
import type { CallOutcome } from "../../broker/dispatcher.ts";
import type { Shown } from "../../broker/flow/conversation.ts";
import type { FailureReason } from "../../languages/language.ts";
import type { Program } from "../../languages/program.ts";
import type { ValueSource } from "../../protocol/claim.ts";
import type { EmittedBlock } from "../../protocol/emitted.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import type { Suspended, Verdict } from "../outcome.ts";
import type { ToolAnswer } from "./answer-blocks.ts";
import type { OutputParts } from "./whole-output.ts";

/** The result of a program or a single call. Nothing in it holds a secret. */
export interface ExecutedRun {
  envelope: Envelope;
  /** The value as JSON, if the envelope has only a bounded form of it. */
  wholeResultJson: string | undefined;
  /** The labels that its conversation carries only since this run was shown. */
  shown?: readonly Shown[] | undefined;
  /** How answers contradict the schemas of their tools, one line each, bounded in number. */
  warnings: readonly string[];
  /** Present when the run waits for an approval. The envelope is then not final. */
  suspended?: Suspended | undefined;
  /**
   * Resolves when the run is recorded, or with the reason why it is not. The answer waits for it only
   * where the storage is shared. Never rejects.
   */
  recorded: Promise<string | undefined>;
}

export interface ExecutedProgram extends ExecutedRun {
  /** The program as it was run. */
  program: Program;
  /** The kept part of what `console.log` printed, which may be more than should be shown. */
  consoleText: string;
  /** Whether `consoleText` lacks the end of what was printed. */
  isConsoleCut: boolean;
  /** What the program wrote with `console.error`, `console.warn` and to its stderr, cut at its cap. */
  stderrText: string;
  /** What the program emitted for the client. */
  emitted: readonly EmittedBlock[];
  /** Where the value comes from: `globalThis.result`, a last console line that is JSON, or all console text. */
  resultFrom: ValueSource | undefined;
  /** The known reasons why the program could not be bundled. Empty for any other failure. */
  reasons: readonly FailureReason[];
  /** Type errors of a program that ran despite them. */
  typeWarning: string | undefined;
  /** Why the program's types were not checked, although a check was requested. */
  unchecked: string | undefined;
  /** What to do about the program's failure or about a lost value, one line each. The advice is no part of the envelope. */
  advice: readonly string[];
  /** Resolves when the run's sandbox is removed. The envelope does not wait for it. Never rejects. */
  cleared: Promise<void>;
}

export interface ExecutedCall extends ExecutedRun {
  /** The tool's answer when the call failed because the answer contradicts the tool's schema. */
  answered: unknown;
  /** The answer of the tool in its own form, if the request asked for it. */
  answer?: ToolAnswer | undefined;
  /** The whole outcome. The envelope may have only a bounded form of it. */
  verdict: Verdict;
  /** The decision on the call; `undefined` when the call was cancelled or a fault of the host ended it. */
  decision: CallOutcome["decision"] | undefined;
}

/** The whole output of a run that has just ended. */
export function outputOf(
  executed: Pick<
    ExecutedProgram,
    "envelope" | "consoleText" | "isConsoleCut" | "stderrText" | "resultFrom" | "wholeResultJson"
  >,
): OutputParts {
  const { envelope, consoleText, isConsoleCut, stderrText, resultFrom, wholeResultJson } = executed;
  const { result } = envelope;
  // A value that is a line of the console, or all of it, is not repeated.
  const isApart = resultFrom === "result" || (resultFrom === "line" && isConsoleCut);
  const resultJson = result.ok && isApart ? (wholeResultJson ?? jsonLine(result.data)) : undefined;
  return { consoleText, stderrText, resultJson };
}
