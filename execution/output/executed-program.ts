import type { FailureReason } from "../../languages/language.ts";
import type { Program } from "../../languages/program.ts";
import type { ValueSource } from "../../protocol/claim.ts";
import type { EmittedBlock } from "../../protocol/emitted.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import type { Suspended } from "../suspended.ts";

/** What came of a program that was executed. */
export interface ExecutedProgram {
  /** The program as it was run. */
  program: Program;
  envelope: Envelope;
  /** What `console.log` printed, as far as it is kept, which may be more than anybody should be shown. */
  consoleText: string;
  /** Whether `consoleText` lacks the end of what was printed. */
  isConsoleCut: boolean;
  /** What the program wrote with `console.error`, `console.warn` and to its stderr, cut at its cap. */
  stderrText: string;
  /** What the program emitted for the client, without secrets in its texts. */
  emitted: readonly EmittedBlock[];
  /** The value as JSON, where the envelope has only a bounded form of it. */
  wholeResultJson: string | undefined;
  /** Where the value comes from: `globalThis.result`, a last console line that is JSON, or all console text. */
  resultFrom: ValueSource | undefined;
  /** Why the program could not be bundled, as far as that is known. Empty for any other failure. */
  reasons: readonly FailureReason[];
  /** Type mistakes of a program that was run all the same. */
  typeWarning: string | undefined;
  /** Why the program's types could not be checked, although they were to be. */
  unchecked: string | undefined;
  /** What is to be said of answers that contradict what their tools promise, one line each, bounded in number. */
  warnings: readonly string[];
  /** What to do about the program's failure, or about a value that was lost; one line each. It is no part of the envelope. */
  advice: readonly string[];
  /** Present when the run waits for an approval. Its envelope is then not its last. */
  suspended?: Suspended | undefined;
  /** Resolves when the run is recorded, or with the reason why it is not. The answer does not wait for it. Never rejects. */
  recorded: Promise<string | undefined>;
  /** Resolves when the run's sandbox is removed. The envelope does not wait for it. Never rejects. */
  cleared: Promise<void>;
}
