import { ArchiveError } from "../../archive/archive-error.ts";
import type { ArchiveStore } from "../../archive/archive-store.ts";
import { archivedOutput } from "../output/archived-output.ts";
import { type ExecutedCall, type ExecutedProgram, outputOf } from "../output/executed-run.ts";
import { joinOutput, type OutputParts } from "../output/whole-output.ts";

/** The most characters of recent runs' outputs that are held in memory. */
const MAX_HELD_CHARS = 16 * 1024 * 1024;
const MAX_HELD_RUNS = 64;

/** Whole outputs of runs. Recent outputs come from memory, because they may not be in the archive yet; others from the archive. */
export class RunOutputs {
  readonly #archive: () => Pick<ArchiveStore, "read">;
  readonly #recent = new Map<string, { principal: string; text: string }>();
  #chars = 0;

  /** @param archive is called when an output is no longer in memory. */
  constructor(archive: () => Pick<ArchiveStore, "read">) {
    this.#archive = archive;
  }

  /** Holds the output of a principal's run that has ended. Older outputs are dropped when space runs out. */
  remember(executed: ExecutedProgram, principal: string): void {
    this.#remember(executed.envelope.run_id, outputOf(executed), principal);
  }

  /** Holds the output of a single call, unless its envelope has the whole value, which nobody reads again. */
  rememberCall({ envelope, wholeResultJson }: ExecutedCall, principal: string): void {
    if (wholeResultJson === undefined) return;
    this.#remember(
      envelope.run_id,
      { consoleText: "", stderrText: "", resultJson: wholeResultJson },
      principal,
    );
  }

  #remember(runId: string, output: OutputParts, principal: string): void {
    const { text } = joinOutput(output);
    this.#recent.set(runId, { principal, text });
    this.#chars += text.length;
    for (const [oldestId, { text: oldest }] of this.#recent) {
      if (this.#chars <= MAX_HELD_CHARS && this.#recent.size <= MAX_HELD_RUNS) return;
      this.#recent.delete(oldestId);
      this.#chars -= oldest.length;
    }
  }

  /**
   * The whole output of a run of this principal, in the form of the reply to its program but without bounds; `undefined` for an
   * unknown run.
   *
   * @throws ArchiveError for an archive that cannot be read.
   */
  async read(runId: string, principal: string): Promise<string | undefined> {
    const held = this.#recent.get(runId);
    if (held !== undefined) return held.principal === principal ? held.text : undefined;
    try {
      const run = await this.#archive().read(runId);
      return run.record.principal === principal ? joinOutput(archivedOutput(run)).text : undefined;
    } catch (error) {
      if (error instanceof ArchiveError && error.code === "missing") return undefined;
      throw error;
    }
  }
}
